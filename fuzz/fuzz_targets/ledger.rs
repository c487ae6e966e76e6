//! Summarizes bytes as a file of the usage ledger, judges each skill by it, and reads the last uses.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use skills_ledger::{Assessment, Ledger, SkillFacts, Summary, Timestamp};

/// The time of all summaries: 2026-09-09.
const NOW: Timestamp = Timestamp::from_millis(1_789_000_000_000);

/// The directory of the ledger, reused by all inputs.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory can be created");
    directory.keep()
});

fuzz_target!(|bytes: &[u8]| {
    let summary = summarize(bytes);
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let written = lines.iter().filter(|line| !line.is_empty()).count() as u64;
    assert_eq!(
        summary.events + summary.malformed + summary.unknown,
        written,
        "each line is counted once"
    );
    lines.reverse();
    // A line at the end that is only a carriage return, or the like, stays what it is.
    assert_eq!(
        summarize(&lines.join(&b'\n')),
        summary,
        "the order of lines does not matter"
    );
    for skill in &summary.skills {
        let facts = SkillFacts::new(&*skill.name, &*skill.scope);
        let assessment = Assessment::new(&facts, &summary);
        let _ = assessment.verdict.as_str();
        for reason in &assessment.reasons {
            assert!(!reason.to_string().is_empty());
        }
    }
    let recent = Ledger::new(&*DIRECTORY)
        .recent_uses(NOW)
        .expect("whatever a file contains, its uses can be read");
    assert!(
        recent.iter().all(|one| one.time <= NOW),
        "no use is later than now"
    );
    assert!(
        recent.is_sorted_by(|a, b| a.time >= b.time),
        "the last used is the first"
    );
});

fn summarize(bytes: &[u8]) -> Summary {
    std::fs::write(DIRECTORY.join("uses.jsonl"), bytes).expect("the file can be written");
    Ledger::new(&*DIRECTORY)
        .summarize(NOW)
        .expect("whatever a file contains, it can be summarized")
}
