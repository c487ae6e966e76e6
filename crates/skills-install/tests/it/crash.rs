//! A process that is killed at any step of a change leaves the old or the new state.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use skills_install::{InstallError, InstallErrorKind, LocalEdits, Store};
use skills_test_support::copy_directory;

use crate::fixture::{Fixture, fetcher, words};

/// The variables with what the child does, the step before which it ends, and its directory.
const OPERATION: &str = "SKILLS_INSTALL_TEST_OPERATION";
const STEP: &str = "SKILLS_INSTALL_TEST_STEP";
const DIRECTORY: &str = "SKILLS_INSTALL_TEST_DIRECTORY";
/// Skills of the old and of the new state.
const SKILLS: usize = 8;

/// Runs in a child process: performs an operation, and kills itself before a step.
#[test]
fn child_of_the_tests_below() {
    let variables = [OPERATION, STEP, DIRECTORY].map(std::env::var);
    let [Ok(operation), Ok(step), Ok(directory)] = variables else {
        return;
    };
    let directory = Path::new(&directory);
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
    let (source, edits) = match operation.as_str() {
        "open" => return,
        "update" => ("./new", LocalEdits::Refuse),
        "restore" => ("./old", LocalEdits::Theirs),
        _ => {
            let names: Vec<String> = store.lock_file().skills().keys().cloned().collect();
            return store.remove(&names, LocalEdits::Refuse).unwrap();
        }
    };
    let spec: skills_install::SourceSpec = source.parse().unwrap();
    let spec = spec.resolved_at(directory);
    let plan = store
        .plan_add(&fetcher(), &spec, &[], edits, &words)
        .unwrap();
    store.apply(plan).unwrap();
}

/// Runs the child, which kills itself before a step.
fn run_child(fixture: &Fixture, operation: &str, step: usize) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_of_the_tests_below", "--quiet"])
        .env(OPERATION, operation)
        .env(STEP, step.to_string())
        .env(DIRECTORY, fixture.path(""))
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap()
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
        let status = run_child(&fixture, "update", killed);
        let after = state(&fixture);
        if status.success() {
            assert!(after.iter().any(|text| text == "new"));
            break;
        }
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
        assert_eq!(left_of_changes(&fixture), [""; 0]);
        killed += 1;
    }
    assert!(
        seen_old >= SKILLS && seen_new >= SKILLS,
        "{seen_old} {seen_new}"
    );
}

/// Returns the names in the install directory of changes and what is left of them.
fn left_of_changes(fixture: &Fixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.path("skills/.skills-install")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lock").collect()
}

/// Installs edited skills, and kills an operation on them at each step. Returns the contents that the
/// next command found: of all skills the same one.
fn kill_at_each_step(operation: &str) -> Vec<String> {
    let mut found = Vec::new();
    for step in 0.. {
        let fixture = Fixture::new();
        for index in 0..SKILLS {
            fixture.skill(&format!("old/s{index}"), "");
            fixture.file(&format!("old/s{index}/notes.md"), "old");
        }
        fixture.add("./old").unwrap();
        if operation == "restore" {
            for index in 0..SKILLS {
                fixture.file(&format!("skills/s{index}/notes.md"), "edited");
            }
        }
        let status = run_child(&fixture, operation, step);
        // Before the next command, no skill of the lock file is in a change alone.
        let states = fixture.states();
        assert!(
            !states.iter().any(|state| state.ends_with("missing")),
            "{states:?}"
        );
        let after = state(&fixture);
        let texts = &after[after.len() - SKILLS - 1..][..SKILLS];
        assert!(
            texts.iter().all(|text| *text == texts[0]),
            "step {step}: {after:?}"
        );
        let locked = fixture.store().lock_file().skills().len();
        assert_eq!(
            locked,
            if texts[0].is_empty() { 0 } else { SKILLS },
            "step {step}"
        );
        assert_eq!(left_of_changes(&fixture), [""; 0], "step {step}");
        found.push(texts[0].clone());
        if status.success() {
            return found;
        }
        assert_eq!(status.signal(), Some(9), "step {step}");
    }
    found
}

#[test]
fn a_removal_killed_at_any_step_removes_all_skills_or_none() {
    let mut found = kill_at_each_step("remove");
    assert!(found.iter().filter(|text| text.is_empty()).count() > SKILLS);
    found.dedup();
    assert_eq!(found, ["old", ""]);
}

#[test]
fn a_restoration_killed_at_any_step_replaces_all_edited_skills_or_none() {
    let mut found = kill_at_each_step("restore");
    let edited = found.iter().filter(|text| *text == "edited").count();
    assert!(edited > SKILLS && found.len() - edited > SKILLS);
    found.dedup();
    assert_eq!(found, ["edited", "old"]);
}

/// Kills the child at the first step at which `is_reached` is true.
fn kill_when(fixture: &Fixture, operation: &str, is_reached: impl Fn() -> bool) {
    let is_killed = (0..100).any(|step: usize| {
        run_child(fixture, operation, step);
        is_reached()
    });
    assert!(is_killed, "it was not killed there");
}

/// Returns the directory of a change.
fn interrupted(skills: &Path) -> PathBuf {
    let entries = fs::read_dir(skills.join(".skills-install/change")).unwrap();
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
    kill_when(&fixture, "update", || {
        fs::read_to_string(&lock_file).unwrap().contains("MIT")
    });
    assert!(
        interrupted(&fixture.path("skills"))
            .join("new/s1/SKILL.md")
            .exists()
    );
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
    let new = interrupted(&fixture.path("skills")).join("new");
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
    let old = interrupted(&fixture.path("skills")).join("old/s1");
    fs::rename(fixture.path("skills/s1"), &old).unwrap();
    fs::remove_dir_all(interrupted(&fixture.path("skills")).join("new/s1")).unwrap();
    drop(fixture.store());
    assert!(fixture.path("skills/s1/edited.md").exists());
}

/// Where two directories cannot be exchanged: between the two renames.
#[test]
fn a_skill_whose_old_files_were_set_aside_is_completed() {
    let fixture = with_interrupted_change();
    let change = interrupted(&fixture.path("skills"));
    fs::rename(fixture.path("skills/s1"), change.join("old/s1")).unwrap();
    assert!(Store::has_unfinished_change(&fixture.path("skills")));
    drop(fixture.store());
    assert_eq!(fixture.states(), ["s1 unchanged"]);
    assert!(fixture.read("skills/s1/SKILL.md").contains("MIT"));
    assert_eq!(left_of_changes(&fixture), [""; 0]);
}

#[test]
fn a_recovery_killed_at_any_step_is_completed() {
    for is_set_aside in [false, true] {
        for step in 0.. {
            let fixture = with_interrupted_change();
            if is_set_aside {
                let old = interrupted(&fixture.path("skills")).join("old/s1");
                fs::rename(fixture.path("skills/s1"), old).unwrap();
            }
            let status = run_child(&fixture, "open", step);
            drop(fixture.store());
            assert_eq!(fixture.states(), ["s1 unchanged"], "step {step}");
            assert!(fixture.read("skills/s1/SKILL.md").contains("MIT"));
            assert_eq!(left_of_changes(&fixture), [""; 0]);
            if status.success() {
                assert!(step >= 3, "step {step}");
                break;
            }
        }
    }
}

/// Updates a skill, and calls `act` before each step after the lock file was replaced, with the
/// number of these steps from 0 and the directory of skills.
fn update_with(
    fixture: &Fixture,
    mut act: impl FnMut(usize, &Path) + Send + Sync + 'static,
) -> (Store, Result<(), InstallError>) {
    fixture
        .skill("old/s1", "")
        .skill("new/s1", "license: MIT\n");
    fixture.add("./old").unwrap();
    let skills = fixture.path("skills");
    let observed = skills.clone();
    let mut step = 0;
    let observer = move || {
        let lock_file = fs::read_to_string(observed.join("skills.lock")).unwrap();
        if lock_file.contains("MIT") {
            act(step, &observed);
            step += 1;
        }
    };
    let mut store = Store::open_with_observer(&skills, Box::new(observer)).unwrap();
    let spec = fixture.spec("./new");
    let plan = store
        .plan_add(&fetcher(), &spec, &[], LocalEdits::Refuse, &words)
        .unwrap();
    let result = store.apply(plan);
    (store, result)
}

/// An exchange fails without the new directory, which the rename after it finds again.
#[test]
fn a_skill_that_cannot_be_exchanged_is_replaced_by_two_renames() {
    let fixture = Fixture::new();
    let aside = fixture.path("aside");
    let (store, result) = update_with(&fixture, move |step, skills| match step {
        0 => fs::rename(new_skill(skills), &aside).unwrap(),
        1 => fs::rename(&aside, new_skill(skills)).unwrap(),
        2 => assert!(!skills.join("s1").exists()),
        _ => {}
    });
    result.unwrap();
    drop(store);
    assert_eq!(fixture.states(), ["s1 unchanged"]);
    assert!(fixture.read("skills/s1/SKILL.md").contains("MIT"));
    assert_eq!(left_of_changes(&fixture), [""; 0]);
}

/// Returns the path of the new skill in the directory of a change.
fn new_skill(skills: &Path) -> PathBuf {
    interrupted(skills).join("new/s1")
}

#[test]
fn a_failure_after_the_lock_file_was_replaced_is_recovered() {
    let fixture = Fixture::new();
    let aside = fixture.path("aside");
    let (mut store, result) = update_with(&fixture, move |step, skills| match step {
        0 => fs::rename(new_skill(skills), &aside).unwrap(),
        2 => {
            fs::rename(&aside, new_skill(skills)).unwrap();
            // The rename to it fails.
            fs::create_dir_all(skills.join("s1/other")).unwrap();
        }
        _ => {}
    });
    result.unwrap();
    assert_eq!(fixture.states(), ["s1 unchanged"]);
    assert!(fixture.read("skills/s1/SKILL.md").contains("MIT"));
    store
        .remove(&["s1".to_owned()], LocalEdits::Refuse)
        .unwrap();
    assert!(!fixture.path("skills/s1").exists());
}

#[test]
fn a_change_that_cannot_be_completed_is_an_error_with_the_new_lock_file() {
    let fixture = Fixture::new();
    let (store, result) = update_with(&fixture, |step, skills| {
        if step == 0 {
            fs::remove_dir_all(new_skill(skills)).unwrap();
        }
    });
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("cannot complete a change of"), "{error}");
    assert!(store.lock_file().render().unwrap().contains("MIT"));
    assert_eq!(fixture.states(), ["s1 changed"]);
    assert!(!Store::has_unfinished_change(&fixture.path("skills")));
}

#[test]
fn a_change_whose_leftovers_cannot_be_removed_has_ended() {
    let fixture = Fixture::new();
    let aside = fixture.path("aside");
    let (mut store, result) = update_with(&fixture, move |_, skills| {
        let ended = skills.join(".skills-install/ended-0");
        // A directory that cannot be removed as root.
        if ended.is_dir() {
            fs::rename(&ended, &aside).unwrap();
            fs::write(ended, "").unwrap();
        }
    });
    result.unwrap();
    assert!(fixture.path("aside").exists());
    assert!(!Store::has_unfinished_change(&fixture.path("skills")));
    assert_eq!(fixture.states(), ["s1 unchanged"]);
    store
        .remove(&["s1".to_owned()], LocalEdits::Refuse)
        .unwrap();
    drop(store);
    drop(fixture.store());
    assert_eq!(left_of_changes(&fixture), ["ended-0"]);
}

/// A copy of the directory may be all that is left of it, as after a backup was restored.
#[test]
fn a_skill_that_was_set_aside_is_not_lost_in_a_copy() {
    let is_reached = (0..100).any(|step| {
        let fixture = Fixture::new();
        fixture.skill("old/s1", "");
        fixture.add("./old").unwrap();
        run_child(&fixture, "remove", step);
        let skills = fixture.path("skills");
        if skills.join("s1").exists() || !skills.join(".skills-install/change").exists() {
            return false;
        }
        let clone = Fixture::new();
        copy_directory(&skills, &clone.path("skills"));
        let error = Store::open(&clone.path("skills")).err().unwrap();
        assert_eq!(error.kind(), InstallErrorKind::Conflict);
        let old = interrupted(&clone.path("skills")).join("old");
        assert!(
            error.to_string().contains(&old.display().to_string()),
            "{error}"
        );
        assert!(old.join("s1/SKILL.md").exists());
        true
    });
    assert!(is_reached);
}
