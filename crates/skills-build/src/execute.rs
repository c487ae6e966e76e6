//! Executes a plan.
#![expect(
    clippy::disallowed_methods,
    reason = "starts compilers for the author's own source, and asks them for their versions"
)]

use std::io;
use std::process::{Command, Output, Stdio};

use crate::error::{BuildError, Repr};
use crate::files;
use crate::invocation::Invocation;
use crate::plan::{BuildDirs, Plan};

/// Writes the files, runs the programs, and returns the artifact.
pub(crate) fn execute(
    plan: &Plan,
    dirs: &BuildDirs,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<u8>, BuildError> {
    for (path, content) in &plan.files {
        files::write(&dirs.stage_dir.join(path), content)?;
    }
    plan.commands
        .iter()
        .try_for_each(|command| run_command(command, progress))?;
    files::read(&plan.artifact)
}

/// Runs a command and streams its output to `progress`.
///
/// # Errors
/// Fails if the program cannot be started or exits with an error; then the error contains all of
/// its output.
pub(crate) fn run_command(
    invocation: &Invocation,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let output = output(invocation, progress)
        .map_err(|error| BuildError::io(&invocation.program, "start", error))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        stderr.lines().for_each(progress);
        return Ok(());
    }
    // Some tools explain a failure on standard output.
    let text = format!("{}{stderr}", String::from_utf8_lossy(&output.stdout));
    let program = invocation.name().into_owned();
    Err(Repr::CompileFailed {
        program,
        status: output.status.to_string(),
        output: text.trim_end().to_owned(),
    }
    .into())
}

/// Runs a command to its end, and returns all of its output.
pub(crate) fn output(
    invocation: &Invocation,
    progress: &mut dyn FnMut(&str),
) -> io::Result<Output> {
    progress(&format!("$ {invocation}"));
    Command::new(&invocation.program)
        .args(&invocation.args)
        .envs(invocation.envs.iter().map(|(name, value)| (name, value)))
        .current_dir(&invocation.current_dir)
        // A tool that asks a question fails instead of waiting for an answer.
        .stdin(Stdio::null())
        .output()
}
