//! Host processes for one task: the test program, started again with another environment, or to be
//! killed, counted or sandboxed itself.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::skip;

/// The variable with the task of a host process.
const TASK: &str = "SKILLS_TEST_TASK";

/// The prefix of lines that a host process prints.
const LINE_PREFIX: &str = "> ";

/// Returns a command that starts this test program again, with only the test `test`, which must
/// do `task`.
///
/// # Panics
///
/// If the path of this program is unknown.
#[must_use]
pub fn command(test: &str, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .stdout(Stdio::piped());
    command
}

/// Returns the task of this process, if [`command`] started it.
#[must_use]
pub fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Runs this test again where `mount`, a command of `sh` with the directory as `$0`, mounted a file
/// system, with its directory as the task. Returns the directory in that process, and `None` in
/// this one.
///
/// # Panics
///
/// If the test fails there.
#[must_use]
pub fn in_filesystem(test: &str, mount: &str) -> Option<PathBuf> {
    if let Some(task) = task() {
        return Some(PathBuf::from(task));
    }
    let directory = tempfile::tempdir().unwrap();
    // A file system for that process only, which needs no privileges if users may create
    // namespaces.
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", script])
            .arg(directory.path());
        command
    };
    if !unshare(mount)
        .output()
        .is_ok_and(|output| output.status.success())
    {
        skip("no small file system can be mounted");
        return None;
    }
    run_again(
        unshare(&format!("{mount} && exec \"$@\"")),
        test,
        directory.path(),
    );
    None
}

/// Runs a test again by a command that gets the command line of [`command`] as its last arguments.
///
/// # Panics
///
/// If the test fails there.
pub fn run_again(mut command: Command, test: &str, task: &Path) {
    let again = self::command(test, task.to_str().unwrap());
    command.arg(again.get_program()).args(again.get_args());
    command.envs(
        again
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Prints a line that [`marked_lines`] finds among those of the test harness.
pub fn print_marked(line: impl Display) {
    println!("\n{LINE_PREFIX}{line}");
}

/// Returns the lines that a host process printed with [`print_marked`].
#[must_use]
pub fn marked_lines(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.split_once(LINE_PREFIX))
        .map(|(_, line)| line.to_owned())
        .collect()
}
