//! Compares skipped tests with the list of expected skips.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The list of expected skips: one per line, after the user, with a comment above each group.
const LIST: &str = "xtask/expected-skips.txt";
const EXPECTED: &str = include_str!("../expected-skips.txt");

/// Whether a skip that is not in the list is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    Report,
    Fail,
}

/// The user that ran the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Unprivileged,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Unprivileged => "user",
        })
    }
}

/// The skips of one test run: lines `CRATE TEST: REASON`.
pub(crate) struct Skips {
    user: User,
    lines: BTreeSet<String>,
}

impl Skips {
    /// Reads the file to which the tests appended; without a file there are no skips.
    pub(crate) fn read(user: User, file: &Path) -> Result<Self> {
        let text = if file.exists() {
            fs::read_to_string(file).with_context(|| file.display().to_string())?
        } else {
            String::new()
        };
        Ok(Self {
            user,
            // Sorted and without duplicates, since tests run in any order.
            lines: text
                .lines()
                .map(|line| line.strip_prefix("skipped ").unwrap_or(line).to_owned())
                .collect(),
        })
    }

    pub(crate) fn add(&mut self, line: &str) {
        self.lines.insert(line.to_owned());
    }
}

/// Prints all skips, and warns of listed ones that did not happen.
///
/// # Errors
/// If a skip is not in the list, with [`Strictness::Fail`].
pub(crate) fn report(runs: &[Skips], strictness: Strictness) -> Result<()> {
    let expected = parse(EXPECTED)?;
    let mut unexpected = 0;
    for run in runs {
        let unexpected_lines = unlisted(run, &expected);
        eprintln!(
            "{} skips as {}, {} of them not in {LIST}",
            run.lines.len(),
            run.user,
            unexpected_lines.len()
        );
        for line in &run.lines {
            eprintln!(
                "  {}{line}",
                if unexpected_lines.contains(&line.as_str()) {
                    "unexpected: "
                } else {
                    ""
                }
            );
        }
        // Only a warning: what is skipped depends on the host.
        for entry in unused(run, &expected) {
            eprintln!(
                "warning: listed in {LIST}, but not skipped as {}: {entry}",
                run.user
            );
        }
        unexpected += unexpected_lines.len();
    }
    if unexpected > 0 && strictness == Strictness::Fail {
        bail!(
            "{unexpected} skips are not in {LIST}: install what the tests need, or add the skips with a reason"
        );
    }
    Ok(())
}

/// An expected skip: the start of its line, and the user, unless it is expected for any user.
struct Entry<'a> {
    user: Option<User>,
    start: &'a str,
}

impl Entry<'_> {
    fn is_for(&self, user: User) -> bool {
        self.user.is_none_or(|own| own == user)
    }
}

fn parse(text: &str) -> Result<Vec<Entry<'_>>> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(' ') {
            Some(("root", start)) => Ok(Entry {
                user: Some(User::Root),
                start,
            }),
            Some(("user", start)) => Ok(Entry {
                user: Some(User::Unprivileged),
                start,
            }),
            Some(("any", start)) => Ok(Entry { user: None, start }),
            _ => bail!("{LIST}: `{line}` does not start with `root`, `user` or `any`"),
        })
        .collect()
}

fn unlisted<'a>(run: &'a Skips, expected: &[Entry<'_>]) -> Vec<&'a str> {
    // Only the start is compared, since reasons contain details of the host.
    let is_listed = |line: &str| {
        expected
            .iter()
            .any(|entry| entry.is_for(run.user) && line.starts_with(entry.start))
    };
    run.lines
        .iter()
        .map(String::as_str)
        .filter(|line| !is_listed(line))
        .collect()
}

fn unused<'a>(run: &Skips, expected: &[Entry<'a>]) -> Vec<&'a str> {
    let is_unused = |entry: &&Entry<'_>| {
        entry.is_for(run.user) && !run.lines.iter().any(|line| line.starts_with(entry.start))
    };
    expected
        .iter()
        .filter(is_unused)
        .map(|entry| entry.start)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(user: User, lines: &[&str]) -> Skips {
        Skips {
            user,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn the_list_is_well_formed() {
        assert!(!parse(EXPECTED).unwrap().is_empty());
        assert!(parse("other a b: c").is_err() && parse("root").is_err());
    }

    #[test]
    fn an_entry_covers_the_skips_that_start_with_it() {
        let expected = parse("# why\nroot a one: root\nany b two: no Node\n").unwrap();
        let run = skips(
            User::Root,
            &[
                "a one: root reads all",
                "b two: no Node in /bin",
                "b two: other",
                "c three: x",
            ],
        );
        assert_eq!(unlisted(&run, &expected), ["b two: other", "c three: x"]);
        assert_eq!(unused(&run, &expected), [""; 0]);
    }

    #[test]
    fn an_entry_for_root_covers_nothing_of_others() {
        let expected = parse("root a one: root\nany b two: no Node").unwrap();
        let run = skips(User::Unprivileged, &["a one: root"]);
        assert_eq!(unlisted(&run, &expected), ["a one: root"]);
        assert_eq!(unused(&run, &expected), ["b two: no Node"]);
    }

    #[test]
    fn an_unexpected_skip_fails_a_strict_report_only() {
        let runs = [skips(
            User::Root,
            &["a-crate a_test: a reason that no list has"],
        )];
        assert!(report(&runs, Strictness::Report).is_ok());
        let error = report(&runs, Strictness::Fail).unwrap_err().to_string();
        assert!(
            error.starts_with("1 skips are not in xtask/expected-skips.txt"),
            "{error}"
        );
        assert!(report(&[skips(User::Root, &[])], Strictness::Fail).is_ok());
    }

    #[test]
    fn the_record_of_the_tests_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("skips");
        assert!(Skips::read(User::Root, &file).unwrap().lines.is_empty());
        fs::write(&file, "skipped a b: c\nskipped a b: c\n").unwrap();
        assert_eq!(
            Skips::read(User::Root, &file).unwrap().lines,
            ["a b: c".to_owned()].into()
        );
    }
}
