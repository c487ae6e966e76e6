//! A process that is killed at any step of a change leaves the old or the new state.

use std::fs;
use std::process::Command;

use skills_install::{InstallErrorKind, LocalEdits, Store};
use skills_test_support::copy_directory;

use crate::fixture::{Fixture, fetcher, words};

/// The variable with the step before which the child ends, and the directory it works in.
const STEP: &str = "SKILLS_INSTALL_TEST_STEP";
const DIRECTORY: &str = "SKILLS_INSTALL_TEST_DIRECTORY";
/// Skills of the old and of the new state.
const SKILLS: usize = 8;

/// Runs in a child process: replaces all skills, and kills itself before a step.
#[test]
fn child_of_the_test_below() {
    let (Ok(step), Ok(directory)) = (std::env::var(STEP), std::env::var(DIRECTORY)) else {
        return;
    };
    let directory = std::path::Path::new(&directory);
    let mut left: usize = step.parse().unwrap();
    let observer = move || {
        if left == 0 {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
        left -= 1;
    };
    let mut store =
        Store::open_with_observer(&directory.join("skills"), Box::new(observer)).unwrap();
    let spec: skills_install::SourceSpec = "./new".parse().unwrap();
    let spec = spec.resolved_at(directory);
    let plan = store
        .plan_add(&fetcher(), &spec, &[], LocalEdits::Refuse, &words)
        .unwrap();
    store.apply(plan).unwrap();
}

/// Returns the content of each installed skill, after the next command has started.
fn state(fixture: &Fixture) -> Vec<String> {
    drop(fixture.store());
    let mut state = fixture.states();
    for index in 0..=SKILLS {
        let path = fixture.path(&format!("skills/s{index}/notes.md"));
        state.push(std::fs::read_to_string(path).unwrap_or_default());
    }
    state
}

#[test]
fn a_process_killed_at_any_step_leaves_the_old_or_the_new_state() {
    let mut killed = 0;
    let mut seen_old = 0;
    let mut seen_new = 0;
    loop {
        let fixture = Fixture::new();
        for index in 0..SKILLS {
            fixture.skill(&format!("old/s{index}"), "");
            fixture.file(&format!("old/s{index}/notes.md"), "old");
        }
        for index in 1..=SKILLS {
            fixture.skill(&format!("new/s{index}"), "");
            fixture.file(&format!("new/s{index}/notes.md"), "new");
        }
        fixture.add("./old").unwrap();
        let old = state(&fixture);
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_of_the_test_below", "--quiet"])
            .env(STEP, killed.to_string())
            .env(DIRECTORY, fixture.path(""))
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        let after = state(&fixture);
        if status.success() {
            assert!(after.iter().any(|text| text == "new"));
            break;
        }
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(status.signal(), Some(9), "step {killed}");
        let is_new = after.contains(&"new".to_owned());
        if is_new {
            let expected: Vec<String> = (0..=SKILLS)
                .map(|index| if index == 0 { "old" } else { "new" }.to_owned())
                .collect();
            assert_eq!(after[after.len() - SKILLS - 1..], expected, "step {killed}");
            assert!(
                after[..SKILLS + 1]
                    .iter()
                    .all(|state| state.ends_with(" unchanged"))
            );
            seen_new += 1;
        } else {
            assert_eq!(after, old, "step {killed}");
            seen_old += 1;
        }
        assert!(!fixture.path("skills/.skills-install/change").exists());
        killed += 1;
    }
    assert!(seen_old >= 5 && seen_new >= 15, "{seen_old} {seen_new}");
}

#[test]
fn a_change_is_completed_only_where_it_was_made() {
    let fixture = Fixture::new();
    fixture
        .skill("old/s1", "")
        .skill("new/s1", "license: MIT\n");
    fixture.add("./old").unwrap();
    let journal = fixture.path("skills/.skills-install/change/journal");
    for step in 0.. {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_of_the_test_below", "--quiet"])
            .env(STEP, step.to_string())
            .env(DIRECTORY, fixture.path(""))
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        if journal.exists() {
            break;
        }
        assert!(step < 100);
    }
    let staged = "skills/.skills-install/change/new/tree/s1/SKILL.md";
    assert!(fixture.path(staged).exists());
    let clone = Fixture::new();
    copy_directory(&fixture.path("skills"), &clone.path("skills"));
    let before = clone.read("skills/s1/SKILL.md");
    let problem = |fixture: &Fixture| {
        let error = Store::open(&fixture.path("skills")).err().unwrap();
        assert_eq!(error.kind(), InstallErrorKind::Conflict, "{error}");
        error.to_string()
    };
    assert!(problem(&clone).ends_with("it was made in another directory"));

    // Nothing is completed to plan only.
    let temporary = clone.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let store = Store::open_read_only(&clone.path("skills"), &temporary).unwrap();
    assert_eq!(store.lock_file().skills()["s1"].license(), None);
    drop(store);
    assert_eq!(clone.read("skills/s1/SKILL.md"), before);
    assert!(clone.path(staged).exists());

    let text = fixture.read(staged);
    fixture.file(staged, format!("{text}More.\n"));
    assert!(problem(&fixture).ends_with("its skills are not those of its lock file"));
    fixture.file(staged, text);
    let store = fixture.store();
    assert_eq!(store.lock_file().skills()["s1"].license(), Some("MIT"));
    drop(store);
    assert_eq!(fixture.states(), ["s1 unchanged"]);
}

/// As one that another version of this program has left, or that a program of the project has
/// written.
#[test]
fn a_journal_that_is_not_understood_is_a_conflict() {
    let names = r#"{"install": {"../s1": "tree/s1"}, "remove": []}"#;
    let paths = r#"{"install": {"s1": "../../other"}, "remove": []}"#;
    let other = r#"{"install": ["s1"], "remove": []}"#;
    let not_text: &[u8] = b"\xff";
    let texts = [other, "", names, paths].map(str::as_bytes);
    for text in texts.into_iter().chain([not_text]) {
        let fixture = Fixture::new();
        fixture.skill("old/s1", "");
        fixture.add("./old").unwrap();
        fixture.file("skills/.skills-install/change/journal", text);
        let error = Store::open(&fixture.path("skills")).err().unwrap();
        assert_eq!(
            error.kind(),
            InstallErrorKind::Conflict,
            "{text:?}: {error}"
        );
        assert!(error.help().unwrap().contains("remove that directory"));
        assert_eq!(fixture.states(), ["s1 unchanged"]);
    }
}
