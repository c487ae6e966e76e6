//! Selection of script interpreters.

use skills_runtime::Builder;

use crate::arguments::{Command, InterpreterArg};
#[cfg(unix)]
use crate::trusted_path;

/// Configures interpreters: those of the command line, else those of the system, else those in
/// trusted directories of `PATH`.
#[cfg(unix)]
pub(crate) fn configure_interpreters(
    builder: Builder,
    command: &Command,
) -> anyhow::Result<Builder> {
    use skills_runtime::ProgramFinder;

    let mut interpreters =
        ProgramFinder::default().with_fallback_path(trusted_path::trusted_dirs());
    for InterpreterArg { kind, path } in interpreter_args(command) {
        // Symlinks are not resolved: Python finds its virtual environment by the path of the
        // symlink.
        interpreters = interpreters.override_interpreter(*kind, std::path::absolute(path)?);
    }
    Ok(builder.program_finder(interpreters))
}

/// Scripts do not run on other systems.
#[cfg(not(unix))]
pub(crate) fn configure_interpreters(
    builder: Builder,
    command: &Command,
) -> anyhow::Result<Builder> {
    let _: &[InterpreterArg] = interpreter_args(command);
    Ok(builder)
}

fn interpreter_args(command: &Command) -> &[InterpreterArg] {
    match command {
        Command::Run(run) => &run.interpreter,
        _ => &[],
    }
}
