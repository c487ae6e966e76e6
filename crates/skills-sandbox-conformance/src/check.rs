//! Compares observed results with the table.

use std::collections::BTreeMap;
use std::fmt;

use super::{AttemptResult, BackendVariant, CASES};

/// The reason why an attempt was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedCase {
    /// What is missing on this host.
    pub reason: String,
}

/// A difference between the results of a backend and the table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// A case has no result.
    Missing {
        /// Its number.
        number: u8,
        /// Its name.
        name: &'static str,
    },
    /// A result belongs to no case.
    Unknown {
        /// The number that no case has.
        number: u8,
    },
    /// A result is not an accepted one.
    Differs {
        /// The case's number.
        number: u8,
        /// Its name.
        name: &'static str,
        /// The accepted results.
        expected: &'static [AttemptResult],
        /// The observed result.
        observed: AttemptResult,
    },
    /// A case was skipped that has no requirement, or no reason is given.
    NotSkippable {
        /// The case's number.
        number: u8,
        /// Its name.
        name: &'static str,
        /// The given reason.
        reason: String,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { number, name } => write!(f, "{number} {name}: no result"),
            Self::Unknown { number } => write!(f, "{number}: unknown case"),
            Self::Differs {
                number,
                name,
                expected,
                observed,
            } => {
                let expected = expected
                    .iter()
                    .map(|answer| answer.as_str())
                    .collect::<Vec<_>>()
                    .join(" or ");
                match observed {
                    AttemptResult::Succeeded => {
                        write!(f, "{number} {name}: expected {expected}, but it succeeds")
                    }
                    _ => write!(
                        f,
                        "{number} {name}: expected {expected}, but it is {observed}"
                    ),
                }
            }
            Self::NotSkippable {
                number,
                name,
                reason,
            } => write!(
                f,
                "{number} {name}: skipped without a missing requirement ({reason})"
            ),
        }
    }
}

/// Compares the results of a backend, keyed by case number, with the table.
///
/// # Errors
/// Returns all mismatches in order of case numbers: missing results, results for unknown cases,
/// results that are not accepted, and skipped cases without a requirement.
pub fn check(
    column: BackendVariant,
    answers: &BTreeMap<u8, Result<AttemptResult, SkippedCase>>,
) -> Result<(), Vec<Mismatch>> {
    let mut wrong = Vec::new();
    for case in CASES {
        let number = case.number;
        let name = case.name;
        let expected = case.expected(column);
        match answers.get(&number) {
            // A missing result fails like a wrong one, so that no backend can omit a case.
            None => wrong.push(Mismatch::Missing { number, name }),
            Some(Ok(observed)) if !expected.contains(observed) => {
                wrong.push(Mismatch::Differs {
                    number,
                    name,
                    expected,
                    observed: *observed,
                });
            }
            Some(Err(SkippedCase { reason }))
                // Skipping must not hide a failure, so it needs a requirement and a reason.
                if case.requirement(column).is_none() || reason.trim().is_empty() =>
            {
                wrong.push(Mismatch::NotSkippable {
                    number,
                    name,
                    reason: reason.clone(),
                });
            }
            Some(_) => {}
        }
    }
    let unknown = answers
        .keys()
        .filter(|number| CASES.iter().all(|case| case.number != **number));
    wrong.extend(unknown.map(|number| Mismatch::Unknown { number: *number }));
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// For tests: calls [`check`]; the caller reports which cases were skipped.
///
/// # Panics
/// Panics with all mismatches, one per line.
#[expect(clippy::panic, reason = "for tests, which fail by panicking")]
pub fn assert_conforms(
    column: BackendVariant,
    answers: &BTreeMap<u8, Result<AttemptResult, SkippedCase>>,
) {
    if let Err(wrong) = check(column, answers) {
        let lines: Vec<String> = wrong
            .iter()
            .map(|mismatch| format!("  {mismatch}"))
            .collect();
        panic!(
            "{} of {} cases differ from the table ({column}):\n{}",
            lines.len(),
            CASES.len(),
            lines.join("\n")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(column: BackendVariant) -> BTreeMap<u8, Result<AttemptResult, SkippedCase>> {
        CASES
            .iter()
            .map(|case| (case.number, Ok(case.expected(column)[0])))
            .collect()
    }

    #[test]
    fn the_expected_results_pass_in_every_column() {
        for column in BackendVariant::ALL {
            assert_eq!(check(column, &right(column)), Ok(()));
        }
    }

    #[test]
    fn missing_unknown_and_wrong_results_fail() {
        let mut answers = right(BackendVariant::LinuxLandlock);
        answers.remove(&7);
        answers.insert(255, Ok(AttemptResult::Denied));
        answers.insert(9, Ok(AttemptResult::Succeeded));
        answers.insert(58, Ok(AttemptResult::NoEffect));
        let wrong = check(BackendVariant::LinuxLandlock, &answers).unwrap_err();
        let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "7 truncate-outside: no result",
                "9 stat-outside: expected reported, but it succeeds",
                "58 spawn-without-grant: expected denied, but it is no-effect",
                "255: unknown case"
            ]
        );
        assert_eq!(
            check(BackendVariant::LinuxLandlock, &BTreeMap::new())
                .unwrap_err()
                .len(),
            CASES.len()
        );
    }

    #[test]
    fn only_cases_with_a_requirement_may_be_skipped() {
        let skipped = |reason: &str| {
            Err(SkippedCase {
                reason: reason.to_owned(),
            })
        };
        let mut answers = right(BackendVariant::LinuxNamespaces);
        answers.insert(89, skipped("not x86-64"));
        assert_eq!(check(BackendVariant::LinuxNamespaces, &answers), Ok(()));
        answers.insert(89, skipped(" "));
        answers.insert(1, skipped("too much work"));
        let wrong = check(BackendVariant::LinuxNamespaces, &answers).unwrap_err();
        assert_eq!(
            wrong.iter().map(ToString::to_string).next().unwrap(),
            "1 read-secrets: skipped without a missing requirement (too much work)"
        );
        assert_eq!(wrong.len(), 2);
    }
}
