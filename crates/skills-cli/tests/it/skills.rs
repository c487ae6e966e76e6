//! Runs the command in an empty environment, without HOME and PATH.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use skills_test_support::source_tree;

/// Arguments that make the example skills the only root.
pub(crate) const EXAMPLES: [&str; 2] = ["--root", "examples/skills"];

pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Returns exit code and output as one text for a snapshot. The path of the tree becomes
    /// `TREE`.
    pub(crate) fn page(&self) -> String {
        let tree = source_tree().canonicalize().unwrap().display().to_string();
        let mut page = format!("exit {}\n", self.code);
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                page.push_str(&format!("-- {name}\n{}\n", text.trim_end()));
            }
        }
        page.replace(&tree, "TREE")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.page()))
    }
}

pub(crate) fn skills(arguments: &[&str]) -> Done {
    skills_with(arguments, "")
}

/// Prepares a call with scratch files in `scratch`, and with state in a directory next to it.
pub(crate) fn command(arguments: &[&str], scratch: &Path) -> Command {
    let mut state = scratch.as_os_str().to_owned();
    state.push("-state");
    command_with_state(arguments, scratch, Path::new(&state))
}

/// Returns the file of the command. `SKILLS_TEST_BINARY` overrides it, for test users who cannot
/// read the target directory.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("SKILLS_TEST_BINARY")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_skills").into())
        .into()
}

/// Prepares a call with a state directory, and its subdirectory `cache` for caches.
pub(crate) fn command_with_state(arguments: &[&str], scratch: &Path, state: &Path) -> Command {
    command_of(&binary(), arguments, scratch, state)
}

/// Prepares a call of a file that is the command.
pub(crate) fn command_of(
    binary: &Path,
    arguments: &[&str],
    scratch: &Path,
    state: &Path,
) -> Command {
    let mut command = Command::new(binary);
    command
        .current_dir(source_tree())
        .env_clear()
        .env("TMPDIR", scratch)
        .env("HOME", scratch)
        .args(arguments);
    command
        .env("XDG_STATE_HOME", state)
        .env("XDG_CACHE_HOME", state.join("cache"));
    command
}

pub(crate) fn skills_with(arguments: &[&str], input: &str) -> Done {
    let state = tempfile::tempdir().unwrap();
    skills_in(arguments, input, state.path())
}

/// Runs the command with a state directory.
pub(crate) fn skills_in(arguments: &[&str], input: &str, state: &Path) -> Done {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = command_with_state(arguments, scratch.path(), state);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command can exit without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "no scratch files are left"
    );
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs a subcommand on the example skills.
pub(crate) fn examples(arguments: &[&str]) -> Done {
    skills(&[arguments, &EXAMPLES].concat())
}
