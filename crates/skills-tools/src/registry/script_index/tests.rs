use std::time::{Duration, Instant};

use super::*;
use crate::DefaultScriptState;
use crate::catalog_cache::tests::Fixture;

/// Nothing takes this long but a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn finder(hill: &Fixture) -> ScriptScanner {
    let terms = RegistryOptions {
        default_script_state: DefaultScriptState::default(),
        missing_env: MissingEnv::default(),
    };
    ScriptScanner::new(hill.runtime(), Arc::clone(&hill.looks), terms)
}

/// Looks until a look gives the same scripts again: what was written in this very moment counts as
/// changed.
fn settled(finder: &ScriptScanner, hill: &Fixture) -> Arc<ScriptIndex> {
    let end = Instant::now() + PATIENCE;
    loop {
        let first = finder.index(&hill.looks.catalog());
        let second = finder.index(&hill.looks.catalog());
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
    let hill = Fixture::new();
    hill.skill("a");
    hill.watch();
    let finder = finder(&hill);
    let scripts = || finder.index(&hill.looks.catalog()).scripts.len();
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
    let hill = Fixture::new();
    hill.skill("a");
    std::fs::create_dir(hill.path().join("b")).unwrap();
    hill.file("b/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    hill.file("b/scripts", "a file");
    let finder = finder(&hill);
    let known = settled(&finder, &hill);
    assert_eq!(
        (known.scripts.len(), known.uncacheable.len()),
        (1, 1),
        "{:?}",
        known.warnings
    );
    assert!(
        known
            .warnings
            .iter()
            .any(|note| note.contains("scripts of the skill b cannot be listed")),
        "{:?}",
        known.warnings
    );
    assert!(Arc::ptr_eq(&known, &finder.index(&hill.looks.catalog())));
    std::fs::remove_file(hill.path().join("b/scripts")).unwrap();
    std::fs::create_dir(hill.path().join("b/scripts")).unwrap();
    hill.file("b/scripts/x.py", "");
    assert_eq!(finder.index(&hill.looks.catalog()).scripts.len(), 2);
}
