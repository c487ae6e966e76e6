//! Rules, approvals and records, as an operator meets them.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::json;
#[cfg(target_os = "linux")]
use skills_test_support::skip_without_sandbox;

use crate::skills::{Done, skills_in};

/// One skill and a place for state.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(frontmatter: &str, script: &str) -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(place.path("skills/one/scripts")).unwrap();
        fs::create_dir_all(place.path("state")).unwrap();
        fs::write(
            place.path("skills/one/SKILL.md"),
            format!("---\nname: one\ndescription: d\n{frontmatter}---\n"),
        )
        .unwrap();
        fs::write(place.path("skills/one/scripts/main.sh"), script).unwrap();
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    fn call(&self, arguments: &[&str]) -> Done {
        let root = self.path("skills").display().to_string();
        // What stands behind `--` belongs to the program.
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
fn a_check_says_what_would_be_given_and_why() {
    let place = Place::new(TOOLS, "echo hi\n");
    assert_snapshot!(place.page(&["policy", "check", "one"]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    sandbox  linux
    missing  the variable API_KEY
    verdict  denied, unless it is approved
             denied, no rule allows it, and there was nobody to ask: start git (asked by Bash(git:*))
    idle     Read: there is no workspace
    idle     Task: it is a tool of the agent, not of programs
    question
    one wants to run: scripts/main.sh
      skill    HERE/skills/one
      digest   sha256:…
      limits   30 s, 256 MiB of memory
      content  never approved before
      wants    start git (asked by Bash(git:*))
    ");
    assert_snapshot!(place.page(&["policy", "check", "one", "--allow", "spawn:git", "--env", "API_KEY=x"]), @"
    exit 0
    -- stdout
    skill    one
    runs     scripts/main.sh
    sandbox  linux
    verdict  granted
             granted, by the rule `allow spawn:git (session, --allow)`: start git (asked by Bash(git:*))
             granted, the caller gives it: see the variable API_KEY (asked by its requirements)
    limits   30 s, 256 MiB of memory
    gets     its own directory to read, a private scratch directory to write
             the program git
             the variable API_KEY
    idle     Read: there is no workspace
    idle     Task: it is a tool of the agent, not of programs
    ");
    assert_eq!(
        place.call(&["run", "one", "--dry-run"]).stdout,
        place.call(&["policy", "check", "one"]).stdout
    );
    let document = place
        .call(&["policy", "check", "one", "--json", "--env", "API_KEY=x"])
        .json();
    assert_eq!(
        (
            &document["granted"],
            &document["denied"]["decisions"][0]["permission"]["program"]
        ),
        (&json!(null), &json!("git"))
    );
    assert_eq!(document["idle"][1]["tool"], "Task");
    assert!(
        !place.path("state/skills/audit.jsonl").exists()
            || fs::read(place.path("state/skills/audit.jsonl"))
                .unwrap()
                .is_empty()
    );
}

#[test]
fn wrong_permissions_and_names_are_wrong_usage() {
    let place = Place::new("", "echo hi\n");
    assert_snapshot!(place.page(&["run", "one", "--allow", "network"]), @"
    exit 2
    -- stderr
    error: --allow: `network` allows nothing until it is said which: write `network:api.example.com`, or `network:*` for all
    ");
    assert_snapshot!(place.page(&["run", "one", "--allow", "exec"]), @r#"
    exit 2
    -- stderr
    error: --allow: "exec" is no permission: write `read`, `write`, `spawn`, `network` or `env`, and perhaps `:` and what of it
    "#);
    assert_snapshot!(place.page(&["run", "one", "--env", "NOT_SET_HERE"]), @"
    exit 2
    -- stderr
    error: --env NOT_SET_HERE: it is not set here
    ");
    assert_snapshot!(place.page(&["run", "one", "--write", "/no/such/place"]), @"
    exit 2
    -- stderr
    error: /no/such/place: no such file or directory: No such file or directory (os error 2)
    ");
    assert_eq!(place.call(&["run", "one", "--yes", "--deny"]).code, 2);
    assert_eq!(place.call(&["policy", "check", "nobody"]).code, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn yes_and_deny_answer_for_whoever_is_not_there() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    assert_eq!(place.call(&["run", "one"]).code, 3);
    assert_eq!(place.call(&["run", "one", "--yes"]).stdout, "spawned\n");
    assert_eq!(place.call(&["run", "one", "--deny"]).code, 3);
    assert_eq!(place.call(&["run", "one"]).code, 3, "a yes was for one run");
}

#[cfg(target_os = "linux")]
#[test]
fn trust_holds_until_the_content_changes() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new(
        "allowed-tools: Bash(echo:*)\n",
        "x=$(echo spawned); echo $x\n",
    );
    assert_snapshot!(place.page(&["trust", "one"]), @"
    exit 3
    -- stderr
    one wants to run: scripts/main.sh
      skill    HERE/skills/one
      digest   sha256:…
      limits   30 s, 256 MiB of memory
      content  never approved before
      wants    start echo (asked by Bash(echo:*))
    error: there is no terminal to ask on; --yes approves it
    ");
    assert_snapshot!(place.page(&["trust", "one", "--yes"]), @"
    exit 0
    -- stderr
    approved: one with the content that it has now
      granted, the answer was `always`: start echo (asked by Bash(echo:*))
    ");
    assert_eq!(place.call(&["run", "one"]).stdout, "spawned\n");
    assert_snapshot!(place.page(&["trust", "--list"]), @"
    exit 0
    -- stdout
    one  HERE/skills/one (sha256:…)
      start echo
    ");
    fs::write(
        place.path("skills/one/SKILL.md"),
        "---\nname: one\ndescription: d\nallowed-tools: Bash(echo:*), Bash(rm:*)\n---\n",
    )
    .unwrap();
    assert_eq!(place.call(&["run", "one"]).code, 3);
    assert_snapshot!(place.page(&["policy", "check", "one"]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    sandbox  linux
    verdict  denied, unless it is approved
             denied, no rule allows it, and there was nobody to ask: start echo (asked by Bash(echo:*))
             denied, no rule allows it, and there was nobody to ask: start rm (asked by Bash(rm:*))
    question
    one wants to run: scripts/main.sh
      skill    HERE/skills/one
      digest   sha256:…
      limits   30 s, 256 MiB of memory
      new      Bash(rm:*)
      content  changed since it was approved
      wants    start echo (asked by Bash(echo:*))
      wants    start rm (asked by Bash(rm:*))
    ");
    assert_eq!(place.call(&["trust", "one", "--yes"]).code, 0);
    assert_eq!(place.call(&["run", "one"]).code, 0);
    assert_snapshot!(place.page(&["trust", "one", "--revoke"]), @"
    exit 0
    -- stderr
    nothing of one is approved any more
    ");
    assert_eq!(place.call(&["run", "one"]).code, 3);
    assert_eq!(place.call(&["trust", "one", "--revoke"]).code, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn every_run_is_recorded_and_edits_show() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new(
        "allowed-tools: Bash\nrequires: {env: [API_KEY]}\n",
        "echo $API_KEY\n",
    );
    assert_snapshot!(place.page(&["audit", "tail"]), @"
    exit 2
    -- stderr
    error: HERE/state/skills/audit.jsonl: there is no log; nothing has run yet
    ");
    assert_eq!(
        place
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
    assert_eq!(
        place
            .call(&["run", "one", "--env", "API_KEY=hunter2hunter2"])
            .code,
        3
    );
    assert_eq!(place.call(&["run", "nobody"]).code, 1);
    let tail = place.call(&["audit", "tail"]).stdout;
    let rows: Vec<String> = tail
        .lines()
        .map(|row| {
            row.split_whitespace()
                .filter(|word| !word.starts_with("20"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_snapshot!(rows.join("\n"), @r#"
    1 granted one scripts/main.sh exit code 0
    2 denied one scripts/main.sh denied: may not start programs (asked by Bash): no rule allows it, and there was nobody to ask
    3 failed nobody error unknown-skill: no skill is named "nobody"
    "#);
    let record = place.call(&["audit", "show", "1"]).json();
    assert_eq!(
        (&record["skill"], &record["disposition"], &record["backend"]),
        (&json!("one"), &json!("granted"), &json!("linux"))
    );
    assert_eq!(place.call(&["audit", "show", "9"]).code, 1);
    assert_eq!(
        place.call(&["audit", "tail", "-n", "1", "--json"]).json()["records"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let log = place.path("state/skills/audit.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    assert!(!whole.contains("hunter2"));
    let last = place.call(&["audit", "verify", "--json"]).json()["last_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(place.call(&["audit", "verify", "--last", &last]).code, 0);
    fs::write(&log, whole.replace("\"denied\"", "\"granted\"")).unwrap();
    assert_snapshot!(place.page(&["audit", "verify"]).lines().take(4).collect::<Vec<_>>().join("\n"), @"
    exit 1
    -- stdout
    3 records, the chain is broken
      HERE/state/skills/audit.jsonl:2: record 2 was edited
    ");
    let cut: String = whole
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&log, cut).unwrap();
    assert_eq!(place.call(&["audit", "verify"]).code, 0);
    assert_eq!(place.call(&["audit", "verify", "--last", &last]).code, 1);
}

#[test]
fn without_a_place_for_records_nothing_runs() {
    let place = Place::new("", "echo hi\n");
    fs::remove_dir(place.path("state")).unwrap();
    fs::write(place.path("state"), "a file").unwrap();
    let done = place.call(&["run", "one"]);
    assert_eq!(done.code, 1, "{}", done.page());
    assert!(
        done.stderr.contains("set XDG_STATE_HOME") && done.stdout.is_empty(),
        "{}",
        done.page()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn files_go_in_and_come_out() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new(
        "",
        "read line < \"$SKILL_WORKSPACE/in.txt\"; echo \"got $line\" > \"$SKILL_WORKSPACE/out.txt\"\n",
    );
    fs::write(place.path("in.txt"), "something\n").unwrap();
    fs::create_dir(place.path("made")).unwrap();
    let (input, output) = (
        place.path("in.txt").display().to_string(),
        place.path("made").display().to_string(),
    );
    assert_snapshot!(place.page(&["run", "one", "--file", &input, "--output", &output]), @"
    exit 0
    -- stderr
    made out.txt (14 bytes)
    ");
    assert_eq!(
        fs::read_to_string(place.path("made/out.txt")).unwrap(),
        "got something\n"
    );
    let again = place.call(&["run", "one", "--file", &input, "--output", &output]);
    assert_eq!(
        again.code,
        1,
        "what is there is not replaced: {}",
        again.page()
    );
    assert!(
        again.stderr.contains("made out.txt") && again.stderr.contains("out.txt is not kept"),
        "{}",
        again.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn secrets_come_from_a_file_and_go_nowhere_else() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new(
        "requires: {env: [API_KEY]}\n",
        "echo \"$API_KEY $OTHER_KEY\"\n",
    );
    fs::write(
        place.path("env"),
        "API_KEY='hunter2hunter2'\nOTHER_KEY=never-declared\nnonsense\n",
    )
    .unwrap();
    let env = place.path("env").display().to_string();
    let asked = place.call(&["run", "one", "--env-file", &env, "--yes"]);
    assert_eq!(asked.stdout, "[redacted API_KEY] \n", "{}", asked.page());
    assert!(
        asked.stderr.contains("env: line 3: there is no `=`")
            && asked.stderr.contains("others may read"),
        "{}",
        asked.stderr
    );
    assert_eq!(place.call(&["run", "one", "--env-file", &env]).code, 3);
    assert_eq!(
        place
            .call(&["run", "one", "--env-file", &env, "--allow", "env:API_KEY"])
            .code,
        0
    );
    assert_eq!(
        place
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
        3
    );
}

/// Somebody sits at a terminal and answers.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_asked() {
    use std::io::{Read, Write};
    if skip_without_sandbox() {
        return;
    }
    let answer_to = |place: &Place, command: &[&str], answer: &str| {
        let pty = nix::pty::openpty(None, None).unwrap();
        let root = place.path("skills").display().to_string();
        let arguments = [command, &["--root", &root]].concat();
        let mut command =
            crate::skills::command_with_state(&arguments, Path::new("/tmp"), &place.path("state"));
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
        // What is typed before the question is no answer to it.
        terminal.write_all(b"a\n").unwrap();
        let (mut shown, mut chunk) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&shown).contains("anything else: no") {
            let length = terminal.read(&mut chunk).unwrap();
            shown.extend_from_slice(&chunk[..length]);
        }
        // The answer is typed until it is heard: what comes too early is thrown away.
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
        // The terminal ends with an error when nobody has it open any more.
        let _ = terminal.read_to_end(&mut shown);
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap(),
            String::from_utf8(shown).unwrap(),
        )
    };
    let answer = |place: &Place, answer: &str| answer_to(place, &["run", "one"], answer);
    let place = Place::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    let (code, _, shown) = answer(&place, "n");
    assert_eq!(code, 3);
    assert!(
        shown.contains("one wants to run: scripts/main.sh")
            && shown.contains("wants    start programs (asked by Bash)"),
        "{shown}"
    );
    assert_eq!(answer(&place, "").0, 3);
    let (code, stdout, _) = answer(&place, "o");
    assert_eq!((code, stdout.as_str()), (0, "spawned\n"));
    assert_eq!(place.call(&["run", "one"]).code, 3);
    assert_eq!(answer(&place, "a").0, 0);
    assert_eq!(place.call(&["run", "one"]).code, 0);
    // `trust` asks for good, and says so: what means once elsewhere means no here.
    let place = Place::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    assert_eq!(answer_to(&place, &["trust", "one"], "o").0, 3);
    assert_eq!(place.call(&["run", "one"]).code, 3);
    let (code, _, shown) = answer_to(&place, &["trust", "one"], "y");
    assert!(
        code == 0 && shown.contains("Approve it for good"),
        "{shown}"
    );
    assert_eq!(place.call(&["run", "one"]).code, 0);
}

/// What is shown is copied. Nothing of a skill in it is more than one word.
#[test]
fn hints_hold_no_words_of_a_skill() {
    let place = Place::new(
        "allowed-tools: \"Write(out --allow spawn --yes/**)\"\n",
        "true\n",
    );
    fs::create_dir_all(place.path("work/out --allow spawn --yes")).unwrap();
    let work = place.path("work").display().to_string();
    assert_snapshot!(place.page(&["run", "one", "--workspace", &work]), @"
    exit 3
    -- stderr
    error: one was not started: may not write HERE/work/out --allow spawn --yes (asked by Write(out --allow spawn --yes/**)): no rule allows it, and there was nobody to ask
      for what it is now, for good: skills trust one, with the same options
      without: --without write
    ");
    fs::write(
        place.path("skills/one/SKILL.md"),
        "---\nname: sp --yes --allow spawn\ndescription: d\nallowed-tools: Bash\n---\n",
    )
    .unwrap();
    let name = place.path("skills/one").display().to_string();
    assert!(!place.call(&["run", &name]).stderr.contains("skills trust"));
}

/// Whoever may write rules or approvals may do anything.
#[test]
fn no_program_writes_what_this_command_keeps() {
    let place = Place::new("allowed-tools: Write\n", "true\n");
    let state = place.path("state").display().to_string();
    assert_snapshot!(place.page(&["policy", "check", "one", "--write", &state]), @"
    exit 3
    -- stdout
    skill    one
    runs     scripts/main.sh
    sandbox  linux
    verdict  denied
             denied, by the rule `deny write:HERE/state/skills (built-in, rules, approvals and records of this command)`: write HERE/state (asked by the caller)
    idle     Write: there is no workspace
    ");
    assert_eq!(
        place
            .call(&["run", "one", "--workspace", &state, "--yes"])
            .code,
        3
    );
}

#[test]
fn doctor_sees_rules_that_cannot_be_read() {
    let place = Place::new("", "true\n");
    let config = place.path("config/skills");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("policy.toml"), "allow = [\"exec\"]\n").unwrap();
    let root = place.path("skills").display().to_string();
    let mut command = crate::skills::command_with_state(
        &["doctor", "--root", &root],
        Path::new("/tmp"),
        &place.path("state"),
    );
    let output = command
        .env("XDG_CONFIG_HOME", place.path("config"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code() == Some(1)
            && text.contains("rules: ")
            && text.contains("\"exec\" is no permission"),
        "{text}"
    );
}

/// In strict mode nobody is asked at a run, and what was approved beforehand runs.
#[cfg(target_os = "linux")]
#[test]
fn strict_mode_runs_what_was_approved() {
    if skip_without_sandbox() {
        return;
    }
    let place = Place::new("allowed-tools: Bash\n", "x=$(echo spawned); echo $x\n");
    let call = |arguments: &[&str]| {
        let config = place.path("config/skills");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("policy.toml"), "mode = \"strict\"\n").unwrap();
        let root = place.path("skills").display().to_string();
        let mut command = crate::skills::command_with_state(
            &[arguments, &["--root", &root]].concat(),
            Path::new("/tmp"),
            &place.path("state"),
        );
        command
            .env("XDG_CONFIG_HOME", place.path("config"))
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(call(&["run", "one", "--yes"]), Some(3));
    assert_eq!(call(&["trust", "one", "--yes"]), Some(0));
    assert_eq!(call(&["run", "one"]), Some(0));
}
