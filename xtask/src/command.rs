//! Runs cargo and other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Returns the root directory of the workspace.
pub(crate) fn workspace_dir() -> PathBuf {
    // Fixed at compile time, so it does not depend on the working directory.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Returns a command that runs the cargo of this toolchain in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    // Set by the cargo that runs this program, so that one toolchain does everything.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_dir()).args(arguments);
    command
}

/// Returns the target directory of cargo.
pub(crate) fn target_dir() -> Result<PathBuf> {
    // Asked of cargo, since variables and configuration files can change it.
    let metadata: Value = serde_json::from_str(&output(&mut cargo(&[
        "metadata",
        "--format-version=1",
        "--no-deps",
    ]))?)?;
    Ok(metadata["target_directory"]
        .as_str()
        .context("cargo printed no target directory")?
        .into())
}

/// Builds a target and returns the path of its executable; of several, the last one.
pub(crate) fn build_executable(selection: &[&str]) -> Result<PathBuf> {
    let messages = output(
        cargo(&["build", "--locked", "--quiet", "--message-format=json"])
            .args(selection)
            // Standard output contains messages for programs; errors are for the user.
            .stderr(Stdio::inherit()),
    )?;
    let executable = |line: &str| {
        serde_json::from_str::<Value>(line).ok()?["executable"]
            .as_str()
            .map(PathBuf::from)
    };
    messages
        .lines()
        .filter_map(executable)
        .next_back()
        .context("cargo printed no executable")
}

/// Prints a command, runs it, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", display_command(command));
    let status = command.status().with_context(|| display_command(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", display_command(command));
    }
    Ok(())
}

/// Runs a program and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| display_command(command))?;
    if !output.status.success() {
        bail!(
            "`{}` ended with {}\n{}",
            display_command(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn display_command(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    [program]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
