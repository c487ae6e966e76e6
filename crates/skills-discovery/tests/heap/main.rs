//! The memory of a catalog: at most 2 KiB per skill in addition to its strings, before and after
//! its fields are parsed.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

use std::alloc::System;

use cap::Cap;
use skills_discovery::{Discovery, Entry, Root, Scope};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const SKILLS: usize = 1_000;
const MAX_BYTES: usize = 2 * 1024;

#[test]
fn a_catalog_entry_uses_at_most_2_kib_plus_its_strings() {
    let tree = tempfile::tempdir().unwrap();
    for index in 0..SKILLS {
        let directory = tree.path().join(format!("skill-{index:05}"));
        std::fs::create_dir(&directory).unwrap();
        let head = format!(
            "---\nname: skill-{index:05}\ndescription: {}\nlicense: MIT\nallowed-tools: Read, Bash(git:*)\nmetadata:\n  author: someone\n---\n",
            "Does what it is asked for. ".repeat(10)
        );
        std::fs::write(
            directory.join("SKILL.md"),
            format!("{head}{}", "Line of the body.\n".repeat(230)),
        )
        .unwrap();
    }
    let discovery = Discovery::new([Root::new(tree.path(), Scope::Repo)]).threads(2);
    // The first scan allocates what all later ones share.
    drop(discovery.scan());
    let before = ALLOCATOR.allocated();
    let catalog = discovery.scan();
    assert_eq!(catalog.entries().len(), SKILLS);
    // The head of the file is kept as one string until its fields are parsed.
    let head = |entry: &Entry| entry.stamp().bytes() as usize - 230 * "Line of the body.\n".len();
    let kept = |entry: &Entry| {
        head(entry) + entry.directory().as_os_str().len() + entry.name().as_str().len()
    };
    let strings: usize = catalog.entries().iter().map(kept).sum();
    let lazy = (ALLOCATOR.allocated() - before - strings) / SKILLS;
    // After parsing, the text is in memory twice.
    catalog
        .entries()
        .iter()
        .for_each(|entry| assert!(entry.warnings().is_empty()));
    let fields: usize = catalog.entries().iter().map(head).sum();
    let parsed = (ALLOCATOR.allocated() - before - strings - fields) / SKILLS;
    eprintln!("{lazy} bytes per skill without its strings, {parsed} with parsed fields");
    assert!(
        lazy <= MAX_BYTES && parsed <= MAX_BYTES,
        "{lazy} and {parsed} bytes per skill"
    );
}
