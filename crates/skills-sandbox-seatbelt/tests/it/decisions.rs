//! The conformance cases as decisions of profiles.

mod cases;
mod layouts;

use std::collections::BTreeMap;
use std::path::Path;

use skills_sandbox_conformance::{
    AttemptResult, BackendVariant, CASES, Case, SkippedCase, assert_conforms,
};
use skills_sandbox_seatbelt::{Executable, ExecutableSet, ProxyAccess};

use cases::{CONNECTIONS, FILES, OTHERS};

use crate::evaluator::{Evaluator, Subject};
use crate::{PROJECT, SKILL, evaluator, grants, profile_of};

/// The grants of the columns: none; reading the project that contains the skill; writing it; all
/// programs; only `git`; hosts through a port.
const COLUMNS: [&[(&str, Option<&str>)]; 6] = [
    &[],
    &[("Read", None)],
    &[("Write", None)],
    &[("Bash", None)],
    &[("Bash", Some("git:*"))],
    &[("WebFetch", None)],
];
const PORT: u16 = 3128;

const READ: &str = "file-read-data";
const STAT: &str = "file-read-metadata";
const WRITE: &str = "file-write-data";
const CREATE: &str = "file-write-create";
const UNLINK: &str = "file-write-unlink";
const EXEC: &str = "process-exec";
const CONNECT: &str = "network-outbound";

/// Case, operation, path, and the decision of each column: `a`llowed or `d`enied.
type Row = (u8, &'static str, &'static str, &'static str);

fn columns() -> Vec<Evaluator> {
    let python = Executable::new("/opt/python/bin/python3.12").readable("/opt/python");
    let executables = ExecutableSet::new(python).program("git", "/usr/bin/git");
    let script = Path::new(SKILL).join("scripts/run.py");
    let column = |tools: &&[(&str, Option<&str>)]| {
        let network = if tools.iter().any(|(tool, _)| *tool == "WebFetch") {
            ProxyAccess::LocalPort(PORT)
        } else {
            ProxyAccess::None
        };
        let profile = profile_of(
            &grants(Path::new(SKILL), PROJECT, tools),
            &executables,
            &script,
            network,
        )
        .unwrap();
        evaluator(&profile)
    };
    COLUMNS.iter().map(column).collect()
}

/// Returns the decision of each column: `a`llowed or `d`enied.
fn decided(columns: &[Evaluator], operation: &str, subject: &Subject) -> String {
    columns
        .iter()
        .map(|column| {
            if column.allows(operation, subject) {
                'a'
            } else {
                'd'
            }
        })
        .collect()
}

fn check<'a>(rows: impl IntoIterator<Item = (u8, &'a str, Subject, &'a str)>) {
    let columns = columns();
    let mut wrong = Vec::new();
    for (case, operation, subject, expected) in rows {
        let found = decided(&columns, operation, &subject);
        if found != expected {
            wrong.push(format!(
                "case {case}: {operation} {subject:?}: {found}, not {expected}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_case_has_the_expected_decisions() {
    check(rows());
}

#[test]
fn devices_and_processes() {
    check([
        (13, WRITE, Subject::device("/dev/null"), "aaaaaa"),
        (13, READ, Subject::device("/dev/urandom"), "aaaaaa"),
        (13, WRITE, Subject::device("/dev/urandom"), "dddddd"),
        (13, READ, Subject::device("/dev/disk0"), "dddddd"),
    ]);
    for operation in ["signal", "process-info-pidinfo"] {
        check([(
            58,
            operation,
            Subject::Process {
                is_in_same_sandbox: true,
            },
            "aaaaaa",
        )]);
        check([(
            58,
            operation,
            Subject::Process {
                is_in_same_sandbox: false,
            },
            "dddddd",
        )]);
    }
}

/// All rows, with their subjects.
fn rows() -> Vec<(u8, &'static str, Subject, &'static str)> {
    let subject = |name: &str| {
        if name.is_empty() {
            Subject::Nothing
        } else {
            Subject::name(name)
        }
    };
    let files = FILES.iter().map(|(case, operation, path, expected)| {
        (*case, *operation, Subject::path(*path), *expected)
    });
    let connections = CONNECTIONS.iter().map(|(case, address, port, expected)| {
        (*case, CONNECT, Subject::remote(address, *port), *expected)
    });
    let others = OTHERS
        .iter()
        .map(|(case, operation, name, expected)| (*case, *operation, subject(name), *expected));
    files.chain(connections).chain(others).collect()
}

/// Returns the result of a case if the profiles decide as its rows say; otherwise what differs.
fn answer(case: &Case, columns: &[Evaluator]) -> Result<AttemptResult, SkippedCase> {
    if case.expected(BackendVariant::Seatbelt) == [AttemptResult::NotApplicable] {
        return Ok(AttemptResult::NotApplicable);
    }
    let own: Vec<_> = rows()
        .into_iter()
        .filter(|row| row.0 == case.number)
        .collect();
    let (right, wrong, verdicts) = match case.number {
        11 | 22 => (AttemptResult::Succeeded, AttemptResult::Denied, "a"),
        3 | 15 => (AttemptResult::Reported, AttemptResult::Succeeded, "ad"),
        24 | 25 => (AttemptResult::NoEffect, AttemptResult::Succeeded, "d"),
        // The rest is up to the host, not the profile.
        23 => {
            return Err(SkippedCase {
                reason: "macOS".to_owned(),
            });
        }
        _ if own.is_empty() => {
            return Err(SkippedCase {
                reason: "macOS".to_owned(),
            });
        }
        _ => (AttemptResult::Denied, AttemptResult::Succeeded, "d"),
    };
    let is_decided = verdicts
        .chars()
        .all(|verdict| own.iter().any(|row| row.3.contains(verdict)));
    let is_right = own
        .iter()
        .all(|(_, operation, subject, expected)| decided(columns, operation, subject) == *expected);
    Ok(if is_decided && is_right { right } else { wrong })
}

/// The Seatbelt column of the conformance table, as far as profiles decide it; the rest requires
/// macOS.
#[test]
fn the_profile_conforms() {
    let columns = columns();
    let mut answers: BTreeMap<u8, Result<AttemptResult, SkippedCase>> = CASES
        .iter()
        .map(|case| (case.number, answer(case, &columns)))
        .collect();
    let is_right = |case: &&Case| !matches!(&answers[&case.number], Ok(answer) if !case.expected(BackendVariant::Seatbelt).contains(answer));
    let decides = CASES
        .iter()
        .filter(|case| case.name != "profile-decides")
        .all(|case| is_right(&case));
    answers.insert(
        100,
        Ok(if decides {
            AttemptResult::Succeeded
        } else {
            AttemptResult::Denied
        }),
    );
    let skipped = answers.values().filter(|answer| answer.is_err()).count();
    skills_test_support::skip_part(format!("{skipped} cases of the table"), "they need macOS");
    assert_conforms(BackendVariant::Seatbelt, &answers);
}
