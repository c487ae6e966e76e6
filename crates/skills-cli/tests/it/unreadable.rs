//! Files and directories that the user of the command must not read.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::fixture::Fixture;
use crate::skills::{Done, binary, command_of};

/// A user and group without rights.
const UNPRIVILEGED_UID: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the command as a user other than root.
fn run_as_user(binary: &Path, fixture: &Fixture, arguments: &[&str]) -> Done {
    let own = tempfile::tempdir().unwrap();
    let mut command = command_of(binary, arguments, own.path(), &own.path().join("state"));
    command.current_dir(fixture.path());
    if nix::unistd::Uid::effective().is_root() {
        set_mode(&fixture.path(), 0o755);
        chown(own.path(), Some(UNPRIVILEGED_UID), Some(UNPRIVILEGED_UID)).unwrap();
        command.uid(UNPRIVILEGED_UID).gid(UNPRIVILEGED_UID);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(fixture.path().to_str().unwrap(), "PLACE")
    };
    Done {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// What cannot be read is neither missing nor empty.
#[test]
fn what_cannot_be_read_is_not_called_missing() {
    // Other users cannot start the command in a target directory below the home directory of root.
    let programs = tempfile::tempdir().unwrap();
    set_mode(programs.path(), 0o755);
    let program = programs.path().join("skills");
    std::fs::copy(binary(), &program).unwrap();
    let fixture = Fixture::new();
    fixture
        .skill("skills/closed", "closed")
        .skill("hidden/inner", "inner");
    let closed = [
        fixture.path().join("skills/closed"),
        fixture.path().join("hidden"),
    ];
    for path in &closed {
        set_mode(path, 0);
    }
    for (arguments, path) in [
        ("validate skills/closed", "skills/closed"),
        ("validate skills --profile claude", "skills/closed"),
        ("validate hidden/inner", "hidden/inner"),
        ("validate hidden", "hidden"),
        ("list --root hidden/inner", "hidden/inner"),
        ("show skills/closed", "skills/closed"),
        ("show hidden/inner", "hidden/inner"),
        ("show inner --root hidden", "hidden"),
        ("show --why hidden/inner", "hidden/inner"),
        ("run skills/closed", "skills/closed"),
        ("run hidden/inner", "hidden/inner"),
        ("run closed --root skills", "skills/closed"),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let done = run_as_user(&program, &fixture, &words);
        let page = done.page();
        assert!(page.contains("Permission denied"), "{arguments}: {page}");
        assert!(page.contains(path), "{arguments}: {page}");
        for wrong in ["not found\n", "does not exist", "issing", "no such"] {
            assert!(!page.contains(wrong), "{arguments}: {page}");
        }
    }
    for path in &closed {
        set_mode(path, 0o700);
    }
}
