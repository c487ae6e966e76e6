//! A process that is killed at any step of a change leaves the old or the new state.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use skills_install::{LocalEdits, Store};
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
    assert!(
        seen_old >= SKILLS && seen_new >= SKILLS,
        "{seen_old} {seen_new}"
    );
}

/// Kills the child at the first step at which `is_reached` is true.
fn kill_when(fixture: &Fixture, is_reached: impl Fn() -> bool) {
    let is_killed = (0..100).any(|step: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_of_the_test_below", "--quiet"])
            .env(STEP, step.to_string())
            .env(DIRECTORY, fixture.path(""))
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        is_reached()
    });
    assert!(is_killed, "it was not killed there");
}

/// Returns the directory of a change that was interrupted.
fn interrupted(fixture: &Fixture) -> PathBuf {
    let change = fixture.path("skills/.skills-install/change");
    let entries = fs::read_dir(&change).unwrap();
    let mut directories = entries.map(|entry| entry.unwrap().path());
    directories.find(|path| path.is_dir()).unwrap()
}

fn with_interrupted_change() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("old/s1", "")
        .skill("new/s1", "license: MIT\n");
    fixture.add("./old").unwrap();
    let lock_file = fixture.path("skills/skills.lock");
    kill_when(&fixture, || {
        fs::read_to_string(&lock_file).unwrap().contains("MIT")
    });
    assert!(interrupted(&fixture).join("new/s1/SKILL.md").exists());
    fixture
}

#[test]
fn a_change_is_completed_only_where_it_was_made() {
    let fixture = with_interrupted_change();
    let clone = Fixture::new();
    copy_directory(&fixture.path("skills"), &clone.path("skills"));
    let before = clone.read("skills/s1/SKILL.md");
    assert!(!Store::has_unfinished_change(&clone.path("skills")));
    // Nothing is removed to plan only.
    let temporary = clone.path("temporary");
    fs::create_dir(&temporary).unwrap();
    drop(Store::open_read_only(&clone.path("skills"), &temporary).unwrap());
    assert!(clone.path("skills/.skills-install/change").exists());
    drop(clone.store());
    assert_eq!(clone.read("skills/s1/SKILL.md"), before);
    assert!(!clone.path("skills/.skills-install/change").exists());
    assert_eq!(clone.states(), ["s1 changed"]);

    assert!(Store::has_unfinished_change(&fixture.path("skills")));
    drop(fixture.store());
    assert!(!Store::has_unfinished_change(&fixture.path("skills")));
    assert_eq!(fixture.states(), ["s1 unchanged"]);
    assert!(fixture.read("skills/s1/SKILL.md").contains("MIT"));
}

/// A program of the project may have written them.
#[test]
fn only_files_of_the_lock_file_are_put_in_place() {
    let fixture = with_interrupted_change();
    let new = interrupted(&fixture).join("new");
    let text = fs::read_to_string(new.join("s1/SKILL.md")).unwrap();
    fs::write(new.join("s1/SKILL.md"), format!("{text}More.\n")).unwrap();
    copy_directory(&fixture.path("new/s1"), &new.join("s2"));
    fixture.fifo("skills/.skills-install/change/fifo");
    drop(fixture.store());
    assert_eq!(fixture.states(), ["s1 changed"]);
    assert!(!fixture.read("skills/s1/SKILL.md").contains("MIT"));
    assert!(!fixture.path("skills/.skills-install/change").exists());
}

/// Where two directories cannot be exchanged, and before the lock file is replaced.
#[test]
fn a_skill_that_was_set_aside_goes_back() {
    let fixture = with_interrupted_change();
    fixture.file("skills/s1/edited.md", "");
    let old = interrupted(&fixture).join("old/s1");
    fs::rename(fixture.path("skills/s1"), &old).unwrap();
    fs::remove_dir_all(interrupted(&fixture).join("new/s1")).unwrap();
    drop(fixture.store());
    assert!(fixture.path("skills/s1/edited.md").exists());
}
