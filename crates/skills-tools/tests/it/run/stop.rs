//! Stopping of programs, and the output that is kept.

use std::fs::File;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skills_runtime::CancellationToken;
use skills_runtime::audit::{AuditError, AuditSink, Event};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, ToolOutput};

use super::{kit, run};
use crate::fixture::{Host, ToolOutputExt, Tools};

/// Maximum time until the end of all processes, after which the test fails.
const SOON: Duration = Duration::from_secs(20);

/// Creates a script that holds a lock in the workspace while any of its processes is alive, and
/// leaves processes behind as `leave` specifies, which report their start.
fn holding(leave: &str) -> Host {
    let start = "import fcntl, os, signal, sys, time
work = os.environ['SKILL_WORKSPACE']
lock = open(work + '/lock')
fcntl.flock(lock, fcntl.LOCK_EX)
def attempt(call):
    try:
        call()
    except OSError:
        pass
def linger(name, began=lambda: None):
    open(work + '/' + name, 'w').write('began')
    began()
    while True:
        time.sleep(0.05)
        with open(work + '/canary', 'a') as canary:
            canary.write('.')
print('started', flush=True)
";
    let host = kit(&[("hold.py", &format!("{start}{leave}\n"))]);
    host.skill("kit", "allowed-tools: Bash, Read, Write\n")
        .file("workspace/lock", "");
    host
}

/// Waits until no process holds the lock.
async fn all_are_gone(host: &Host) {
    let lock = File::open(host.path("workspace/lock")).unwrap();
    let locked = tokio::task::spawn_blocking(move || lock.lock());
    match tokio::time::timeout(SOON, locked).await {
        Ok(locked) => locked.unwrap().unwrap(),
        Err(_) => panic!("a process is still alive"),
    }
}

async fn limited(tools: &Tools, command: &str) -> ToolOutput {
    tools
        .call(
            "skills_run",
            json!({"name": "kit", "command": command, "timeout": 1}),
        )
        .await
}

/// Returns the text without the lines about the files that the processes wrote until then.
fn without_files(outcome: &ToolOutput) -> String {
    let text = outcome.text();
    let lines = text.lines().filter(|line| !line.starts_with("created "));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn all_processes_die_at_the_deadline() {
    if skip_without_sandbox() {
        return;
    }
    let cases = [
        ("itself", "linger('a')"),
        (
            "deaf",
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nlinger('a')",
        ),
        ("child", "if os.fork() == 0:\n    linger('a')\nlinger('b')"),
        (
            "session",
            "if os.fork() == 0:\n    attempt(os.setsid)\n    linger('a')\nlinger('b')",
        ),
        (
            "twice",
            "if os.fork() == 0:\n    attempt(os.setsid)\n    if os.fork() == 0:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        \
             linger('a')\n    os._exit(0)\nlinger('b')",
        ),
        (
            "silent",
            "if os.fork() == 0:\n    attempt(os.setsid)\n    [os.close(n) for n in (0, 1, 2)]\n    linger('a')\n[os.close(n) for n in (0, 1, 2)]\nlinger('b')",
        ),
    ];
    for (name, leave) in cases {
        let host = holding(leave);
        let tools = host.allowing(&["spawn", &host.write_rule()]);
        let outcome = limited(&tools, "scripts/hold.py").await;
        assert_eq!(
            without_files(&outcome),
            "Command timed out after 1 seconds\nProgram output:\nstarted",
            "{name}"
        );
        assert_eq!(
            (outcome.code(), &outcome.structured["timed_out"]),
            (Some("timed_out"), &json!(true)),
            "{name}"
        );
        assert_eq!(outcome.structured["exit_code"], json!(null), "{name}");
        all_are_gone(&host).await;
        assert!(
            host.path("workspace/a").exists(),
            "{name}: the process to kill never started"
        );
        let size = std::fs::metadata(host.path("workspace/canary"))
            .unwrap()
            .len();
        assert_eq!(run(&tools, "true").await.text(), "(no output)", "{name}");
        assert_eq!(
            std::fs::metadata(host.path("workspace/canary"))
                .unwrap()
                .len(),
            size,
            "{name}"
        );
    }
}

/// A program that exits leaves no process behind.
#[tokio::test]
async fn when_the_program_ends_its_children_die() {
    if skip_without_sandbox() {
        return;
    }
    for close in ["", "    [os.close(n) for n in (0, 1, 2)]\n"] {
        let host = holding(&format!(
            "reader, writer = os.pipe()\nif os.fork() == 0:\n    attempt(os.setsid)\n{close}    \
             linger('a', lambda: os.write(writer, b'x'))\nos.read(reader, 1)\nos._exit(0)"
        ));
        let tools = host.allowing(&["spawn", &host.write_rule()]);
        let arguments = json!({"name": "kit", "command": "scripts/hold.py", "timeout": 10});
        let outcome = tools.call("skills_run", arguments).await;
        assert!(
            outcome.answer() == "started"
                || outcome.has_code(skills_tools::ToolErrorCode::TimedOut),
            "{}",
            outcome.answer()
        );
        all_are_gone(&host).await;
        assert!(host.path("workspace/a").exists());
    }
}

#[tokio::test]
async fn without_permission_there_is_no_second_process() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[(
        "fork.py",
        "import os, subprocess\nfor call in (os.fork, lambda: subprocess.run(['true']), lambda: os.system('true') and 1 / 0):\n    try:\n        \
         call()\n        print('ran')\n    except (OSError, ZeroDivisionError):\n        print('refused')\n",
    )]);
    assert_eq!(
        run(&host.tools(), "scripts/fork.py").await.text(),
        "refused: spawn another program\nProgram output:\nrefused\nrefused\nrefused"
    );
}

#[tokio::test]
async fn a_cancelled_run_is_stopped_and_keeps_its_output() {
    if skip_without_sandbox() {
        return;
    }
    let host = holding("if os.fork() == 0:\n    attempt(os.setsid)\n    linger('a')\nlinger('b')");
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    let cancellation = CancellationToken::new();
    let context = CallContext::default().cancellation(cancellation.clone());
    let has_begun = || host.path("workspace/a").exists() && host.path("workspace/b").exists();
    let begin = async {
        while !has_begun() {
            tokio::task::yield_now().await;
        }
    };
    let arguments = json!({"name": "kit", "command": "scripts/hold.py", "timeout": 60});
    let mut call = pin!(tools.call_in("skills_run", arguments, &context));
    tokio::select! {
        outcome = &mut call => panic!("it ended by itself: {}", outcome.text()),
        () = begin => cancellation.cancel(),
    }
    let outcome = call.await;
    assert_eq!(
        (outcome.code(), without_files(&outcome).as_str()),
        (
            Some("cancelled"),
            "Error: cancelled\nProgram output:\nstarted"
        )
    );
    assert_eq!(outcome.structured["stdout"], "started\n");
    all_are_gone(&host).await;
    // A call that was cancelled before it started runs nothing.
    std::fs::remove_file(host.path("workspace/a")).unwrap();
    for (tool, arguments) in [
        (
            "skills_run",
            json!({"name": "kit", "command": "scripts/hold.py"}),
        ),
        ("skills_bash", json!({"command": "touch a"})),
        (
            "run_skill_script",
            json!({"skill_name": "kit", "script_name": "hold"}),
        ),
    ] {
        assert_eq!(
            tools.call_in(tool, arguments, &context).await.code(),
            Some("cancelled"),
            "{tool}"
        );
    }
    assert!(!host.path("workspace/a").exists());
}

#[tokio::test]
async fn endless_output_is_truncated_and_stopped() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[(
        "flood.py",
        "import sys\nsys.stdout.write('begin')\nwhile True:\n    sys.stdout.write('x' * 65536)\n",
    )]);
    let outcome = run(&host.tools(), "scripts/flood.py").await;
    assert!(
        outcome.is_error
            && outcome
                .text()
                .starts_with("Error: the program was stopped: "),
        "{}",
        &outcome.text()[..200]
    );
    let stdout = outcome.structured["stdout"].as_str().unwrap();
    assert!(
        stdout.starts_with("beginx") && stdout.ends_with('x') && stdout.len() < 257 * 1024,
        "{}",
        stdout.len()
    );
    assert_eq!(
        (
            &outcome.structured["stdout_truncated"],
            &outcome.structured["stderr_truncated"]
        ),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (
            &outcome.structured["timed_out"],
            &outcome.structured["exit_code"]
        ),
        (&json!(false), &json!(null))
    );
    assert!(outcome.text().contains("bytes omitted") && outcome.text().len() < 258 * 1024);
}

#[tokio::test]
async fn long_output_keeps_its_start_and_end() {
    if skip_without_sandbox() {
        return;
    }
    let much = "import sys\nsys.stderr.write('begin\\n' + 'e' * 2000000 + '\\nend\\n')\nsys.stdout.write('done\\n')\n";
    let host = kit(&[("much.py", much)]);
    host.file("workspace/much.py", much);
    let tools = host.allowing(&["spawn:python3"]);
    for outcome in [
        run(&tools, "scripts/much.py").await,
        super::bash(&tools, "python3 much.py", "").await,
    ] {
        assert!(
            !outcome.is_error
                && outcome.answer().starts_with("done\n")
                && outcome.text().ends_with("\nend"),
            "{}",
            outcome.text().len()
        );
        let stderr = outcome.structured["stderr"].as_str().unwrap();
        assert!(
            stderr.starts_with("begin\ne")
                && stderr.ends_with("e\nend\n")
                && stderr.len() < 257 * 1024
        );
        assert!(
            stderr.contains("[... 1737867 bytes omitted ...]"),
            "{}",
            &stderr[190_000..200_000].trim_matches('e')
        );
        assert_eq!(
            (
                &outcome.structured["stdout_truncated"],
                &outcome.structured["stderr_truncated"]
            ),
            (&json!(false), &json!(true))
        );
    }
}

#[tokio::test]
async fn escape_sequences_in_output_are_removed() {
    if skip_without_sandbox() {
        return;
    }
    let source = r"import sys
sys.stdout.buffer.write(b'caf\xe9 \xff\n\x1b[31mred\x1b[0m \x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x00\x08\x7f\r\n')
sys.stdout.buffer.write('\u202etfel\u200b \U000e0041\x9b2Jend'.encode())
sys.stderr.buffer.write(b'\x1b[2J\x1b]52;c;aGk=\x07warned')
";
    let host = kit(&[("paint.py", source)]);
    let outcome = run(&host.tools(), "scripts/paint.py").await;
    assert_eq!(
        outcome.answer(),
        "caf\u{fffd} \u{fffd}\nred alink\ntfel end\nwarned"
    );
    assert!(
        outcome.structured["stdout"]
            .as_str()
            .unwrap()
            .contains("\u{1b}[31mred"),
        "the data are unchanged"
    );
    let fails = kit(&[("fail.py", &format!("{source}sys.exit(2)\n"))]);
    let outcome = run(&fails.tools(), "scripts/fail.py").await;
    assert!(
        !outcome.text().chars().any(|c| c.is_control() && c != '\n'),
        "{:?}",
        outcome.text()
    );
    let outcome = fails
        .tools()
        .call(
            "run_skill_script",
            json!({"skill_name": "kit", "script_name": "fail"}),
        )
        .await;
    assert_eq!(
        (outcome.text().as_ref(), outcome.code()),
        (
            "Error: Script exited with code 2\nProgram output:\nwarned",
            Some("failed")
        )
    );
}

/// Loses the records of ends.
struct LosesEnd;

impl AuditSink for LosesEnd {
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        match &event.termination {
            None => Ok(()),
            Some(_) => Err(AuditError::other(std::io::Error::other("the disk is full"))),
        }
    }
}

/// The host application has to know that the program ran.
#[tokio::test]
async fn a_lost_record_of_the_end_is_not_a_call_that_started_nothing() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("a.py", "print('ran')")]);
    let runtime = host.runtime().audit(Arc::new(LosesEnd));
    let tools = host.wrap(host.builder(runtime).build().unwrap());
    let result = run(&tools, "python scripts/a.py").await;
    assert_eq!(
        result.structured["error"]["code"],
        "internal",
        "{}",
        result.text()
    );
    assert!(result.started_program, "{}", result.text());
    assert_eq!(result.exit_status, None);
    let absent = run(&tools, "python scripts/absent.py").await;
    assert!(absent.is_error && !absent.started_program);
}
