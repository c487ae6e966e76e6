use std::fs;

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use skills_audit::{AuditSink, ProblemKind, VerifyReport, verify, verify_since};

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
    check(|lines| lines[1..].to_vec(), &[]);
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
    check(|lines| vec![lines[1].clone()], &[]);
    check(
        |lines| {
            vec![hashed(
                &lines[0].replace("\"sequence\":1", "\"sequence\":2"),
            )]
        },
        &[],
    );
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
