//! Finds the failed tests in the output of test programs, and the commands that repeat them.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, PipeWriter, Write as _, pipe};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use crate::command::display_command;

/// Precedes the arguments of cargo that select a program with failed tests.
const SELECTION: &str = "test failed, to rerun pass `";
/// A line after the output of a command.
const END: &[u8] = b"\0end of output\n";

/// A test that failed, or a test program that ended without a result, such as by a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedTest {
    test: Option<String>,
    program: TestProgram,
}

/// How a test program is started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestProgram {
    /// By cargo, with arguments such as `-p skills-cli --test it`.
    Cargo(String),
    /// As an unprivileged user, by the name of its package.
    Unprivileged(String),
}

impl FailedTest {
    /// Returns the command that repeats the test, or all of its program.
    fn command(&self) -> String {
        let (mut command, separator) = match &self.program {
            TestProgram::Cargo(selection) => (format!("cargo test --locked {selection}"), " --"),
            TestProgram::Unprivileged(package) => {
                (format!("cargo xtask test --unprivileged {package}"), "")
            }
        };
        if let Some(test) = &self.test {
            command.push_str(separator);
            // Names of documentation tests contain spaces.
            if test.contains(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c)) {
                let _ = write!(command, " --exact '{test}'");
            } else {
                let _ = write!(command, " --exact {test}");
            }
        }
        command
    }

    fn name(&self) -> String {
        let (program, user) = match &self.program {
            TestProgram::Cargo(selection) => (selection, ""),
            TestProgram::Unprivileged(package) => (package, ", as an unprivileged user"),
        };
        match &self.test {
            Some(test) => format!("{test} ({program}{user})"),
            None => format!("a test program without a result ({program}{user})"),
        }
    }
}

/// Fails with the names of the tests and the commands that repeat them, if there are any.
pub(crate) fn report(failed: &[FailedTest]) -> Result<()> {
    if failed.is_empty() {
        return Ok(());
    }
    let mut report = format!("{} failed\n", counted(failed.len()));
    for test in failed {
        let _ = writeln!(report, "  {}\n    {}", test.name(), test.command());
    }
    report.push_str("help: the command below a test repeats it");
    let is_container = |test: &FailedTest| test.name().contains("container");
    if failed.iter().any(is_container) {
        report.push_str("; `cargo xtask image` prints what tests of containers need");
    }
    bail!(report)
}

fn counted(tests: usize) -> String {
    match tests {
        1 => "1 test".to_owned(),
        _ => format!("{tests} tests"),
    }
}

/// How a command that runs tests ended, and what its output says about failures.
pub(crate) struct TestOutput {
    pub(crate) status: ExitStatus,
    failures: Failures,
}

impl TestOutput {
    /// Runs a command and prints its output, both streams to standard output.
    ///
    /// # Errors
    /// If the command cannot be started. That tests fail is a result.
    pub(crate) fn of(command: &mut Command) -> Result<Self> {
        eprintln!("$ {}", display_command(command));
        // One pipe, so that the order is kept: cargo names the program of tests on standard error.
        let (reader, writer) = pipe()?;
        let child = command
            .stdin(Stdio::null())
            .stderr(writer.try_clone()?)
            .stdout(writer.try_clone()?)
            .spawn()
            .with_context(|| display_command(command))?;
        let waiter = std::thread::spawn(move || wait(child, writer));
        let mut failures = Failures::default();
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line != END {
            std::io::stdout().write_all(&line)?;
            failures.read_line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        let status = waiter
            .join()
            .map_err(|_| anyhow!("the thread that waits for tests panicked"))??;
        Ok(Self { status, failures })
    }

    /// Returns the failed tests of a run of cargo.
    pub(crate) fn failed_in_cargo(&self) -> Vec<FailedTest> {
        self.failures
            .programs
            .iter()
            .flat_map(|(selection, tests)| {
                failed_tests(&TestProgram::Cargo(selection.clone()), tests)
            })
            .collect()
    }

    /// Returns the failed tests of one test program.
    pub(crate) fn failed_in(&self, program: &TestProgram) -> Vec<FailedTest> {
        if self.status.success() {
            return Vec::new();
        }
        failed_tests(program, &self.failures.tests)
    }
}

/// Waits for the end of a command, and then ends its output: processes that a failed test left would
/// keep the pipe open.
fn wait(mut child: Child, mut output: PipeWriter) -> std::io::Result<ExitStatus> {
    let status = child.wait()?;
    // The command may have ended within a line.
    output.write_all(&[b"\n", END].concat())?;
    Ok(status)
}

fn failed_tests(program: &TestProgram, tests: &[String]) -> Vec<FailedTest> {
    let failed = |test: Option<String>| FailedTest {
        test,
        program: program.clone(),
    };
    if tests.is_empty() {
        return vec![failed(None)];
    }
    tests.iter().cloned().map(Some).map(failed).collect()
}

/// The failures in lines of output.
#[derive(Default)]
struct Failures {
    /// The arguments of cargo for each program that failed, with its tests.
    programs: Vec<(String, Vec<String>)>,
    /// The failed tests of the program that ended last.
    tests: Vec<String>,
    /// The names of a list that has not ended; output of tests can contain such lists too.
    listed: Option<Vec<String>>,
}

impl Failures {
    fn read_line(&mut self, line: &str) {
        if line == "failures:" {
            self.listed = Some(Vec::new());
        } else if line.starts_with("test result: FAILED.") {
            self.tests = self.listed.take().unwrap_or_default();
        } else if let Some((_, rest)) = line.split_once(SELECTION) {
            let selection = rest.trim_end_matches('`').to_owned();
            self.programs
                .push((selection, std::mem::take(&mut self.tests)));
        } else if let (Some(name), Some(listed)) = (line.strip_prefix("    "), &mut self.listed) {
            listed.push(name.to_owned());
        } else if !line.is_empty() {
            self.listed = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two programs with failures, one with a list in the output of a test, one that was aborted, and
    /// a failed documentation test.
    const OUTPUT: &str = "\
     Running tests/it/main.rs (target/debug/deps/it-1)

running 3 tests
test a::passes ... ok
test a::fails ... FAILED
skipped skills-a c: no Node
test b::fails_too ... FAILED

failures:

---- a::fails stdout ----
failures:
    not_a_test

test result: FAILED. 0 passed; 1 failed
failures:
    neither

---- b::fails_too stdout ----
no


failures:
    a::fails
    b::fails_too

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p skills-a --test it`
     Running unittests src/lib.rs (target/debug/deps/b-1)

running 1 test
error: test failed, to rerun pass `-p skills-b --lib`

Caused by:
  process didn't exit successfully: `target/debug/deps/b-1` (signal: 6, SIGABRT: process abort signal)
   Doc-tests skills_c

failures:
    crates/skills-c/src/lib.rs - find (line 3)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: doctest failed, to rerun pass `-p skills-c --doc`
error: 3 targets failed:
    `-p skills-a --test it`
    `-p skills-b --lib`
    `-p skills-c --doc`
";

    fn failures(output: &str) -> Failures {
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.read_line(line));
        failures
    }

    #[test]
    fn failed_tests_are_named_with_the_commands_that_repeat_them() {
        let failed: Vec<_> = failures(OUTPUT)
            .programs
            .into_iter()
            .flat_map(|(selection, tests)| failed_tests(&TestProgram::Cargo(selection), &tests))
            .collect();
        assert_eq!(
            report(&failed).unwrap_err().to_string(),
            "\
4 tests failed
  a::fails (-p skills-a --test it)
    cargo test --locked -p skills-a --test it -- --exact a::fails
  b::fails_too (-p skills-a --test it)
    cargo test --locked -p skills-a --test it -- --exact b::fails_too
  a test program without a result (-p skills-b --lib)
    cargo test --locked -p skills-b --lib
  crates/skills-c/src/lib.rs - find (line 3) (-p skills-c --doc)
    cargo test --locked -p skills-c --doc -- --exact 'crates/skills-c/src/lib.rs - find (line 3)'
help: the command below a test repeats it"
        );
    }

    #[test]
    fn a_failure_as_another_user_is_repeated_as_this_user() {
        let failed = failed_tests(
            &TestProgram::Unprivileged("skills-cli".to_owned()),
            &["containers::fails".to_owned()],
        );
        assert_eq!(
            report(&failed).unwrap_err().to_string(),
            "\
1 test failed
  containers::fails (skills-cli, as an unprivileged user)
    cargo xtask test --unprivileged skills-cli --exact containers::fails
help: the command below a test repeats it; `cargo xtask image` prints what tests of containers need"
        );
    }

    #[test]
    fn output_without_failures_is_a_success() {
        let output = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        assert!(failures(output).programs.is_empty());
        assert!(report(&[]).is_ok());
    }
}
