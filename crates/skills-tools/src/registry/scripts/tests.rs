use std::time::{Duration, Instant};

use super::*;
use crate::NewScripts;
use crate::looks::tests::Hill;

/// Nothing takes this long but a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn finder(hill: &Hill) -> ScriptFinder {
    let terms = Terms {
        new_scripts: NewScripts::default(),
        missing_env: MissingEnv::default(),
    };
    ScriptFinder::new(hill.runtime(), Arc::clone(&hill.looks), terms)
}

/// Looks until a look gives the same scripts again: what was written in this very moment counts as
/// changed.
fn settled(finder: &ScriptFinder, hill: &Hill) -> Arc<Scripts> {
    let end = Instant::now() + PATIENCE;
    loop {
        let first = finder.of(&hill.looks.catalog());
        let second = finder.of(&hill.looks.catalog());
        if Arc::ptr_eq(&first, &second) {
            return second;
        }
        assert!(
            Instant::now() < end,
            "the scripts are found again at each look"
        );
    }
}

#[test]
fn new_scripts_are_seen_within_a_second_or_after_an_event() {
    let hill = Hill::new();
    hill.skill("a");
    hill.watch();
    let finder = finder(&hill);
    let scripts = || finder.of(&hill.looks.catalog()).all.len();
    assert_eq!(scripts(), 1);
    hill.file("a/scripts/b.py", "");
    hill.pass(999);
    assert_eq!(scripts(), 1);
    hill.pass(1);
    assert_eq!(scripts(), 2);
    hill.file("a/scripts/c.py", "");
    assert_eq!(scripts(), 2);
    hill.happen();
    assert_eq!(scripts(), 3);
}

#[test]
fn a_skill_whose_scripts_cannot_be_listed_does_not_spoil_the_others() {
    let hill = Hill::new();
    hill.skill("a");
    std::fs::create_dir(hill.path().join("b")).unwrap();
    hill.file("b/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    hill.file("b/scripts", "a file");
    let finder = finder(&hill);
    let known = settled(&finder, &hill);
    assert_eq!(
        (known.all.len(), known.unsure.len()),
        (1, 1),
        "{:?}",
        known.notes
    );
    assert!(
        known
            .notes
            .iter()
            .any(|note| note.contains("scripts of the skill b cannot be listed")),
        "{:?}",
        known.notes
    );
    assert!(Arc::ptr_eq(&known, &finder.of(&hill.looks.catalog())));
    std::fs::remove_file(hill.path().join("b/scripts")).unwrap();
    std::fs::create_dir(hill.path().join("b/scripts")).unwrap();
    hill.file("b/scripts/x.py", "");
    assert_eq!(finder.of(&hill.looks.catalog()).all.len(), 2);
}
