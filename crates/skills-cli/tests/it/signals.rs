//! Tests of signals to the command and to the programs that it runs.

use skills_test_support::host::is_ignored;
use skills_test_support::{skip, skip_part, skip_without_sandbox};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::skills::command;

/// A script that starts a daemon, which appends to a file in the workspace until it is killed.
const DAEMON: &str = "echo started\n(while :; do echo beat >> heart; sleep 0.05; done) &\nwhile :; do sleep 1; done\n";

/// A run of the daemon, after its first write.
struct Beating {
    directory: tempfile::TempDir,
    child: Child,
}

impl Beating {
    fn start() -> Self {
        Self::start_with(None)
    }

    fn start_with(option: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name);
        for name in ["skills/one/scripts", "work", "scratch"] {
            std::fs::create_dir_all(below(name)).unwrap();
        }
        std::fs::write(
            below("skills/one/SKILL.md"),
            "---\nname: one\ndescription: d\nallowed-tools: Bash, Write\n---\n",
        )
        .unwrap();
        let heart = below("work/heart").display().to_string();
        std::fs::write(
            below("skills/one/scripts/main.sh"),
            DAEMON.replace("heart", &heart),
        )
        .unwrap();
        let (root, work) = (
            below("skills").display().to_string(),
            below("work").display().to_string(),
        );
        let arguments = [
            "run",
            "one",
            "--root",
            &root,
            "--allow",
            "spawn",
            "--allow",
            "write",
            "--workspace",
            &work,
            "--timeout",
            "60",
        ];
        let arguments: Vec<&str> = arguments.into_iter().chain(option).collect();
        let mut command = command(&arguments, &below("scratch"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let beating = Self { directory, child };
        while beating.heart() == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        beating
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.directory.path().join(below)
    }

    fn heart(&self) -> u64 {
        std::fs::metadata(self.path("work/heart")).map_or(0, |file| file.len())
    }

    fn send(&self, signal: &str) {
        assert!(
            Command::new("/bin/kill")
                .args([signal, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn a_signal_ends_the_command_and_all_its_processes() {
    if skip_without_sandbox() {
        return;
    }
    if !Path::new("/bin/kill").exists() {
        return skip("no /bin/kill (package procps or util-linux)");
    }
    for (signal, number) in [("-INT", 2_u8), ("-TERM", 15), ("-HUP", 1)] {
        if is_ignored(number.into()) {
            skip_part(
                signal,
                "the process that started the tests ignores this signal",
            );
            continue;
        }
        let mut beating = Beating::start();
        beating.send(signal);
        let code = beating.child.wait().unwrap().code();
        assert_eq!(code, Some(128 + i32::from(number)), "{signal}");
        let last = beating.heart();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(beating.heart(), last, "the daemon outlived {signal}");
        assert_eq!(
            std::fs::read_dir(beating.path("scratch")).unwrap().count(),
            0,
            "{signal} leaves no files"
        );
    }
}

/// A run that a signal ends reports what its program wrote until then, as text and as JSON.
#[test]
fn an_interrupted_run_reports_its_output() {
    if skip_without_sandbox() {
        return;
    }
    if !Path::new("/bin/kill").exists() {
        return skip("no /bin/kill (package procps or util-linux)");
    }
    if is_ignored(2) {
        return skip("the process that started the tests ignores this signal");
    }
    let interrupted = |option: Option<&str>| {
        let beating = Beating::start_with(option);
        beating.send("-INT");
        beating.child.wait_with_output().unwrap()
    };
    let text = interrupted(None);
    assert_eq!(text.status.code(), Some(130));
    assert_eq!(text.stdout, b"started\n");
    let errors = String::from_utf8(text.stderr).unwrap();
    assert!(errors.contains("error: `one` was interrupted"), "{errors}");
    let json = interrupted(Some("--json"));
    assert_eq!(json.status.code(), Some(130));
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["stdout"]["text"], "started\n");
    assert_eq!(value["status"]["termination"]["kind"], "cancelled");
    let exit = serde_json::json!({"code": 130, "from": "skills", "reason": "interrupted"});
    assert_eq!(value["exit"], exit);
}

/// The start of a run is recorded before its program starts, so that a killed command leaves it.
#[test]
fn a_killed_command_leaves_a_record() {
    if skip_without_sandbox() {
        return;
    }
    if !Path::new("/bin/kill").exists() {
        return skip("no /bin/kill (package procps or util-linux)");
    }
    let mut beating = Beating::start();
    beating.send("-KILL");
    beating.child.wait().unwrap();
    let audit = |arguments: &[&str]| {
        let output = command(arguments, &beating.path("scratch"))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let rows = audit(&["audit", "tail"]);
    assert!(
        rows.contains("started") && rows.contains("running or interrupted"),
        "{rows}"
    );
    assert!(audit(&["audit", "show", "1"]).contains("scripts/main.sh"));
}
