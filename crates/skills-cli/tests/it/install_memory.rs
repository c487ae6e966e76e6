//! Sources of skills that were removed.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::fixture::Fixture;
use crate::skills::Done;

/// A project, two sources with a skill of the same name, and the state of a user.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .file("other-project/.git/HEAD", "")
        .skill("source/notes", "notes")
        .skill("other/notes", "notes");
    fixture
}

fn run(fixture: &Fixture, project: &str, arguments: &[&str]) -> Done {
    fixture.run_with_state(project, arguments, &fixture.path().join("state"))
}

fn succeed(fixture: &Fixture, project: &str, arguments: &[&str]) {
    let done = run(fixture, project, arguments);
    assert_eq!(done.code, 0, "{arguments:?}: {}", done.stderr);
}

fn memory(fixture: &Fixture) -> std::path::PathBuf {
    fixture.path().join("state/skills/sources.json")
}

#[test]
fn a_removed_skill_does_not_return_from_another_source_without_a_person() {
    let fixture = fixture();
    let add_other = ["add", "../other/notes", "--yes"];
    succeed(&fixture, "project", &["add", "../source/notes", "--yes"]);
    succeed(&fixture, "project", &["remove", "notes"]);
    let refused = run(&fixture, "project", &add_other);
    assert_eq!(refused.code, 3);
    assert_snapshot!(refused.stderr, @"
    add `notes` from PLACE/other/notes
      1 file, 51 B, license: none stated, unsigned
      + SKILL.md
      ! source changed from `dir:PLACE/source/notes` to `dir:PLACE/other/notes`
    error: a person must review what changes in notes; `--yes` is not enough
    help: run the command in a terminal, where it asks
    ");
    // Also in another project.
    let refused = run(&fixture, "other-project", &add_other);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    // A dry run shows it, and remembers nothing.
    let shown = run(&fixture, "project", &["add", "../other/notes", "--dry-run"]);
    assert!(
        shown.stdout.contains("! source changed"),
        "{}",
        shown.stdout
    );
    assert_eq!(run(&fixture, "project", &add_other).code, 3);
    succeed(&fixture, "project", &["add", "../source/notes", "--yes"]);
}

/// The lock file of a cloned project has sources that its user never named.
#[test]
fn the_source_of_a_skill_that_was_not_added_here_is_remembered_when_it_is_removed() {
    let fixture = fixture();
    succeed(&fixture, "project", &["add", "../source/notes", "--yes"]);
    fs::remove_file(memory(&fixture)).unwrap();
    succeed(&fixture, "project", &["remove", "notes"]);
    let refused = run(&fixture, "project", &["add", "../other/notes", "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_source_to_which_a_person_agreed_is_known() {
    let fixture = fixture();
    succeed(&fixture, "project", &["add", "../source/notes", "--yes"]);
    succeed(&fixture, "project", &["remove", "notes"]);
    let scratch = tempfile::tempdir().unwrap();
    let mut command = crate::skills::command_with_state(
        &["add", "../other/notes"],
        scratch.path(),
        &fixture.path().join("state"),
    );
    command
        .current_dir(fixture.path().join("project"))
        .env("HOME", fixture.path().join("home"));
    let (code, shown) = crate::terminal::answered(command, "[y/N]", "y", || {});
    assert_eq!(code, 0, "{shown}");
    succeed(
        &fixture,
        "other-project",
        &["add", "../source/notes", "--yes"],
    );
    succeed(&fixture, "project", &["remove", "notes"]);
    succeed(&fixture, "project", &["add", "../other/notes", "--yes"]);
}

#[test]
fn a_memory_that_cannot_be_read_stops_the_installation() {
    let fixture = fixture();
    succeed(&fixture, "project", &["add", "../source/notes", "--yes"]);
    fs::write(memory(&fixture), "{\"version\": 2}").unwrap();
    let stopped = run(&fixture, "project", &["add", "../other/notes", "--yes"]);
    assert_eq!(stopped.code, 3);
    assert_snapshot!(stopped.stderr, @"
    error: cannot read the remembered sources in `PLACE/state/skills/sources.json`: version 2 is newer than this program
    help: remove the file to forget from where removed skills were installed
    ");
    assert!(fs::read_to_string(memory(&fixture)).unwrap().contains('2'));
    assert!(private(&memory(&fixture)));
}

#[cfg(unix)]
fn private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.metadata().unwrap().mode() & 0o77 == 0
}

#[cfg(not(unix))]
fn private(_path: &Path) -> bool {
    true
}
