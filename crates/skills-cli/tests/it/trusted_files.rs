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
    exit 125
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

/// A project that is not trusted can only restrict, so all users can change it, as where a directory of
/// all users contains it. Its policy and settings still apply.
#[test]
fn the_files_of_a_project_need_trust_only_where_they_could_allow() {
    let host = Host::new();
    host.write("builds/project/.skills/policy.toml", "deny = [\"spawn\"]\n");
    host.write(
        "builds/project/.skills/config.toml",
        "[skills.one]\nenabled = false\n",
    );
    let call = |arguments: &[&str]| {
        let root = host.path("root").display().to_string();
        let arguments = [arguments, &["--root", &root]].concat();
        let mut command =
            command_with_state(&arguments, &host.path("scratch"), &host.path("state"));
        command.env("XDG_CONFIG_HOME", host.path("config"));
        let output = command.current_dir(host.path("builds/project")).output();
        let output = output.unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let page = said(&output.stdout) + &said(&output.stderr);
        (output.status.code(), page)
    };
    let assert_restricted = |fault: &str| {
        let (code, page) = call(&["policy", "show"]);
        assert!(
            code == Some(0) && page.contains("deny spawn"),
            "{fault}: {page}"
        );
        let (_, page) = call(&["config"]);
        assert!(
            page.contains("enabled") && !page.contains("cannot use"),
            "{fault}: {page}"
        );
    };
    let assert_not_trusted = |fault: &str| {
        let (code, page) = call(&["policy", "show", "--trust-project"]);
        assert!(
            code == Some(2) && page.contains("cannot use"),
            "{fault}: {page}"
        );
    };
    assert_restricted("none");
    host.chmod("builds", 0o777);
    assert_restricted("a directory of all users");
    assert_not_trusted("a directory of all users");
    host.chmod("builds", 0o755);
    for name in ["policy.toml", "config.toml"] {
        host.chmod(&format!("builds/project/.skills/{name}"), 0o666);
    }
    assert_restricted("files of all users");
    assert_not_trusted("files of all users");
    if nix::unistd::geteuid().is_root() {
        for name in [
            "",
            "/.skills",
            "/.skills/policy.toml",
            "/.skills/config.toml",
        ] {
            let path = host.path(&format!("builds/project{name}"));
            std::os::unix::fs::chown(path, Some(54_321), Some(54_321)).unwrap();
        }
        assert_restricted("files of another user");
        assert_not_trusted("files of another user");
    }
    // A command does not wait for a file of a project.
    let policy = host.path("builds/project/.skills/policy.toml");
    fs::remove_file(&policy).unwrap();
    mkfifo(&policy, Mode::S_IRWXU).unwrap();
    let (code, page) = call(&["policy", "show"]);
    assert!(
        code == Some(2) && page.contains("not a regular file"),
        "{page}"
    );
}

/// A user who changes such a file sets variables of programs. A file of the project belongs to the
/// user who works on it.
#[test]
fn an_env_file_that_others_can_change_is_used_only_in_a_project() {
    let host = Host::new();
    host.write("shared/variables", "KEY=one\n");
    host.write("project/.git/HEAD", "");
    host.write("project/variables", "KEY=one\n");
    host.chmod("shared/variables", 0o602);
    host.chmod("project/variables", 0o602);
    let run = |file: &str| {
        let (root, file) = (host.path("root"), host.path(file));
        let (root, file) = (root.display().to_string(), file.display().to_string());
        let arguments = [
            "policy",
            "check",
            "one",
            "--root",
            &root,
            "--env-file",
            &file,
        ];
        let mut command =
            command_with_state(&arguments, &host.path("scratch"), &host.path("state"));
        command.env("XDG_CONFIG_HOME", host.path("config"));
        let output = command.current_dir(host.path("project")).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run("shared/variables");
    assert!(
        said.contains("error: cannot use") && said.contains("chmod o-w"),
        "{said}"
    );
    let said = run("project/variables");
    assert!(
        said.contains("warning: another user can change") && !said.contains("error:"),
        "{said}"
    );
    // Also where a symlink in the project leads out of it.
    symlink(host.path("shared/variables"), host.path("project/link")).unwrap();
    let said = run("project/link");
    assert!(said.contains("error: cannot use"), "{said}");
    // Settings name files of the user.
    let settings = format!(
        "env-files = [\"{}\"]\n",
        host.path("shared/variables").display()
    );
    host.write("config/skills/config.toml", &settings);
    let page = host.page(&["policy", "check", "one"]);
    assert!(page.contains("error: cannot use"), "{page}");
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
    for (arguments, cause) in [
        (
            &["run", "one", "--yes"][..],
            "its last 16 MiB contain no record",
        ),
        (
            &["audit", "verify"],
            "audit.jsonl` is larger than 268435456 bytes",
        ),
    ] {
        let page = host.page(arguments);
        assert!(
            !page.starts_with("exit 0") && page.contains(cause),
            "{page}"
        );
    }
}
