//! The exit codes that `skills --help` lists.

use crate::fixture::Fixture;

#[track_caller]
fn check(fixture: &Fixture, arguments: &[&str], code: i32) {
    let done = fixture.run("", arguments);
    assert_eq!(done.code, code, "{arguments:?}: {}", done.page());
}

#[test]
fn a_missing_thing_is_not_a_usage_error() {
    let fixture = Fixture::new();
    for arguments in [
        &["show", "absent"][..],
        &["call", "absent"],
        &["validate", "absent"],
        &["audit", "tail", "--log", "absent"],
        &["audit", "verify", "--log", "absent"],
    ] {
        check(&fixture, arguments, 1);
    }
}

#[cfg(feature = "install")]
#[test]
fn a_file_that_cannot_be_parsed_is_invalid_input() {
    let fixture = Fixture::new();
    fixture.file("skills-lock.json", "{");
    let lock = ["lock", "--from", "skills-lock.json", "--to", "skills"];
    check(&fixture, &lock, 2);
}

/// Root can write to a directory that is read-only, so the directory cannot be created instead.
#[cfg(unix)]
#[test]
fn settings_that_cannot_be_written_are_a_failure() {
    let fixture = Fixture::new();
    fixture.file("home/.profile", "");
    let config = fixture.path().join("home/.config");
    std::os::unix::fs::symlink("absent/directory", config).unwrap();
    check(&fixture, &["config", "set", "memory-mib", "512"], 1);
}
