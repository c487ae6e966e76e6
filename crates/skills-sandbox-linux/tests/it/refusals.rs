//! What a run was refused is in its result, with the narrowest rule that allows it.

use skills_sandbox::{Evidence, RunOutput};

use super::skill::{Skill, supported_modes};

/// Returns one line for each refusal: what was refused, how often, and the rule that allows it.
fn lines(output: &RunOutput) -> Vec<String> {
    output
        .refusals
        .list()
        .iter()
        .map(|refusal| {
            assert_eq!(refusal.evidence, Evidence::Observed);
            let rule = refusal.operation.target();
            let rule = rule.map_or("-".to_owned(), |target| target.to_string());
            format!("{} ({}): {rule}", refusal.operation, refusal.count)
        })
        .collect()
}

#[tokio::test]
async fn a_refused_process_is_reported() {
    for mode in supported_modes() {
        let output = Skill::new(mode).run_shell("echo $(ls)").await;
        assert_eq!(lines(&output), ["spawn another program (1): spawn"]);
        let script = "import subprocess\ntry:\n    subprocess.run(['git', 'status'])\nexcept OSError as e:\n    print(e.errno)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "1\n", "{}", output.stderr.text());
        // Python tries `vfork`, then `clone`.
        let [line] = lines(&output).try_into().unwrap();
        assert!(line.starts_with("spawn another program"), "{line}");
    }
}

#[tokio::test]
async fn a_refused_program_is_reported_by_its_name() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash(ls:*)");
        let output = skill
            .run_shell("ls / >/dev/null; od /dev/null; od /dev/null; no-such-program-here; true")
            .await;
        assert_eq!(lines(&output), ["spawn `od` (2): spawn:od"]);
    }
}

#[tokio::test]
async fn a_refused_socket_is_reported() {
    for mode in supported_modes() {
        let script = "import socket\nfor family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):\n    try:\n        socket.socket(family)\n    except OSError as e:\n        print(e.errno)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "1\n1\n1\n");
        assert_eq!(lines(&output), ["open a network connection (2): -"]);
    }
}

#[tokio::test]
async fn what_a_program_says_is_not_observed() {
    for mode in supported_modes() {
        let script = "echo 'main.sh: fork: Operation not permitted' >&2; exit 254";
        let output = Skill::new(mode).run_shell(script).await;
        assert_eq!(lines(&output), Vec::<String>::new());
    }
}

#[tokio::test]
async fn threads_that_are_refused_a_thousand_processes_get_a_thousand_errors() {
    for mode in supported_modes() {
        let script = "import os, threading
errors = []
def work():
    for _ in range(125):
        try:
            os.fork()
        except OSError as e:
            errors.append(e.errno)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(errors), set(errors))";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(
            output.stdout.text(),
            "1000 {1}\n",
            "{}",
            output.stderr.text()
        );
        assert_eq!(lines(&output), ["spawn another program (1000): spawn"]);
    }
}

/// A signal restarts a call that waits for its answer, unless the kernel lets only a fatal one
/// interrupt it.
#[tokio::test]
async fn a_timer_does_not_keep_a_call_from_its_answer() {
    for mode in supported_modes() {
        let script = "import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
count = 0
for _ in range(200):
    try:
        os.fork()
    except OSError:
        count += 1
print(count)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "200\n", "{}", output.stderr.text());
    }
}

/// A program that is killed while it waits for an answer ends the run like any other.
#[tokio::test]
async fn a_process_that_dies_while_it_waits_ends_its_run() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash(sleep:*)").tool("Bash(sh:*)");
        let script = "for i in 1 2 3 4 5 6 7 8; do (while :; do sh -c 'od'; done) 2>/dev/null & done; sleep 0.2; kill -9 $(jobs -p) 2>/dev/null; exit 7";
        let output = skill.run_shell(script).await;
        assert_eq!(output.termination.to_string(), "exit code 7");
        assert_eq!(output.refusals.list().len(), 1);
    }
}
