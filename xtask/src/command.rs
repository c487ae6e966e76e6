//! Runs cargo and other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Returns the root directory of the workspace: of the cargo that runs this program, else the one
/// around the working directory.
pub(crate) fn workspace_dir() -> PathBuf {
    // Not the value at compile time: clones can share a target directory, and the one that built this
    // program may no longer exist.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .or_else(workspace_above)
        .unwrap_or_else(|| PathBuf::from("."))
}

fn workspace_above() -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?;
    current
        .ancestors()
        .find(|directory| directory.join("xtask/Cargo.toml").is_file())
        .map(Path::to_owned)
}

/// Returns the files of a clone that are under version control or could be, each ended by NUL.
pub(crate) fn versioned_files(clone: &Path) -> Result<String> {
    output(Command::new("git").current_dir(clone).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))
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

/// Returns the name of a program and its arguments, for messages.
pub(crate) fn display_command(command: &Command) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_found_with_and_without_cargo() {
        let found = workspace_dir();
        assert!(found.join("xtask/Cargo.toml").is_file());
        // Cargo starts tests in the directory of their package.
        assert_eq!(workspace_above(), Some(found));
    }
}
