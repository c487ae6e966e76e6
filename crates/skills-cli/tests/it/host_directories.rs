//! Runs on hosts without a home directory, a state directory or a directory for temporary files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use skills_test_support::{SkillTree, skip, skip_without_sandbox};

use crate::skills::command;

/// A path at which no user can create anything, not even the administrator.
const UNWRITABLE: &str = "/proc/none";

struct Host(SkillTree);

impl Host {
    fn new() -> Self {
        let tree = SkillTree::new("skills/");
        tree.skill("one", "").script("one", "main.sh", "echo ran\n");
        fs::create_dir_all(tree.path("home")).unwrap();
        fs::create_dir_all(tree.path("scratch")).unwrap();
        fs::create_dir_all(tree.path("config/skills")).unwrap();
        let policy = "record = \"optional\"\n";
        fs::write(tree.path("config/skills/policy.toml"), policy).unwrap();
        Self(tree)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let root = self.0.path("skills").display().to_string();
        let arguments = [arguments, &["--root", &root]].concat();
        let mut command = command(&arguments, &self.0.path("scratch"));
        for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", self.0.path("home"));
        command.env("XDG_CONFIG_HOME", self.0.path("config"));
        command
    }

    /// Runs the skill of a user for whom records are optional, and returns what the command says on
    /// standard error.
    #[track_caller]
    fn run(&self, variables: &[(&str, &Path)]) -> String {
        let mut command = self.command(&["run", "one"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(output.stdout, b"ran\n", "{stderr}");
        stderr
    }
}

#[test]
fn a_run_needs_no_home_and_no_state_directory_that_it_can_write() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    assert_eq!(host.run(&[]), "");
    fs::write(host.0.path("file"), "").unwrap();
    symlink(host.0.path("missing/directory"), host.0.path("dangling")).unwrap();
    let places = [
        Path::new(UNWRITABLE).to_owned(),
        host.0.path("file"),
        host.0.path("dangling"),
    ];
    for variable in ["HOME", "XDG_STATE_HOME"] {
        for place in &places {
            let stderr = host.run(&[(variable, place)]);
            let mut lines = stderr.lines();
            let note = lines.next().unwrap_or_default();
            assert!(
                note.starts_with(
                    "note: no audit record is written, and no answer is kept: cannot create `"
                ) && note.contains("; set `HOME` or `XDG_STATE_HOME` to "),
                "{variable}: {stderr}"
            );
            assert_eq!(lines.next(), None, "{variable}: {stderr}");
        }
    }
    // A symlink of the user is not missing.
    fs::create_dir(host.0.path("real")).unwrap();
    symlink(host.0.path("real"), host.0.path("link")).unwrap();
    assert_eq!(host.run(&[("XDG_STATE_HOME", &host.0.path("link"))]), "");
    assert!(host.0.path("real/skills/audit.jsonl").exists());
}

/// The note says only what is lost.
#[test]
fn answers_are_kept_where_only_the_audit_log_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    if skip_without_sandbox() {
        return;
    }
    if nix::unistd::geteuid().is_root() {
        return skip("the administrator writes files of any mode");
    }
    let host = Host::new();
    assert_eq!(host.run(&[]), "");
    let state = host.0.path("home/.local/state/skills");
    for name in ["audit.jsonl", "audit.jsonl.lock"] {
        let file = fs::Permissions::from_mode(0o400);
        let _ = fs::set_permissions(state.join(name), file);
    }
    let note = host.run(&[]);
    assert!(
        note.starts_with("note: no audit record is written: "),
        "{note}"
    );
    fs::set_permissions(&state, fs::Permissions::from_mode(0o500)).unwrap();
    let note = host.run(&[]);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    let expected = "note: no audit record is written, and no answer is kept: ";
    assert!(note.starts_with(expected), "{note}");
}

/// The home directory of the user who calls `sudo`, and one of a group.
#[test]
fn a_state_directory_that_another_user_can_change_still_stops_a_run() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::new();
    let state = host.0.path("home/.local/state/skills");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let assert_refused = || {
        let output = host.command(&["run", "one"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{stderr}");
        assert!(stderr.contains("cannot use"), "{stderr}");
    };
    assert_refused();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    if nix::unistd::geteuid().is_root() {
        let home = host.0.path("home");
        std::os::unix::fs::chown(home, Some(54_321), Some(54_321)).unwrap();
        assert_refused();
    }
}

#[test]
fn temporary_files_are_elsewhere_if_their_directory_cannot_be_used() {
    use std::os::unix::fs::PermissionsExt;
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    let open = host.0.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    symlink(&open, host.0.path("link")).unwrap();
    for directory in [open, host.0.path("link"), host.0.path("missing")] {
        let stderr = host.run(&[("TMPDIR", &directory)]);
        assert!(
            stderr.starts_with("note: temporary files are in `/tmp`: cannot use `")
                && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

/// A program that wants a directory fails at the file that stands for a path that does not exist.
#[test]
fn a_directory_that_is_granted_without_a_slash_is_named_with_one() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.0
        .script("one", "main.sh", "[ -d \"$1\" ] && echo 1 > \"$1/file\"\n");
    let state = host.0.path("home/.tool").display().to_string();
    let run = |slash: &str| {
        let grant = format!("write:{state}{slash}");
        let arguments = ["run", "one", "--allow", &grant];
        let mut command = host.command(&arguments);
        let output = command.args(["--", &state]).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, stderr) = run("");
    let note = format!("for a directory write `write:{state}/`");
    assert!(code == Some(1) && stderr.contains(&note), "{stderr}");
    let (code, stderr) = run("/");
    assert!(
        code == Some(0) && !stderr.contains("for a directory"),
        "{stderr}"
    );
}
