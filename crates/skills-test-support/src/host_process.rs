//! Host processes for one task: the test program, started again with another environment, or to be
//! killed, counted or sandboxed itself.

use std::fmt::Display;
use std::process::{Command, Stdio};

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
