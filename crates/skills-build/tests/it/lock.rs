//! The lock file next to a source.

use skills_build::{ArtifactLock, Language};

#[test]
fn a_written_lock_file_is_parsed() {
    for language in Language::ALL {
        let tools = vec![
            (
                "cargo".to_owned(),
                "1.95.0 (f2d3ce0bd 2026-03-21)".to_owned(),
            ),
            ("zig".to_owned(), "unknown".to_owned()),
        ];
        let lock = ArtifactLock {
            language,
            sources_sha256: "aa".to_owned(),
            artifact_sha256: "bb".to_owned(),
            tools,
        };
        assert_eq!(ArtifactLock::parse(&lock.to_text()), Some(lock));
    }
}

#[test]
fn an_incomplete_lock_file_is_rejected() {
    let whole = "language c\nsources a\nartifact b\n";
    assert!(ArtifactLock::parse(whole).is_some());
    for line in whole.lines() {
        assert_eq!(
            ArtifactLock::parse(&whole.replace(&format!("{line}\n"), "")),
            None,
            "{line}"
        );
    }
    assert_eq!(
        ArtifactLock::parse(&whole.replace("language c", "language cobol")),
        None
    );
}
