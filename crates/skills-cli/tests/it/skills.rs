//! Starts the command in an environment without HOME, PATH or anything else.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Arguments that name the example skills as the only root.
pub(crate) const EXAMPLES: [&str; 2] = ["--root", "examples/skills"];

pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Everything on one page, for a snapshot; machine paths become `TREE`.
    pub(crate) fn page(&self) -> String {
        let tree = tree().canonicalize().unwrap().display().to_string();
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

/// The project's own tree; the tests may run as a user who cannot read the one they were built in.
pub(crate) fn tree() -> PathBuf {
    let built_in = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("SKILLS_TEST_TREE").map_or_else(built_in, PathBuf::from)
}

pub(crate) fn skills(arguments: &[&str]) -> Done {
    skills_with(arguments, "")
}

/// Prepares a call whose scratch files go to `scratch`, and whose state stands in a directory
/// beside it that is not looked at.
pub(crate) fn command(arguments: &[&str], scratch: &Path) -> Command {
    let mut state = scratch.as_os_str().to_owned();
    state.push("-state");
    command_with_state(arguments, scratch, Path::new(&state))
}

/// Prepares a call with a place for state, and for what can be made again in its `cache`.
pub(crate) fn command_with_state(arguments: &[&str], scratch: &Path, state: &Path) -> Command {
    let binary = std::env::var_os("SKILLS_TEST_BINARY")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_skills").into());
    let mut command = Command::new(binary);
    command
        .current_dir(tree())
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

/// Calls the command with a place for state.
pub(crate) fn skills_in(arguments: &[&str], input: &str, state: &Path) -> Done {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = command_with_state(arguments, scratch.path(), state);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that ends without reading its input is tested too.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Calls a subcommand on the example skills.
pub(crate) fn examples(arguments: &[&str]) -> Done {
    skills(&[arguments, &EXAMPLES].concat())
}
