use std::time::{Duration, Instant};

use super::*;
use crate::DefaultScriptState;
use crate::catalog_cache::tests::Fixture;

/// Fails a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

fn finder(fixture: &Fixture) -> ScriptScanner {
    let terms = RegistryOptions {
        default_script_state: DefaultScriptState::default(),
        missing_env: MissingEnv::default(),
    };
    ScriptScanner::new(fixture.runtime(), Arc::clone(&fixture.looks), terms)
}

/// Scans until the result is stable: files that were just written count as changed.
fn settled(finder: &ScriptScanner, fixture: &Fixture) -> Arc<ScriptIndex> {
    let end = Instant::now() + TIMEOUT;
    loop {
        let first = finder.index(&fixture.looks.catalog());
        let second = finder.index(&fixture.looks.catalog());
        if Arc::ptr_eq(&first, &second) {
            return second;
        }
        assert!(Instant::now() < end, "the scripts are scanned on each call");
    }
}

#[test]
fn new_scripts_are_seen_within_a_second_or_after_an_event() {
    let fixture = Fixture::new();
    fixture.skill("a");
    fixture.watch();
    let finder = finder(&fixture);
    let scripts = || finder.index(&fixture.looks.catalog()).scripts.len();
    assert_eq!(scripts(), 1);
    fixture.file("a/scripts/b.py", "");
    fixture.pass(999);
    assert_eq!(scripts(), 1);
    fixture.pass(1);
    assert_eq!(scripts(), 2);
    fixture.file("a/scripts/c.py", "");
    assert_eq!(scripts(), 2);
    fixture.happen();
    assert_eq!(scripts(), 3);
}

#[test]
fn a_skill_whose_scripts_cannot_be_listed_does_not_spoil_the_others() {
    let fixture = Fixture::new();
    fixture.skill("a");
    std::fs::create_dir(fixture.path().join("b")).unwrap();
    fixture.file("b/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    fixture.file("b/scripts", "a file");
    let finder = finder(&fixture);
    let known = settled(&finder, &fixture);
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
            .any(|note| note.contains("skill `b`: cannot list its scripts")),
        "{:?}",
        known.warnings
    );
    assert!(Arc::ptr_eq(&known, &finder.index(&fixture.looks.catalog())));
    std::fs::remove_file(fixture.path().join("b/scripts")).unwrap();
    std::fs::create_dir(fixture.path().join("b/scripts")).unwrap();
    fixture.file("b/scripts/x.py", "");
    assert_eq!(finder.index(&fixture.looks.catalog()).scripts.len(), 2);
}
