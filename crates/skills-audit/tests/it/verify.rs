use std::fs;

use proptest::prelude::*;
use skills_audit::{AuditSink, Problem, verify};

use crate::log::{event, log, path};

/// Writes ten records, changes the file, and returns the kinds of problems.
fn check(change: impl FnOnce(Vec<String>) -> Vec<String>, expected: &[&str]) {
    let (directory, log) = log();
    (0..10).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let lines = fs::read_to_string(path(&directory)).unwrap().lines().map(str::to_owned).collect();
    let changed: String = change(lines).iter().map(|line| format!("{line}\n")).collect();
    fs::write(path(&directory), changed).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    let kinds: Vec<&str> = verified
        .problems
        .iter()
        .map(|problem| match problem {
            Problem::Broken { .. } => "broken",
            Problem::Edited { .. } => "edited",
            Problem::Unlinked { .. } => "unlinked",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, expected);
}

#[test]
fn cuts_and_edits_show() {
    check(|lines| lines, &[]);
    check(|lines| [&lines[..4], &lines[5..]].concat(), &["unlinked"]);
    check(|lines| lines[1..].to_vec(), &[]);
    // A field that nobody knows is an edit too.
    check(
        |mut lines| {
            lines[3] = lines[3].replacen('{', "{\"approved_by\":\"alice\",", 1);
            lines
        },
        &["edited"],
    );
    check(
        |mut lines| {
            lines[9] = lines[9].replace("\"sequence\":10", "\"sequence\":18446744073709551615");
            lines.push(lines[0].clone());
            lines
        },
        &["edited", "unlinked", "unlinked"],
    );
    check(
        |mut lines| {
            lines[3] = lines[3].replace("skill-3", "skill-x");
            lines
        },
        &["edited"],
    );
    check(
        |mut lines| {
            lines.swap(3, 4);
            lines
        },
        &["unlinked", "unlinked", "unlinked"],
    );
    check(
        |mut lines| {
            lines[2].truncate(20);
            lines
        },
        &["broken", "unlinked"],
    );
    check(
        |mut lines| {
            lines.insert(5, lines[0].clone());
            lines
        },
        &["unlinked", "unlinked"],
    );
}

/// A cut at the end leaves a chain that holds: only the last hash, kept elsewhere, shows it.
#[test]
fn a_cut_end_shows_by_the_last_hash() {
    let (directory, log) = log();
    (0..3).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let before = verify(&log.files().unwrap()).unwrap();
    let text = fs::read_to_string(path(&directory)).unwrap();
    let shorter: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(path(&directory), shorter).unwrap();
    let after = verify(&log.files().unwrap()).unwrap();
    assert_eq!(after.problems, []);
    assert_ne!(after.last_hash, before.last_hash);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No change of a single byte goes unseen, wherever it is.
    #[test]
    fn a_changed_byte_shows(at in 0usize..4_000, by in 1u8..255) {
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
