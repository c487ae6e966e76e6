//! Does what a plan says.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the compilers of an author's own source"
)]

use std::process::{Command, Stdio};

use crate::error::{BuildError, Problem};
use crate::files;
use crate::invocation::Invocation;
use crate::plan::{Places, Plan};

/// Writes the files, starts the programs, and returns the artifact.
pub(crate) fn perform(
    plan: &Plan,
    places: &Places,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<u8>, BuildError> {
    for (path, content) in &plan.files {
        files::write(&places.stage.join(path), content)?;
    }
    plan.commands
        .iter()
        .try_for_each(|command| start(command, progress))?;
    files::read(&plan.product)
}

/// Says what is started, waits for its end, and passes on what it says.
///
/// # Errors
/// When the program cannot be started or ends badly; then everything that it printed is in the
/// error.
pub(crate) fn start(
    invocation: &Invocation,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    progress(&format!("$ {invocation}"));
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.arguments)
        .current_dir(&invocation.directory)
        .stdin(Stdio::null());
    command.envs(
        invocation
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    let output = command
        .output()
        .map_err(|error| BuildError::io(&invocation.program, "cannot be started", error))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        told.lines().for_each(progress);
        return Ok(());
    }
    let printed = format!("{}{told}", String::from_utf8_lossy(&output.stdout));
    let program = invocation.name().into_owned();
    Err(Problem::Failed {
        program,
        status: output.status.to_string(),
        output: printed.trim_end().to_owned(),
    }
    .into())
}
