use std::time::{Duration, Instant};

use super::*;
use crate::DefaultScriptState;
use crate::catalog_cache::tests::Fixture;

/// Fails a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

fn scanner(fixture: &Fixture) -> ScriptScanner {
    let options = RegistryOptions {
        default_script_state: DefaultScriptState::default(),
        missing_env: MissingEnv::default(),
    };
    ScriptScanner::new(fixture.runtime(), Arc::clone(&fixture.cache), options)
}

/// Scans until the result is stable: files that were just written count as changed.
fn settled(scanner: &ScriptScanner, fixture: &Fixture) -> Arc<ScriptIndex> {
    let end = Instant::now() + TIMEOUT;
    loop {
        let first = scanner.index(&fixture.cache.catalog());
        let second = scanner.index(&fixture.cache.catalog());
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
    fixture.register_watcher();
    let scanner = scanner(&fixture);
    let scripts = || scanner.index(&fixture.cache.catalog()).scripts.len();
    assert_eq!(scripts(), 1);
    fixture.file("a/scripts/b.py", "");
    fixture.advance_clock(999);
    assert_eq!(scripts(), 1);
    fixture.advance_clock(1);
    assert_eq!(scripts(), 2);
    fixture.file("a/scripts/c.py", "");
    assert_eq!(scripts(), 2);
    fixture.report_event();
    assert_eq!(scripts(), 3);
}

#[test]
fn a_skill_whose_scripts_cannot_be_listed_does_not_affect_others() {
    let fixture = Fixture::new();
    fixture.skill("a");
    std::fs::create_dir(fixture.path().join("b")).unwrap();
    fixture.file("b/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    fixture.file("b/scripts", "a file");
    let scanner = scanner(&fixture);
    let known = settled(&scanner, &fixture);
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
    assert!(Arc::ptr_eq(
        &known,
        &scanner.index(&fixture.cache.catalog())
    ));
    std::fs::remove_file(fixture.path().join("b/scripts")).unwrap();
    std::fs::create_dir(fixture.path().join("b/scripts")).unwrap();
    fixture.file("b/scripts/x.py", "");
    assert_eq!(scanner.index(&fixture.cache.catalog()).scripts.len(), 2);
}
