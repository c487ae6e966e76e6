//! What `verify`, `list` and `show` say about locked skills that are missing, unlocked or half changed.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;
use skills_install::{Fetcher, GitOptions, LocalEdits, Store};

use crate::fixture::Fixture;
use crate::skills::Done;

/// A project with the locked skills `notes` and `pdf`.
fn locked() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/notes", "notes")
        .skill("source/pdf", "pdf")
        .file("source/pdf/scripts/main.sh", "echo filled\n");
    let added = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    fixture.run("project", arguments)
}

fn trusted(fixture: &Fixture, arguments: &[&str]) -> Done {
    run(fixture, &[&["--trust-project"], arguments].concat())
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap()
}

fn installed(fixture: &Fixture, below: &str) -> PathBuf {
    fixture.path().join("project/.agents/skills").join(below)
}

#[test]
fn only_skills_that_were_compared_are_counted_as_verified() {
    let fixture = locked();
    let verify = ["verify", "--in", "./.agents/skills"];
    assert_eq!(run(&fixture, &verify).stderr, "verified 2 skills\n");

    fixture.skill("project/.agents/skills/own", "own");
    let done = run(&fixture, &verify);
    assert_eq!(done.code, 0);
    assert_eq!(done.stderr, "verified 2 skills, 1 unlocked\n");

    fs::remove_file(installed(&fixture, "skills.lock")).unwrap();
    fixture.file("project/.agents/skills/pdf/scripts/main.sh", "echo other\n");
    let done = run(&fixture, &verify);
    assert_eq!(done.code, 0);
    assert_eq!(done.stderr, "verified 0 skills, 3 unlocked\n");
    let document = json(&run(
        &fixture,
        &["verify", "--in", "./.agents/skills", "--json"],
    ));
    assert_eq!(document["verified"], 0);
    assert_eq!(document["unlocked"], 3);
    assert_eq!(document["skills"].as_array().unwrap().len(), 3);
}

#[test]
fn a_locked_skill_that_is_missing_is_listed_and_explained() {
    let fixture = locked();
    fs::remove_dir_all(installed(&fixture, "pdf")).unwrap();
    let listed = trusted(&fixture, &["list", "--long"]);
    assert_snapshot!(listed.stderr, @"
    1 read, 1 not read: 1 locked, but missing
    help: install missing locked skills again with `skills add --trust-project`
    skipped PLACE/project/.agents/skills/pdf: locked, but missing
    ");
    let document = json(&trusted(&fixture, &["list", "--json"]));
    let skipped = document["skipped"].as_array().unwrap();
    assert!(skipped.iter().any(|one| one["code"] == "locked-missing"));
    let why = trusted(&fixture, &["show", "--why", "pdf"]);
    assert_eq!(why.code, 1);
    assert_snapshot!(format!("{}{}", why.stdout, why.stderr), @"
    skipped
    skipped PLACE/project/.agents/skills/pdf: locked, but missing
    help: install missing locked skills again with `skills add --trust-project`
    ");
    let done = trusted(&fixture, &["run", "pdf"]);
    assert_snapshot!(done.stderr, @"
    error: skill `pdf` not found: skipped PLACE/project/.agents/skills/pdf: locked, but missing
    help: install missing locked skills again with `skills add --trust-project`
    ");
    assert_eq!(run(&fixture, &["add", "--yes"]).code, 0);
    assert_eq!(trusted(&fixture, &["list"]).stderr, "");
}

/// Updates the skills, and stops when the lock file was replaced.
fn interrupt_update(fixture: &Fixture) {
    let root = installed(fixture, "");
    let lock_file = root.join("skills.lock");
    let before = fs::read(&lock_file).unwrap();
    let observer = move || {
        assert_eq!(fs::read(&lock_file).unwrap(), before, "interrupted");
    };
    let update = || {
        let mut store = Store::open_with_observer(&root, Box::new(observer)).unwrap();
        let fetcher = Fetcher::new(GitOptions::new("git"));
        let plan = store.plan_update_all(&fetcher, &[], LocalEdits::Refuse, &|_, _| None);
        store.apply(plan.unwrap()).unwrap();
    };
    catch_unwind(AssertUnwindSafe(update)).unwrap_err();
}

#[test]
fn an_interrupted_change_is_not_reported_as_an_edit() {
    let fixture = locked();
    fixture
        .file("source/notes/new.md", "new")
        .file("source/pdf/new.md", "new");
    interrupt_update(&fixture);
    let done = run(&fixture, &["verify"]);
    assert_eq!(done.code, 1);
    assert!(
        done.stdout
            .starts_with("changed  PLACE/project/.agents/skills/notes")
    );
    assert_snapshot!(done.stderr, @"
    an interrupted change of `PLACE/project/.agents/skills` is unfinished
    help: the next command that changes these skills, such as `skills add`, completes the change
    ");
    let document = json(&run(&fixture, &["verify", "--json"]));
    assert_eq!(document["unfinished"].as_array().unwrap().len(), 1);
    let why = trusted(&fixture, &["show", "--why", "notes"]);
    assert_snapshot!(why.stderr, @"
    an interrupted change of `PLACE/project/.agents/skills` is unfinished
    help: the next command that changes these skills, such as `skills add --trust-project`, completes the change
    ");
    let done = trusted(&fixture, &["run", "notes"]);
    assert!(done.stderr.contains("is unfinished"), "{}", done.stderr);
    let planned = run(&fixture, &["add", "../source", "--dry-run"]);
    assert_snapshot!(planned.stderr, @"
    error: cannot compare the skills in `PLACE/project/.agents/skills`: an interrupted change of them is unfinished
    help: the next command that changes these skills, such as `skills add`, completes it
    ");

    assert_eq!(run(&fixture, &["add", "--yes"]).code, 0);
    assert_eq!(run(&fixture, &["verify"]).stderr, "verified 2 skills\n");
    assert!(installed(&fixture, "pdf/new.md").exists());
}
