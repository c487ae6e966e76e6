use std::time::Duration;

use skills_sandbox::{Sandbox, Termination};
use skills_sandbox_linux::IsolationMode;
use tokio::time::timeout;

use crate::lifetime_pipe::{LifetimePipe, TEST_TIMEOUT};
use crate::skill::{Skill, supported_modes};

/// A script that starts a daemon, which holds the pipe `alive` of the workspace and both output
/// streams open for as long as it lives. When it has opened the pipe, it creates the file `up`.
const DAEMON: &str =
    "(echo beat >&3; : > ../workspace/up; exec sleep 600) 3> ../workspace/alive &\necho started\n";

#[tokio::test]
async fn the_deadline_kills_the_whole_tree_and_keeps_partial_output() {
    for mode in supported_modes() {
        // On a busy host the daemon may not start before an early deadline.
        for limit_ms in [1_500, 6_000, 24_000] {
            let mut skill = Skill::new(mode).tool("Bash").tool("Write");
            skill.limits.wall_time = Duration::from_millis(limit_ms);
            let mut daemon = LifetimePipe::new(&skill);
            let job = skill.job("main.sh", &format!("{DAEMON}while :; do :; done"));
            let output = timeout(TEST_TIMEOUT, skill.run(job)).await.unwrap();
            assert_eq!(output.termination, Termination::TimedOut { limit_ms });
            assert_eq!(skill.leftovers(), 0);
            if daemon.was_opened() {
                assert_eq!(output.stdout.text(), "started\n");
                assert!(daemon.is_released().await, "{mode:?}: the daemon is alive");
                break;
            }
            assert!(limit_ms < 24_000, "{mode:?}: the daemon did not start");
        }
    }
}

#[tokio::test]
async fn a_program_that_repeats_observed_calls_is_stopped_at_the_deadline() {
    for mode in supported_modes() {
        for call in [
            "os.execv('/usr/bin/env', ['env'])",
            "socket.socket().connect(('127.0.0.1', 1))",
        ] {
            let mut skill = Skill::new(mode);
            skill.limits.wall_time = Duration::from_millis(1_500);
            // Two threads, so that a call always waits for an answer.
            let script = format!(
                "import os, socket, threading\ndef repeat():\n    while True:\n        try:\n            {call}\n        except OSError:\n            pass\nthreading.Thread(target=repeat).start()\nrepeat()"
            );
            let output = timeout(TEST_TIMEOUT, skill.python(&script)).await.unwrap();
            let expected = Termination::TimedOut { limit_ms: 1_500 };
            assert_eq!(output.termination, expected, "{call}");
        }
    }
}

#[tokio::test]
async fn no_process_survives_a_normal_exit() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash").tool("Write");
        let mut daemon = LifetimePipe::new(&skill);
        let output = skill
            .run(skill.job(
                "main.sh",
                &format!("{DAEMON}while [ ! -e ../workspace/up ]; do :; done"),
            ))
            .await;
        assert_eq!(
            (
                output.stdout.text().as_str(),
                output.termination.is_success()
            ),
            ("started\n", true)
        );
        assert!(daemon.is_released().await, "{mode:?}: the daemon is alive");
    }
}

#[tokio::test]
async fn a_daemon_cannot_leave_its_process_group() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash").tool("Write");
        let mut daemon = LifetimePipe::new(&skill);
        let script = "import os, signal, time\nif os.fork() == 0:\n    try: os.setsid()\n    except OSError: pass\n    if os.fork() == 0:\n        \
                  os.write(os.open('../workspace/alive', os.O_WRONLY), b'beat')\n        open('../workspace/up', 'w')\n        \
                  while True: signal.pause()\n    os._exit(0)\n\
                  while not os.path.exists('../workspace/up'): time.sleep(0.01)";
        assert!(skill.python(script).await.termination.is_success());
        assert!(daemon.is_released().await, "{mode:?}: the daemon is alive");
    }
}

#[tokio::test]
async fn dropping_the_run_kills_it() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash").tool("Write");
        let mut daemon = LifetimePipe::new(&skill);
        let job = skill.job("main.sh", &format!("{DAEMON}while :; do :; done"));
        let sandbox = skill.sandbox();
        tokio::select! {
            output = sandbox.run(job) => panic!("the script never ends by itself: {output:?}"),
            is_opened = daemon.is_opened() => assert!(is_opened, "{mode:?}: the daemon did not start"),
        }
        assert!(daemon.is_released().await, "{mode:?}: the daemon is alive");
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_runs_do_not_share_output() {
    for mode in supported_modes() {
        let skill = std::sync::Arc::new(Skill::new(mode));
        let job = skill.job("main.py", "import sys\nprint(sys.stdin.read() * 3)");
        let mut runs = tokio::task::JoinSet::new();
        for index in 0..32 {
            let (skill, job) = (
                std::sync::Arc::clone(&skill),
                job.clone().stdin(format!("{index},").into_bytes()),
            );
            runs.spawn(async move { (index, skill.run(job).await) });
        }
        while let Some(run) = runs.join_next().await {
            let (index, output) = run.unwrap();
            assert_eq!(
                output.stdout.text(),
                format!("{index},{index},{index},\n"),
                "{}",
                output.stderr.text()
            );
        }
        assert_eq!(skill.leftovers(), 0);
    }
}

/// The host process of the next test: it runs a script that starts a daemon, and waits to be
/// killed. Without a workspace in its environment, as in any other run of the tests, it does
/// nothing.
#[tokio::test]
async fn a_host_process_to_kill() {
    let Some(workspace) = std::env::var_os("SKILLS_TEST_HOST") else {
        return;
    };
    let isolation = if std::env::var_os("SKILLS_TEST_LANDLOCK").is_some() {
        IsolationMode::LandlockOnly
    } else {
        IsolationMode::Namespaces
    };
    let mut skill = Skill::new(isolation).tool("Bash").tool("Write");
    skill.workspace = Some(workspace.into());
    skill.limits.wall_time = TEST_TIMEOUT * 5;
    let job = skill.job(
        "main.sh",
        "(echo beat >&3; exec sleep 600) 3> \"$1/alive\" &\nwait\n",
    );
    let workspace = skill.path("workspace").display().to_string();
    let _ = skill.run(job.arg(workspace)).await;
}

#[tokio::test]
async fn no_process_survives_a_killed_host() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let mut daemon = LifetimePipe::new(&skill);
        let mut host = std::process::Command::new(std::env::current_exe().unwrap());
        host.args(["--exact", "lifetime::a_host_process_to_kill"])
            .env("SKILLS_TEST_HOST", skill.path("workspace"));
        if mode == IsolationMode::LandlockOnly {
            host.env("SKILLS_TEST_LANDLOCK", "1");
        }
        let mut host = host
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let is_opened = daemon.is_opened().await;
        host.kill().unwrap();
        host.wait().unwrap();
        assert!(is_opened, "{mode:?}: the daemon did not start");
        assert!(daemon.is_released().await, "{mode:?}: the daemon is alive");
    }
}
