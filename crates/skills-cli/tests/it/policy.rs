//! Tests of rules, approvals and audit records on the command line.

#[cfg(target_os = "linux")]
mod of_user;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skills::command_with_state;
#[cfg(target_os = "linux")]
use crate::skills::{Done, skills_in};
use insta::assert_snapshot;
use serde_json::json;

/// One skill and a state directory.
struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new(frontmatter: &str, script: &str) -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(fixture.path("skills/one/scripts")).unwrap();
        fs::create_dir_all(fixture.path("state")).unwrap();
        fs::write(
            fixture.path("skills/one/SKILL.md"),
            format!("---\nname: one\ndescription: d\n{frontmatter}---\n"),
        )
        .unwrap();
        fs::write(fixture.path("skills/one/scripts/main.sh"), script).unwrap();
        fixture
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    fn call(&self, arguments: &[&str]) -> Done {
        let root = self.path("skills").display().to_string();
        // Arguments after `--` belong to the program.
        let (ours, programs) = arguments.split_at(
            arguments
                .iter()
                .position(|word| *word == "--")
                .unwrap_or(arguments.len()),
        );
        skills_in(
            &[ours, &["--root", &root], programs].concat(),
            "",
            &self.path("state"),
        )
    }

    /// Writes a file of the user's configuration.
    fn configure(&self, name: &str, text: &str) {
        let config = self.path("config/skills");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join(name), text).unwrap();
    }

    /// Returns a command with the user's configuration.
    fn command(&self, arguments: &[&str]) -> Command {
        let root = self.path("skills").display().to_string();
        let arguments = [arguments, &["--root", &root]].concat();
        let mut command = command_with_state(&arguments, Path::new("/tmp"), &self.path("state"));
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    fn page(&self, arguments: &[&str]) -> String {
        let page = self
            .call(arguments)
            .page()
            .replace(&self.path("").display().to_string(), "HERE/");
        let digest = page.find("sha256:").map(|at| page[at..at + 71].to_owned());
        digest.map_or(page.clone(), |digest| page.replace(&digest, "sha256:…"))
    }
}

const TOOLS: &str = "allowed-tools: Read, Bash(git:*), Task\nrequires: {env: [API_KEY]}\n";

#[test]
fn policy_check_shows_grants_and_reasons() {
    let fixture = Fixture::new(TOOLS, "echo hi\n");
    assert_snapshot!(fixture.page(&["policy", "check", "one"]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    backend  linux
    missing  variable `API_KEY`
    decision needs approval
             denied, no rule allows it and no approver is available: spawn `git` (requested by `Bash(git:*)`)
    omitted  spawn `git`: a run goes on without it where no approver can answer
    unused   Read: no workspace is set
    unused   Task: a tool of the agent, not of programs
    question
    Allow skill `one` to run scripts/main.sh?
      note     in HERE/skills/one
      wants to spawn `git` (requested by `Bash(git:*)`)
    ");
    assert_snapshot!(fixture.page(&["policy", "check", "one", "--allow", "spawn:git", "--env", "API_KEY=x", "--memory", "256"]), @"
    exit 0
    -- stdout
    skill    one
    runs     scripts/main.sh
    backend  linux
    decision granted
             granted by rule `allow spawn:git (invocation, --allow)`: spawn `git` (requested by `Bash(git:*)`)
             granted by rule `allow env:API_KEY (invocation, --env)`: read variable `API_KEY` (requested by its requirements)
    limits   30 s, 256 MiB memory
    grants   read the skill directory, write a private scratch directory
             spawn git
             variable API_KEY
    unused   Read: no workspace is set
    unused   Task: a tool of the agent, not of programs
    ");
    assert_eq!(
        fixture.call(&["run", "one", "--dry-run"]).stdout,
        fixture.call(&["policy", "check", "one"]).stdout
    );
    let document = fixture
        .call(&["policy", "check", "one", "--json", "--env", "API_KEY=x"])
        .json();
    assert_eq!(
        (
            &document["granted"],
            &document["denied"]["decisions"][0]["permission"]["program"]
        ),
        (&json!(null), &json!("git"))
    );
    assert_eq!(document["unused_tools"][1]["tool"], "Task");
    assert!(
        !fixture.path("state/skills/audit.jsonl").exists()
            || fs::read(fixture.path("state/skills/audit.jsonl"))
                .unwrap()
                .is_empty()
    );
}

#[test]
fn invalid_permissions_and_names_are_invalid_usage() {
    let fixture = Fixture::new("", "echo hi\n");
    assert_snapshot!(fixture.page(&["run", "one", "--allow", "network"]), @"
    exit 125
    -- stderr
    error: invalid value 'network' for '--allow <PERMISSION>': `allow network` needs a host: use `network:api.example.com`, or `network:*` for all

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.page(&["run", "one", "--allow", "exec"]), @"
    exit 125
    -- stderr
    error: invalid value 'exec' for '--allow <PERMISSION>': invalid permission `exec`: expected `read`, `write`, `spawn`, `network`, `env` or `packages`, optionally followed by `:VALUE`

      tip: did you mean `spawn`?

    For more information, try '--help'.
    ");
    let url = fixture.page(&[
        "policy",
        "check",
        "one",
        "--allow",
        "network:https://x.example/",
        "--json",
    ]);
    assert_snapshot!(url, @r#"
    exit 2
    -- stdout
    {
      "error": {
        "code": "usage",
        "message": "invalid value 'network:https://x.example/' for '--allow <PERMISSION>': invalid host `https://x.example/`: expected `api.example.com`, `localhost:8080`, `[::1]:8080`, `*.example.com` or `*`, without scheme and path",
        "candidates": [],
        "hint": "did you mean `network:x.example`?"
      }
    }
    "#);
    for command in [["mcp", "--allow"], ["call", "--allow"]] {
        let page = fixture.page(&[&command[..], &["ntwork:x"]].concat());
        assert!(
            page.starts_with("exit 2") && page.contains("did you mean `network:x`?"),
            "{page}"
        );
    }
    assert_snapshot!(fixture.page(&["run", "one", "--env", "NOT_SET_HERE"]), @"
    exit 125
    -- stderr
    error: cannot pass `NOT_SET_HERE`: not set in the environment
    ");
    assert_snapshot!(fixture.page(&["run", "one", "--write", "/no/such/fixture"]), @"
    exit 125
    -- stderr
    error: cannot resolve `/no/such/fixture`: No such file or directory (os error 2)
    ");
    assert_eq!(fixture.call(&["run", "one", "--yes", "--deny"]).code, 125);
    assert_eq!(fixture.call(&["policy", "check", "absent"]).code, 1);
}

/// Checks that a run starts no program: what only the skill asks for is omitted.
#[track_caller]
fn assert_starts_nothing(fixture: &Fixture) {
    let done = fixture.call(&["run", "one"]);
    assert!(done.code != 0 && !done.stdout.contains("spawned"));
    assert!(done.stderr.contains("--allow spawn"), "{}", done.page());
    let note = "note: the skill asks for more than this run had: spawn ";
    assert!(done.stderr.contains(note), "{}", done.page());
}

#[cfg(target_os = "linux")]
#[test]
fn yes_and_deny_answer_without_a_terminal() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    assert_starts_nothing(&fixture);
    assert_eq!(fixture.call(&["run", "one", "--yes"]).stdout, "spawned\n");
    assert_eq!(fixture.call(&["run", "one", "--deny"]).code, 125);
    // `--yes` covers only one run.
    assert_starts_nothing(&fixture);
}

#[cfg(target_os = "linux")]
#[test]
fn an_approval_is_valid_until_the_content_changes() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "allowed-tools: Bash(expr:*)\n",
        "x=$(echo spawned); echo $x\n",
    );
    assert_snapshot!(fixture.page(&["trust", "one"]), @"
    exit 3
    -- stderr
    Allow skill `one` to run scripts/main.sh?
      note     in HERE/skills/one
      wants to spawn `expr` (requested by `Bash(expr:*)`)
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    ");
    assert_snapshot!(fixture.page(&["trust", "one", "--yes"]), @"
    exit 0
    -- stderr
    approved this content of `one`
      granted, the approver responded `always`: spawn `expr` (requested by `Bash(expr:*)`)
    ");
    assert_eq!(fixture.call(&["run", "one"]).stdout, "spawned\n");
    assert_snapshot!(fixture.page(&["trust", "--list"]), @"
    exit 0
    -- stdout
    one  HERE/skills/one (sha256:…)
      spawn `expr`
    ");
    fs::write(
        fixture.path("skills/one/SKILL.md"),
        "---\nname: one\ndescription: d\nallowed-tools: Bash(expr:*), Bash(rm:*)\n---\n",
    )
    .unwrap();
    assert_starts_nothing(&fixture);
    assert_snapshot!(fixture.page(&["policy", "check", "one"]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    backend  linux
    decision needs approval
             denied, no rule allows it and no approver is available: spawn `expr` (requested by `Bash(expr:*)`)
             denied, no rule allows it and no approver is available: spawn `rm` (requested by `Bash(rm:*)`)
    omitted  spawn `expr`: a run goes on without it where no approver can answer
    omitted  spawn `rm`: a run goes on without it where no approver can answer
    question
    Allow skill `one` to run scripts/main.sh?
      note     in HERE/skills/one; changed since it was approved; adds `Bash(rm:*)`
      wants to spawn `expr` (requested by `Bash(expr:*)`); spawn `rm` (requested by `Bash(rm:*)`)
    ");
    assert_eq!(fixture.call(&["trust", "one", "--yes"]).code, 0);
    assert_eq!(fixture.call(&["run", "one"]).code, 0);
    assert_snapshot!(fixture.page(&["trust", "one", "--revoke"]), @"
    exit 0
    -- stderr
    revoked all approvals of `one`
    ");
    assert_starts_nothing(&fixture);
    assert_eq!(fixture.call(&["trust", "one", "--revoke"]).code, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn every_run_is_recorded_and_edits_are_detected() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "allowed-tools: Bash\nrequires: {env: [API_KEY]}\n",
        "echo $API_KEY\n",
    );
    assert_snapshot!(fixture.page(&["audit", "tail"]), @"
    exit 1
    -- stderr
    error: cannot open the audit log `HERE/state/skills/audit.jsonl`: not found
    help: the first run of a skill creates it
    ");
    assert_eq!(
        fixture
            .call(&[
                "run",
                "one",
                "--env",
                "API_KEY=hunter2hunter2",
                "--without",
                "spawn"
            ])
            .stdout,
        "[redacted API_KEY]\n"
    );
    let secrets = tempfile::NamedTempFile::new().unwrap();
    fs::write(secrets.path(), "API_KEY=hunter2hunter2\n").unwrap();
    let secrets = secrets.path().display().to_string();
    assert_eq!(
        fixture.call(&["run", "one", "--env-file", &secrets]).code,
        125
    );
    assert_eq!(fixture.call(&["run", "absent"]).code, 127);
    let tail = fixture.call(&["audit", "tail"]).stdout;
    let rows: Vec<String> = tail
        .lines()
        .map(|row| {
            row.split_whitespace()
                .filter(|word| !word.starts_with("20"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_snapshot!(rows.join("\n"), @"
    2 granted one scripts/main.sh exit code 0
    3 denied one scripts/main.sh permission denied: read variable `API_KEY` (requested by its requirements): no rule allows it and no approver is available
    4 failed absent error unknown-skill: skill `absent` not found
    ");
    let record = fixture.call(&["audit", "show", "2"]).json();
    assert_eq!(
        (&record["skill"], &record["disposition"], &record["backend"]),
        (&json!("one"), &json!("granted"), &json!("linux"))
    );
    assert_eq!(fixture.call(&["audit", "show", "9"]).code, 1);
    assert_eq!(
        fixture.call(&["audit", "tail", "-n", "1", "--json"]).json()["records"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let log = fixture.path("state/skills/audit.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    assert!(!whole.contains("hunter2"));
    let last = fixture.call(&["audit", "verify", "--json"]).json()["last_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(fixture.call(&["audit", "verify", "--last", &last]).code, 0);
    fs::write(&log, whole.replace("\"denied\"", "\"granted\"")).unwrap();
    assert_snapshot!(fixture.page(&["audit", "verify"]).lines().take(4).collect::<Vec<_>>().join("\n"), @"
    exit 1
    -- stdout
    4 records, the hash chain is broken
      HERE/state/skills/audit.jsonl:3: record 3 does not match its hash
    ");
    let cut: String = whole
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&log, cut).unwrap();
    assert_eq!(fixture.call(&["audit", "verify"]).code, 0);
    assert_eq!(fixture.call(&["audit", "verify", "--last", &last]).code, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn input_files_are_copied_in_and_output_files_saved() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "",
        "read line < \"$SKILL_WORKSPACE/in.txt\"; echo \"got $line\" > \"$SKILL_WORKSPACE/out.txt\"\n",
    );
    fs::write(fixture.path("in.txt"), "something\n").unwrap();
    fs::create_dir(fixture.path("made")).unwrap();
    let (input, output) = (
        fixture.path("in.txt").display().to_string(),
        fixture.path("made").display().to_string(),
    );
    assert_snapshot!(fixture.page(&["run", "one", "--file", &input, "--output", &output]), @"
    exit 0
    -- stderr
    created out.txt (14 bytes)
    ");
    assert_eq!(
        fs::read_to_string(fixture.path("made/out.txt")).unwrap(),
        "got something\n"
    );
    let again = fixture.call(&["run", "one", "--file", &input, "--output", &output]);
    assert_eq!(
        again.code,
        125,
        "existing files are not replaced: {}",
        again.page()
    );
    assert!(
        again.stderr.contains("created out.txt") && again.stderr.contains("cannot save `out.txt`"),
        "{}",
        again.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn secrets_of_an_env_file_are_given_only_to_skills_that_declare_them() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "requires: {env: [API_KEY]}\n",
        "echo \"$API_KEY $OTHER_KEY\"\n",
    );
    fs::write(
        fixture.path("env"),
        "API_KEY='hunter2hunter2'\nOTHER_KEY=never-declared\nnonsense\n",
    )
    .unwrap();
    let env = fixture.path("env").display().to_string();
    let asked = fixture.call(&["run", "one", "--env-file", &env, "--yes"]);
    assert_eq!(asked.stdout, "[redacted API_KEY] \n", "{}", asked.page());
    assert!(
        asked.stderr.contains("env: line 3: missing `=`")
            && asked.stderr.contains("readable by other users"),
        "{}",
        asked.stderr
    );
    assert_eq!(fixture.call(&["run", "one", "--env-file", &env]).code, 125);
    assert_eq!(
        fixture
            .call(&["run", "one", "--env-file", &env, "--allow", "env:API_KEY"])
            .code,
        0
    );
    assert_eq!(
        fixture
            .call(&[
                "run",
                "one",
                "--env",
                "API_KEY=x",
                "--env",
                "LD_PRELOAD=/tmp/x.so",
                "--yes"
            ])
            .code,
        125
    );
}

/// Answers the prompt on a pseudo terminal.
#[cfg(target_os = "linux")]
#[test]
fn the_user_is_asked_at_the_terminal() {
    use std::io::{Read, Write};
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let answer_to = |fixture: &Fixture, command: &[&str], answer: &str| {
        let pty = nix::pty::openpty(None, None).unwrap();
        let root = fixture.path("skills").display().to_string();
        let arguments = [command, &["--root", &root]].concat();
        let mut command = command_with_state(&arguments, Path::new("/tmp"), &fixture.path("state"));
        let side = || std::process::Stdio::from(pty.slave.try_clone().unwrap());
        let child = command
            .stdin(side())
            .stderr(side())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(command);
        drop(pty.slave);
        let mut terminal = fs::File::from(pty.master);
        // Input before the prompt is discarded.
        terminal.write_all(b"a\n").unwrap();
        let (mut shown, mut chunk) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&shown).contains("N]") {
            let length = terminal.read(&mut chunk).unwrap();
            shown.extend_from_slice(&chunk[..length]);
        }
        // The answer is repeated, since input before the prompt is discarded.
        let mut typist = terminal.try_clone().unwrap();
        let text = format!("{answer}\n");
        let done = std::thread::scope(|scope| {
            let child = scope.spawn(move || child.wait_with_output().unwrap());
            while !child.is_finished() {
                let _ = typist.write_all(text.as_bytes());
                std::thread::park_timeout(std::time::Duration::from_millis(20));
            }
            child.join().unwrap()
        });
        // Reading the terminal fails when no process has the other end open.
        let _ = terminal.read_to_end(&mut shown);
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap(),
            String::from_utf8(shown).unwrap(),
        )
    };
    let answer = |fixture: &Fixture, answer: &str| answer_to(fixture, &["run", "one"], answer);
    let fixture = Fixture::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    let (code, _, shown) = answer(&fixture, "n");
    assert_eq!(code, 125);
    assert!(
        shown.contains("Allow skill `one` to run scripts/main.sh?")
            && shown.contains("wants to spawn any program (requested by `Bash`)"),
        "{shown}"
    );
    assert_eq!(answer(&fixture, "").0, 125);
    let (code, stdout, _) = answer(&fixture, "o");
    assert_eq!((code, stdout.as_str()), (0, "spawned\n"));
    assert_ne!(fixture.call(&["run", "one"]).code, 0);
    assert_eq!(answer(&fixture, "a").0, 0);
    assert_eq!(fixture.call(&["run", "one"]).code, 0);
    // `trust` asks for a permanent approval: `o`, which means once elsewhere, means no here.
    let fixture = Fixture::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    assert_eq!(answer_to(&fixture, &["trust", "one"], "o").0, 3);
    assert_ne!(fixture.call(&["run", "one"]).code, 0);
    let (code, _, shown) = answer_to(&fixture, &["trust", "one"], "y");
    assert!(
        code == 0 && shown.contains("Approve this content permanently?"),
        "{shown}"
    );
    assert_eq!(fixture.call(&["run", "one"]).code, 0);
}

/// Hints are copied into shells, so text of a skill in them is at most one word.
#[test]
fn hints_contain_no_shell_words_of_a_skill() {
    let fixture = Fixture::new("", "true\n");
    fs::write(
        fixture.path("skills/one/SKILL.md"),
        "---\nname: sp --yes --allow spawn\ndescription: d\nallowed-tools: Bash\n---\n",
    )
    .unwrap();
    let name = fixture.path("skills/one").display().to_string();
    assert!(
        !fixture
            .call(&["run", &name])
            .stderr
            .contains("skills trust")
    );
}

/// Write access to rules or approvals is equivalent to unrestricted access.
#[test]
fn no_program_can_write_policy_approvals_or_audit_log() {
    let fixture = Fixture::new("allowed-tools: Write\n", "true\n");
    let state = fixture.path("state").display().to_string();
    assert_snapshot!(fixture.page(&["policy", "check", "one", "--write", &state]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    backend  linux
    decision denied
             denied, it contains files of the host application, which no run may change: write `HERE/state` (requested by the caller)
    unused   Write: no workspace is set
    ");
    assert_eq!(
        fixture
            .call(&["run", "one", "--workspace", &state, "--yes"])
            .code,
        125
    );
}

/// Each directory of the command, a path in it and a directory around it.
#[test]
fn no_program_can_write_a_directory_of_the_command() {
    let fixture = Fixture::new("allowed-tools: Write\n", "true\n");
    let is_granted = |path: &Path| {
        let allow = format!("write:{}", path.display());
        let path = path.display().to_string();
        let arguments = [
            "policy", "check", "one", "--write", &path, "--allow", &allow,
        ];
        let mut check = fixture.command(&arguments);
        check.env("XDG_DATA_HOME", fixture.path("data"));
        check.env("XDG_CACHE_HOME", fixture.path("cache"));
        check.status().unwrap().code() == Some(0)
    };
    for own in [
        "state/skills",
        "config/skills",
        "cache/skills",
        "data/skills/environments",
        "data/skills/drafts",
    ] {
        let directory = fixture.path(own);
        fs::create_dir_all(directory.join("inside")).unwrap();
        for path in [
            directory.clone(),
            directory.join("inside"),
            directory.join("new"),
            directory.parent().unwrap().to_owned(),
        ] {
            assert!(!is_granted(&path), "{}", path.display());
        }
    }
    fs::create_dir(fixture.path("data/other")).unwrap();
    assert!(is_granted(&fixture.path("data/other")));
}

/// Each file that decides what runs, where a symlink leads to it: the target, also if it is missing, a
/// symlink on the way, and a directory around them.
#[cfg(unix)]
#[test]
fn no_program_can_write_what_a_file_of_the_command_links_to() {
    use std::os::unix::fs::symlink;

    let fixture = Fixture::new("allowed-tools: Write\n", "true\n");
    let is_granted = |path: &Path| {
        let path = path.display().to_string();
        let check = ["policy", "check", "one", "--workspace", &path];
        let mut check = fixture.command(&check);
        check.env("XDG_CACHE_HOME", fixture.path("cache"));
        check.status().unwrap().code() == Some(0)
    };
    for own in [
        "config/skills/policy.toml",
        "config/skills/config.toml",
        "state/skills/approvals.json",
        "state/skills/tools.json",
        "state/skills/audit.jsonl.1",
        "cache/skills/code",
    ] {
        for directory in ["dotfiles/inner", "stored/inner", "other"] {
            fs::create_dir_all(fixture.path(directory)).unwrap();
        }
        fs::create_dir_all(fixture.path(own).parent().unwrap()).unwrap();
        symlink("../stored/inner", fixture.path("dotfiles/link")).unwrap();
        symlink(fixture.path("dotfiles/link/file"), fixture.path(own)).unwrap();
        if own.starts_with("config") {
            fs::write(fixture.path("stored/inner/file"), "").unwrap();
        }
        for around in ["dotfiles", "stored", "stored/inner"] {
            assert!(!is_granted(&fixture.path(around)), "{own}: {around}");
        }
        assert!(is_granted(&fixture.path("other")), "{own}");
        assert!(is_granted(&fixture.path("dotfiles/inner")), "{own}");
        fs::remove_file(fixture.path(own)).unwrap();
        fs::remove_dir_all(fixture.path("dotfiles")).unwrap();
        fs::remove_dir_all(fixture.path("stored")).unwrap();
    }
}

/// The tools for files, too.
#[cfg(unix)]
#[test]
fn no_tool_writes_what_a_file_of_the_command_links_to() {
    use std::os::unix::fs::symlink;

    let fixture = Fixture::new("", "true\n");
    for directory in ["dotfiles", "config/skills"] {
        fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    fs::write(fixture.path("dotfiles/policy.toml"), "").unwrap();
    symlink(
        fixture.path("dotfiles/policy.toml"),
        fixture.path("config/skills/policy.toml"),
    )
    .unwrap();
    fs::write(fixture.path("dotfiles/variables"), "KEY=one\n").unwrap();
    let write = |name: &str| {
        let dotfiles = fixture.path("dotfiles").display().to_string();
        let variables = fixture.path("dotfiles/variables").display().to_string();
        let input = format!(r#"{{"path": "{name}", "content": "allow = ['write']\n"}}"#);
        let arguments = [
            "call",
            "skills_write",
            "--workspace",
            &dotfiles,
            "--env-file",
            &variables,
            &input,
        ];
        let output = fixture.command(&arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    for name in ["policy.toml", "variables"] {
        let said = write(name);
        assert!(said.contains("protected by the operator"), "{said}");
    }
    let said = write("new.txt");
    assert!(fixture.path("dotfiles/new.txt").exists(), "{said}");
    let policy = fs::read_to_string(fixture.path("dotfiles/policy.toml"));
    assert_eq!(policy.unwrap(), "");
}

/// The workspace with a `.env` file of the user stays writable, and the file does not.
#[cfg(unix)]
#[test]
fn no_program_can_write_an_env_file_of_the_user() {
    let fixture = Fixture::new(
        "allowed-tools: Write\n",
        "touch \"$SKILL_WORKSPACE/made\"; echo KEY=two > \"$SKILL_WORKSPACE/variables\"; rm -f \"$SKILL_WORKSPACE/variables\"; true\n",
    );
    fs::create_dir_all(fixture.path("work")).unwrap();
    fs::write(fixture.path("work/variables"), "KEY=one\n").unwrap();
    let (work, variables) = (fixture.path("work"), fixture.path("work/variables"));
    let (work, variables) = (work.display().to_string(), variables.display().to_string());
    let run = [
        "run",
        "one",
        "--yes",
        "--workspace",
        &work,
        "--env-file",
        &variables,
        "--allow",
        "spawn",
    ];
    let output = fixture.command(&run).output().unwrap();
    let text = fs::read_to_string(&variables);
    assert_eq!(text.ok().as_deref(), Some("KEY=one\n"), "{output:?}");
    assert!(fixture.path("work/made").exists(), "{output:?}");
}

#[test]
fn doctor_reports_an_invalid_policy() {
    let fixture = Fixture::new("", "true\n");
    fixture.configure("policy.toml", "allow = [\"exec\"]\n");
    let output = fixture.command(&["doctor"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code() == Some(1)
            && text.contains("policy: ")
            && text.contains("invalid permission `exec`"),
        "{text}"
    );
}

/// Strict mode never prompts during a run; skills that were approved before run.
#[cfg(target_os = "linux")]
#[test]
fn strict_mode_runs_approved_skills() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    fixture.configure("policy.toml", "mode = \"strict\"\n");
    let call = |arguments: &[&str]| fixture.command(arguments).status().unwrap().code();
    assert_ne!(call(&["run", "one", "--yes"]), Some(0));
    assert_eq!(call(&["trust", "one", "--yes"]), Some(0));
    assert_eq!(call(&["run", "one"]), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn rules_are_approved_in_advance() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let undeclared = || Fixture::new("", "x=$(expr 20 + 22); echo $x\n");
    let fixture = undeclared();
    assert_ne!(fixture.call(&["run", "one"]).stdout, "42\n");
    let trust = fixture.call(&["trust", "one", "--allow", "spawn:expr", "--yes"]);
    assert!(trust.stderr.contains("spawn `expr`"), "{}", trust.stderr);
    assert_eq!(fixture.call(&["run", "one"]).stdout, "42\n");
    let again = fixture.call(&["trust", "one", "--allow", "spawn:expr", "--yes"]);
    assert!(
        again.stderr.contains("needs no approval"),
        "{}",
        again.stderr
    );

    // A standing rule applies to approved content only, and says so.
    let fixture = undeclared();
    fixture.configure("policy.toml", "allow = [\"spawn:expr\"]\n");
    let run = |arguments: &[&str]| {
        let done = fixture.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(done.stdout), text(done.stderr))
    };
    let (output, messages) = run(&["run", "one"]);
    let note = "rules of the policy apply to approved content only, so this run did not get \
                `spawn:expr`; approve the skill with `skills trust one --root ";
    assert!(output != "42\n" && messages.contains(note), "{messages}");
    assert!(run(&["policy", "check", "one"]).0.contains("withheld"));
    assert!(run(&["trust", "one", "--yes"]).1.contains("spawn `expr`"));
    assert_eq!(run(&["run", "one"]).0, "42\n");
}

/// `HOME` of a program is private; a granted path of the user's home directory is also below it.
#[cfg(target_os = "linux")]
#[test]
fn a_granted_path_of_the_home_directory_is_below_home() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "",
        "read x < ~/.tool/in && echo \"$x\" > ~/.tool/deep/out\n",
    );
    let home = fixture.path("home");
    fs::create_dir_all(home.join(".tool/deep")).unwrap();
    fs::write(home.join(".tool/in"), "42\n").unwrap();
    let run = |permission: &str| {
        let mut command = fixture.command(&["run", "one", "--allow", permission]);
        command
            .env("HOME", &home)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(!run("read:/usr") && !run("read:~/.tool"));
    assert!(run("write:~/.tool"));
    assert_eq!(
        fs::read_to_string(home.join(".tool/deep/out")).unwrap(),
        "42\n"
    );
}

/// A command that is a script includes its interpreter.
#[cfg(target_os = "linux")]
#[test]
fn a_command_can_be_a_script() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("", "true\n");
    let tools = fixture.path("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(
        tools.join("tool"),
        "#!/usr/bin/env sh\necho from a script\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("tool"), mode).unwrap();
    let work = fixture.path("work");
    fs::create_dir_all(&work).unwrap();
    let work = work.display().to_string();
    let input = "{\"command\": \"tool\"}";
    let arguments = ["call", "skills_bash", input, "--workspace", &work, "--yes"];
    let done = fixture
        .command(&arguments)
        .env("PATH", &tools)
        .output()
        .unwrap();
    let output = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        output,
        "from a script\n",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A workspace of the settings does not overrule the policy of the user.
#[cfg(target_os = "linux")]
#[test]
fn a_workspace_of_the_settings_obeys_ask_rules() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("", "echo x > out.txt\n");
    let work = fixture.path("work");
    fs::create_dir_all(&work).unwrap();
    fixture.configure("policy.toml", "ask = [\"write\"]\n");
    let settings = format!("workspace = {:?}\n", work.display().to_string());
    fixture.configure("config.toml", &settings);
    let run = |more: &[&str]| {
        let arguments = [&["run", "one"], more].concat();
        let _ = fixture.command(&arguments).output().unwrap();
        work.join("out.txt").exists()
    };
    assert!(!run(&[]));
    let work = work.display().to_string();
    assert!(run(&["--workspace", &work]));
}

/// A limit that no file sets is not a number.
#[test]
fn limits_of_runs_and_their_ceiling_are_shown() {
    let fixture = Fixture::new("", "exit 0\n");
    fs::create_dir_all(fixture.path("config/skills")).unwrap();
    let policy = "[limits]\nmemory-mib = 128\nfile-mib = 400\n";
    fs::write(fixture.path("config/skills/policy.toml"), policy).unwrap();
    let call = |arguments: &[&str]| {
        let mut command = command_with_state(arguments, Path::new("/tmp"), &fixture.path("state"));
        command.env("XDG_CONFIG_HOME", fixture.path("config"));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_snapshot!(call(&["policy", "show"]), @"
    mode ask
    new content ask-if-privileged
    limits time 30 s, memory 128 MiB, output 1024 KiB, file 400 MiB, open files 1024, processes 1024, scratch 256 MiB
    ceiling time no limit, memory 128 MiB, output 8192 KiB, file 400 MiB, open files no limit, processes no limit, scratch no limit
    allow read (built-in)
    ");
    let document: serde_json::Value =
        serde_json::from_str(&call(&["policy", "show", "--json"])).unwrap();
    assert_eq!(document["ceiling"]["wall_time"], json!(null));
    assert_eq!(document["ceiling"]["processes"], json!(null));
    assert_eq!(document["ceiling"]["memory_bytes"], json!(128 << 20));
    assert_eq!(document["limits"]["wall_time"]["secs"], json!(30));
}
