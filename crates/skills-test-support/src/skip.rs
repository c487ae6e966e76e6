//! The record of skipped tests.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::host;

/// The environment variable with the path of the file to which skips are appended. Without it they
/// are only written to standard error.
pub const RECORD: &str = "SKILLS_TEST_SKIPS";

/// Records that the running test is skipped, and why.
///
/// The line is `skipped CRATE TEST: REASON`, where the test is the name of the current thread, as
/// the test harness sets it. It is written to standard error even if the harness captures test
/// output, and once per process. A reason should start with words that are the same on every host,
/// since the list of expected skips contains its start.
///
/// # Panics
/// If the file cannot be written: a skip that is not counted would look like a success.
#[track_caller]
pub fn skip(reason: impl Display) {
    record(&line(
        crate_of(Location::caller()),
        &test_name(),
        None,
        &reason,
    ));
}

/// Records that a part of the running test is skipped, as [`skip`] does, on a line
/// `skipped CRATE TEST (PART): REASON`.
#[track_caller]
pub fn skip_part(part: impl Display, reason: impl Display) {
    record(&line(
        crate_of(Location::caller()),
        &test_name(),
        Some(&part),
        &reason,
    ));
}

/// Returns `true` and records a skip if no sandbox backend of the product can run scripts on this
/// host.
#[track_caller]
#[must_use]
pub fn skip_without_sandbox() -> bool {
    skip_if_missing(host::sandbox())
}

/// Returns `true` and records a skip if this host does not report changes of files.
#[track_caller]
#[must_use]
pub fn skip_without_file_events() -> bool {
    skip_if_missing(host::file_events())
}

#[track_caller]
fn skip_if_missing(result: Result<(), String>) -> bool {
    match result {
        Ok(()) => false,
        Err(reason) => {
            skip(reason);
            true
        }
    }
}

fn test_name() -> String {
    std::thread::current()
        .name()
        .unwrap_or("unknown")
        .to_owned()
}

/// Returns the crate of a source file, from its path in the workspace: the directory below `crates`,
/// else the first one, such as `xtask`.
fn crate_of(caller: &Location<'static>) -> &'static str {
    crate_of_file(caller.file())
}

fn crate_of_file(file: &str) -> &str {
    let mut parts = Path::new(file)
        .iter()
        .map(|part| part.to_str().unwrap_or_default());
    parts
        .clone()
        .skip_while(|part| *part != "crates")
        .nth(1)
        .or_else(|| parts.next())
        .unwrap_or("unknown")
}

fn line(crate_name: &str, test: &str, part: Option<&dyn Display>, reason: &dyn Display) -> String {
    let part = part.map(|part| format!(" ({part})")).unwrap_or_default();
    let line = format!("skipped {crate_name} {test}{part}: {reason}");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[expect(clippy::panic, reason = "called by tests, which fail by panicking")]
fn record(line: &str) {
    static RECORDED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !RECORDED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(line.to_owned())
    {
        return;
    }
    // `eprintln!` would be captured, and shown only when the test fails.
    let _ = writeln!(io::stderr(), "{line}");
    if let Some(path) = std::env::var_os(RECORD)
        && let Err(error) = append(Path::new(&path), line)
    {
        panic!("cannot record a skip in {}: {error}", path.display());
    }
}

/// Appends a line in one write, so that lines of several processes do not mix.
fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_with_crate_test_part_and_reason() {
        assert_eq!(
            line("skills-x", "a::b", None, &"not\n  here"),
            "skipped skills-x a::b: not here"
        );
        assert_eq!(
            line("skills-x", "a::b", Some(&"case 9"), &"no Node"),
            "skipped skills-x a::b (case 9): no Node"
        );
        assert_eq!(
            test_name(),
            "skip::tests::a_record_is_one_line_with_crate_test_part_and_reason"
        );
    }

    #[test]
    fn the_crate_is_found_by_its_source_path() {
        assert_eq!(crate_of(Location::caller()), "skills-test-support");
        assert_eq!(crate_of_file("xtask/src/test/unprivileged.rs"), "xtask");
    }

    #[test]
    fn records_are_appended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("skips");
        append(&path, "skipped a b: c").unwrap();
        append(&path, "skipped a d: e").unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "skipped a b: c\nskipped a d: e\n"
        );
        assert!(append(&directory.path().join("none/skips"), "").is_err());
    }
}
