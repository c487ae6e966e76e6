//! Which interpreters run scripts.

use skills_runtime::Builder;

use crate::arguments::{Command, InterpreterArg};
#[cfg(unix)]
use crate::trusted_path;

/// Lets scripts run by the interpreters that the command line names, else by those of the system,
/// else by those on the `PATH`.
#[cfg(unix)]
pub(crate) fn configure_interpreters(
    builder: Builder,
    command: &Command,
) -> anyhow::Result<Builder> {
    use skills_runtime::ProgramFinder;

    let mut interpreters =
        ProgramFinder::default().with_fallback_path(trusted_path::trusted_dirs());
    for InterpreterArg { kind, path } in interpreter_args(command) {
        // Symlinks stay: a virtual environment is known by the name that leads to its Python.
        interpreters = interpreters.override_interpreter(*kind, std::path::absolute(path)?);
    }
    Ok(builder.program_finder(interpreters))
}

/// No scripts run on other systems.
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
