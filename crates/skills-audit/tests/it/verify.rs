use std::fs;

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use skills_audit::{
    AuditLog, AuditSink, ChainStatus, Disposition, Event, ProblemKind, Rotation, VerifyReport,
    verify, verify_since,
};
use tempfile::TempDir;

use crate::log::{event, log, path};

/// Writes ten records, changes the file, and returns the kinds of problems.
fn check(change: impl FnOnce(Vec<String>) -> Vec<String>, expected: &[&str]) {
    let (directory, log) = log();
    (0..10).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let lines = fs::read_to_string(path(&directory))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let changed: String = change(lines)
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(path(&directory), changed).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    let kinds: Vec<&str> = verified
        .problems
        .iter()
        .map(|problem| match problem.kind {
            ProblemKind::Malformed => "malformed",
            ProblemKind::Incomplete => "incomplete",
            ProblemKind::Empty => "empty",
            ProblemKind::MissingBeginning(_) => "missing beginning",
            ProblemKind::MissingFiles(_) => "missing files",
            ProblemKind::HashMismatch(_) => "hash mismatch",
            ProblemKind::BrokenChain(_) => "broken chain",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, expected);
}

#[test]
fn removed_and_edited_records_are_detected() {
    check(|lines| lines, &[]);
    check(
        |lines| [&lines[..4], &lines[5..]].concat(),
        &["broken chain"],
    );
    check(|lines| lines[1..].to_vec(), &["missing beginning"]);
    check(|lines| lines[9..].to_vec(), &["missing beginning"]);
    check(
        |lines| [&lines[..4], &[String::new()], &lines[4..]].concat(),
        &["empty"],
    );
    check(|lines| [&lines[..], &[String::new()]].concat(), &["empty"]);
    // Two logs in one.
    check(|lines| [lines.clone(), lines].concat(), &["broken chain"]);
    // An unknown field is an edit too.
    check(
        |mut lines| {
            lines[3] = lines[3].replacen('{', "{\"approved_by\":\"alice\",", 1);
            lines
        },
        &["hash mismatch"],
    );
    check(
        |mut lines| {
            lines[9] = lines[9].replace("\"sequence\":10", "\"sequence\":18446744073709551615");
            lines.push(lines[0].clone());
            lines
        },
        &["hash mismatch", "broken chain", "broken chain"],
    );
    check(
        |mut lines| {
            lines[3] = lines[3].replace("skill-3", "skill-x");
            lines
        },
        &["hash mismatch"],
    );
    check(
        |mut lines| {
            lines.swap(3, 4);
            lines
        },
        &["broken chain", "broken chain", "broken chain"],
    );
    check(
        |mut lines| {
            lines[2].truncate(20);
            lines
        },
        &["malformed", "broken chain"],
    );
    check(
        |mut lines| {
            lines.insert(5, lines[0].clone());
            lines
        },
        &["broken chain", "broken chain"],
    );
}

/// A log without its last records is a valid chain: only the last hash, stored elsewhere, detects
/// it.
#[test]
fn a_truncated_log_is_detected_by_the_last_hash() {
    let (directory, log) = log();
    (0..3).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let before = verify(&log.files().unwrap()).unwrap();
    let text = fs::read_to_string(path(&directory)).unwrap();
    let shorter: String = text
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(path(&directory), shorter).unwrap();
    let after = verify(&log.files().unwrap()).unwrap();
    assert_eq!(after.problems, []);
    assert_ne!(after.last_hash, before.last_hash);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A change of any single byte is detected.
    #[test]
    fn a_changed_byte_is_detected(at in 0usize..4_000, by in 1u8..255) {
        let (directory, log) = log();
        (0..5).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
        let mut bytes = fs::read(path(&directory)).unwrap();
        let whole = verify(&log.files().unwrap()).unwrap();
        let at = at % bytes.len();
        bytes[at] = bytes[at].wrapping_add(by);
        fs::write(path(&directory), &bytes).unwrap();
        let verified = verify(&log.files().unwrap()).unwrap();
        prop_assert!(!verified.problems.is_empty() || verified.last_hash != whole.last_hash || verified.records < whole.records, "byte {}", at);
    }
}

/// A record with a recomputed hash is valid, but the next one does not follow it.
#[test]
fn an_edit_with_a_new_hash_is_detected_by_the_next_record() {
    check(
        |mut lines| {
            lines[3] = hashed(&lines[3].replace("skill-3", "skill-x"));
            lines
        },
        &["broken chain"],
    );
    // The last record has no successor: only a hash stored elsewhere detects the edit.
    check(
        |mut lines| {
            lines[9] = hashed(&lines[9].replace("skill-9", "skill-x"));
            lines
        },
        &[],
    );
    // The first record has no predecessor, unless older files were deleted.
    check(
        |lines| {
            vec![hashed(
                &lines[1].replace("\"sequence\":2", "\"sequence\":1"),
            )]
        },
        &["broken chain"],
    );
    check(|lines| vec![lines[1].clone()], &["missing beginning"]);
    for number in ["0", "2"] {
        let sequence = format!("\"sequence\":{number}");
        check(
            |lines| vec![hashed(&lines[0].replace("\"sequence\":1", &sequence))],
            &["broken chain"],
        );
    }
    // A gap in the numbers is detected even if the hashes match.
    check(
        |lines| {
            vec![
                lines[0].clone(),
                hashed(&lines[1].replace("\"sequence\":2", "\"sequence\":3")),
            ]
        },
        &["broken chain"],
    );
}

/// Recomputes the hash of a changed line, as an attacker could.
fn hashed(line: &str) -> String {
    let (rest, _) = line.rsplit_once(",\"hash\":").unwrap();
    let hash: String = Sha256::digest(format!("{rest}}}"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{rest},\"hash\":\"{hash}\"}}")
}

#[test]
fn a_problem_names_file_line_and_record() {
    let (directory, log) = log();
    (0..4).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let text = fs::read_to_string(path(&directory))
        .unwrap()
        .replace("skill-1", "skill-x");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = "{}";
    fs::write(path(&directory), format!("\n{}\n", lines.join("\n"))).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    let file = path(&directory);
    let problems: Vec<_> = verified
        .problems
        .iter()
        .map(|problem| (&problem.file, problem.line, problem.kind))
        .collect();
    assert_eq!(
        problems,
        [
            (&file, 1, ProblemKind::Empty),
            (&file, 3, ProblemKind::HashMismatch(2)),
            (&file, 4, ProblemKind::Malformed),
            (&file, 5, ProblemKind::BrokenChain(4)),
        ]
    );
    assert_eq!((verified.records, verified.first_sequence), (3, Some(1)));
}

/// With a hash stored elsewhere, added records are counted and a removed or rewritten end is
/// detected.
#[test]
fn records_since_a_stored_hash_are_counted() {
    let (_directory, log) = log();
    let mut hashes = Vec::new();
    for index in 0..4 {
        log.record(&event(&format!("skill-{index}"))).unwrap();
        hashes.extend(verify(&log.files().unwrap()).unwrap().last_hash);
    }
    let since = |hash: &str| {
        verify_since(&log.files().unwrap(), Some(hash))
            .unwrap()
            .records_since
    };
    assert_eq!(
        hashes.iter().map(|hash| since(hash)).collect::<Vec<_>>(),
        [Some(3), Some(2), Some(1), Some(0)]
    );
    assert_eq!(since(&"0".repeat(64)), None);
    assert_eq!(verify(&log.files().unwrap()).unwrap().records_since, None);
}

#[test]
fn an_empty_log_has_no_problems() {
    let (directory, log) = log();
    assert_eq!(
        verify(&log.files().unwrap()).unwrap(),
        VerifyReport::default()
    );
    assert!(verify(&[directory.path().join("missing")]).is_err());
}

/// Only the end of the current file is what a crash leaves.
#[test]
fn an_incomplete_end_is_not_a_broken_chain() {
    let status = |change: fn(&str) -> String| {
        let (directory, log) = log();
        (0..3).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
        let whole = fs::read_to_string(path(&directory)).unwrap();
        fs::write(path(&directory), change(&whole)).unwrap();
        verify(&log.files().unwrap()).unwrap().status()
    };
    assert_eq!(status(str::to_owned), ChainStatus::Intact);
    assert_eq!(status(|log| log.trim_end().to_owned()), ChainStatus::Intact);
    for change in [
        |log: &str| log[..log.len() - 2].to_owned(),
        |log: &str| format!("{log}{{\"sequence\":4,\"ti"),
        |log: &str| format!("{log}{}", "\0".repeat(4_096)),
        |log: &str| format!("{log}{}", "x".repeat(70_000)),
    ] {
        assert_eq!(status(change), ChainStatus::Incomplete);
    }
    for change in [
        // A line with a newline was written as a whole.
        |log: &str| format!("{log}{{\"sequence\":4,\"ti\n"),
        |log: &str| format!("{log}{}\n", "x".repeat(70_000)),
        |log: &str| format!("{log}\n"),
        // All before the incomplete line must be intact.
        |log: &str| format!("{}{{\"seq", log.replace("skill-1", "skill-x")),
    ] {
        assert_eq!(status(change), ChainStatus::Broken);
    }
}

/// Returns a log of four files with one record each; older ones were deleted by rotation.
fn rotated_log() -> (TempDir, AuditLog) {
    let (directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 1,
        max_files: 3,
    });
    (0..6).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    assert_eq!(log.files().unwrap().len(), 4);
    (directory, log)
}

/// Returns the kinds of the problems of a log.
fn problems(log: &AuditLog) -> Vec<ProblemKind> {
    let verified = verify(&log.files().unwrap()).unwrap();
    verified
        .problems
        .iter()
        .map(|problem| problem.kind)
        .collect()
}

#[test]
fn removed_and_reordered_files_are_detected() {
    let (_directory, log) = rotated_log();
    assert_eq!(problems(&log), []);
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.first_sequence), (4, Some(3)));

    let (directory, log) = rotated_log();
    let file = |number: u32| directory.path().join(format!("audit.jsonl.{number}"));
    fs::remove_file(file(3)).unwrap();
    assert_eq!(problems(&log), [ProblemKind::MissingFiles(3)]);
    fs::remove_file(file(2)).unwrap();
    fs::remove_file(file(1)).unwrap();
    assert_eq!(problems(&log), [ProblemKind::MissingFiles(3)]);

    let (directory, log) = rotated_log();
    let file = |number: u32| directory.path().join(format!("audit.jsonl.{number}"));
    fs::remove_file(file(2)).unwrap();
    assert_eq!(problems(&log), [ProblemKind::BrokenChain(5)]);

    let (directory, log) = rotated_log();
    let file = |number: u32| directory.path().join(format!("audit.jsonl.{number}"));
    let (two, three) = (fs::read(file(2)).unwrap(), fs::read(file(3)).unwrap());
    fs::write(file(2), three).unwrap();
    fs::write(file(3), two).unwrap();
    assert!(problems(&log).contains(&ProblemKind::BrokenChain(3)));
}

/// In the oldest file, the first record must be the one that began it. In the others the chain shows
/// it.
#[test]
fn a_removed_beginning_of_a_file_is_detected() {
    let (directory, log) = log();
    let mut rotating = log.clone();
    for (index, max_bytes) in [1 << 20, 1 << 20, 1, 1 << 20, 1 << 20]
        .into_iter()
        .enumerate()
    {
        rotating = rotating.rotation(Rotation {
            max_bytes,
            max_files: 1,
        });
        rotating.record(&event(&format!("skill-{index}"))).unwrap();
    }
    assert_eq!(problems(&log), []);
    let whole = fs::read_to_string(path(&directory)).unwrap();
    fs::write(path(&directory), whole.split_once('\n').unwrap().1).unwrap();
    assert_eq!(problems(&log), [ProblemKind::BrokenChain(4)]);
    fs::write(path(&directory), whole).unwrap();
    fs::remove_file(directory.path().join("audit.jsonl.1")).unwrap();
    assert_eq!(problems(&log), [ProblemKind::MissingFiles(1)]);
    let text = fs::read_to_string(path(&directory)).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(path(&directory), rest).unwrap();
    assert_eq!(problems(&log), [ProblemKind::MissingBeginning(4)]);
}

/// Earlier versions began a file without the number of the oldest record.
#[test]
fn intact_files_of_an_earlier_version_have_no_problem() {
    let (directory, log) = log();
    (0..6).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let text = fs::read_to_string(path(&directory)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let file = |number: u32| directory.path().join(format!("audit.jsonl.{number}"));
    for (file, lines) in [
        (file(2), &lines[..2]),
        (file(1), &lines[2..4]),
        (path(&directory), &lines[4..]),
    ] {
        fs::write(file, lines.join("\n") + "\n").unwrap();
    }
    assert_eq!(log.files().unwrap().len(), 3);
    assert_eq!(problems(&log), []);
    // What is missing between files is detected without it.
    fs::remove_file(file(1)).unwrap();
    assert_eq!(problems(&log), [ProblemKind::BrokenChain(5)]);
}

/// An incomplete line can only be at the end of the log.
#[test]
fn an_incomplete_line_in_a_rotated_file_is_a_broken_chain() {
    let (directory, log) = rotated_log();
    let file = directory.path().join("audit.jsonl.1");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{{\"seq")).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.problems[0].kind, ProblemKind::Malformed);
    assert_eq!(verified.status(), ChainStatus::Broken);
}

/// A log that was cut between two lines is a valid chain, but its last run has no end.
#[test]
fn starts_without_an_end_are_listed() {
    let (_directory, log) = log();
    let started = |skill| Event::new("2026-11-22T08:00:00Z", skill, Disposition::Started);
    let starts = ["one", "two", "three"].map(|skill| log.record_start(&started(skill)).unwrap());
    let mut end = event("two");
    end.start = starts[1];
    log.record(&end).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.unfinished, [1, 3]);
    assert_eq!(verified.status(), ChainStatus::Intact);
}
