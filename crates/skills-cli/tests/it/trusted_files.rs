//! Files that decide what runs, and that another user can change.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use crate::skills::{Done, command_with_state};

/// A skill, a configuration directory and a state directory.
struct Host {
    directory: TempDir,
}

impl Host {
    fn new() -> Self {
        let host = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for name in ["scratch", "config/skills", "state/skills", "shared"] {
            fs::create_dir_all(host.path(name)).unwrap();
        }
        host.write(
            "root/one/SKILL.md",
            "---\nname: one\ndescription: d\nallowed-tools: Bash(git:*)\n---\nBody\n",
        );
        host.write("root/one/scripts/main.sh", "echo ran\n");
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn call(&self, arguments: &[&str]) -> Done {
        let root = self.path("root").display().to_string();
        let arguments = [arguments, &["--root", &root]].concat();
        let (scratch, state) = (self.path("scratch"), self.path("state"));
        let mut command = command_with_state(&arguments, &scratch, &state);
        command.env("XDG_CONFIG_HOME", self.path("config"));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn page(&self, arguments: &[&str]) -> String {
        let directory = self.path("").display().to_string();
        self.call(arguments).page().replace(&directory, "HOST/")
    }
}

#[test]
fn a_policy_that_a_link_leads_to_is_checked_with_its_directories() {
    let host = Host::new();
    host.write("shared/policy.toml", "allow = [\"spawn:git\"]\n");
    host.chmod("shared", 0o777);
    let policy = host.path("config/skills/policy.toml");
    symlink(host.path("shared/policy.toml"), &policy).unwrap();
    insta::assert_snapshot!(host.page(&["run", "one"]), @"
    exit 2
    -- stderr
    error: cannot use `HOST/config/skills/policy.toml`: `HOST/shared` is writable by every user (mode 0777)
    help: run `chmod o-w HOST/shared`
    ");
    fs::remove_file(policy).unwrap();
    host.write("config/skills/policy.toml", "");
    host.chmod("config", 0o777);
    assert!(
        host.page(&["run", "one"])
            .contains("`HOST/config` is writable by every user")
    );
}

#[test]
fn approvals_that_others_can_change_approve_nothing() {
    let host = Host::new();
    assert_eq!(host.call(&["trust", "one", "--yes"]).code, 0);
    assert_eq!(host.call(&["run", "one"]).code, 0, "the approval counts");
    host.chmod("state/skills/approvals.json", 0o666);
    let page = host.page(&["run", "one"]);
    assert!(
        !page.starts_with("exit 0") && !page.contains("ran"),
        "{page}"
    );
    assert!(
        page.contains("`HOST/state/skills/approvals.json` is writable by every user (mode 0666)"),
        "{page}"
    );
    host.chmod("state/skills/approvals.json", 0o600);
    host.chmod("state", 0o777);
    let page = host.page(&["run", "one"]);
    assert!(page.contains("help: run `chmod o-w HOST/state`"), "{page}");
}

/// A project that is not trusted can only restrict, so it can belong to another user.
#[test]
fn the_policy_of_a_project_is_not_writable_by_everyone() {
    let host = Host::new();
    host.write("project/.skills/policy.toml", "deny = [\"spawn\"]\n");
    let check = |host: &Host| {
        let root = host.path("root").display().to_string();
        let arguments = ["policy", "show", "--root", &root];
        let mut command =
            command_with_state(&arguments, &host.path("scratch"), &host.path("state"));
        command.env("XDG_CONFIG_HOME", host.path("config"));
        command
            .current_dir(host.path("project"))
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(check(&host), Some(0));
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(host.path("project"), Some(54_321), Some(54_321)).unwrap();
        assert_eq!(check(&host), Some(0));
    }
    host.chmod("project/.skills/policy.toml", 0o666);
    if !nix::unistd::geteuid().is_root() {
        assert_eq!(check(&host), Some(2));
    }
}

#[test]
fn no_file_of_the_audit_log_blocks_a_command() {
    let host = Host::new();
    let lock = host.path("state/skills/audit.jsonl.lock");
    mkfifo(&lock, Mode::S_IRWXU).unwrap();
    let page = host.page(&["run", "one", "--yes"]);
    assert!(
        !page.starts_with("exit 0")
            && page.contains("audit.jsonl.lock` is a FIFO, not a regular file"),
        "{page}"
    );
    fs::remove_file(&lock).unwrap();
    let log = host.path("state/skills/audit.jsonl");
    fs::remove_file(&log).unwrap();
    mkfifo(&log, Mode::S_IRWXU).unwrap();
    for arguments in [&["run", "one", "--yes"][..], &["audit", "verify"]] {
        let page = host.page(arguments);
        assert!(
            page.contains("audit.jsonl` is a FIFO, not a regular file"),
            "{page}"
        );
    }
    fs::remove_file(&log).unwrap();
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(&log)
        .unwrap();
    file.set_len(32 << 30).unwrap();
    host.chmod("state/skills/audit.jsonl", 0o600);
    for arguments in [&["run", "one", "--yes"][..], &["audit", "verify"]] {
        let page = host.page(arguments);
        assert!(
            page.contains("audit.jsonl` is larger than 268435456 bytes"),
            "{page}"
        );
    }
}
