//! Selection of script interpreters.

#[cfg(unix)]
use std::path::Path;

use skills_runtime::Builder;
#[cfg(unix)]
use skills_runtime::ScriptType;

use crate::arguments::{Command, InterpreterArg};
#[cfg(unix)]
use crate::input::InputError;
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
        // Also for a type that does not run, since the path was given for this command.
        check_interpreter(*kind, path)?;
        // Symlinks are not resolved: Python finds its virtual environment by the path of the
        // symlink.
        interpreters = interpreters.override_interpreter(*kind, std::path::absolute(path)?);
    }
    Ok(builder.program_finder(interpreters))
}

/// Rejects a path that is not an executable file. A link is followed.
#[cfg(unix)]
fn check_interpreter(kind: ScriptType, path: &Path) -> anyhow::Result<()> {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;

    let cause = match path.metadata() {
        Ok(file) if !file.is_file() => "not a regular file".to_owned(),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => "not executable".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => "not found".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("cannot use interpreter `{}`: {cause}", path.display());
    Err(InputError::new(message)
        .with_help(format!(
            "pass the path of an executable file, such as `--interpreter {}=/usr/bin/{}`; `PATH` is not searched",
            kind.as_str(),
            example_program(kind)
        ))
        .into())
}

/// Returns the usual name of an interpreter.
#[cfg(unix)]
fn example_program(kind: ScriptType) -> &'static str {
    match kind {
        ScriptType::Python => "python3",
        ScriptType::Shell => "bash",
        _ => kind.as_str(),
    }
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
