use std::time::Duration;

use skills_sandbox::{Sandbox, Termination};
use skills_sandbox_linux::IsolationMode;
use tokio::time::timeout;

use crate::lifeline::{Lifeline, PATIENCE};
use crate::skill::{Skill, isolations};

/// A script that starts a daemon, which holds the pipe `alive` of the workspace, and both streams
/// of the run, for as long as it lives; when it has the pipe, it makes the file `up`.
const DAEMON: &str =
    "(echo beat >&3; : > ../workspace/up; exec sleep 600) 3> ../workspace/alive &\necho started\n";

#[tokio::test]
async fn the_deadline_kills_the_whole_tree_and_keeps_partial_output() {
    for tier in isolations() {
        // A busy machine may not start the daemon before an early deadline.
        for limit_ms in [1_500, 6_000, 24_000] {
            let mut skill = Skill::new(tier).tool("Bash").tool("Write");
            skill.limits.wall_time = Duration::from_millis(limit_ms);
            let mut daemon = Lifeline::new(&skill);
            let job = skill.job("main.sh", &format!("{DAEMON}while :; do :; done"));
            let outcome = timeout(PATIENCE, skill.run(job)).await.unwrap();
            assert_eq!(outcome.termination, Termination::TimedOut { limit_ms });
            assert_eq!(skill.leftovers(), 0);
            if daemon.was_opened() {
                assert_eq!(outcome.stdout.text(), "started\n");
                assert!(daemon.is_released().await, "{tier:?}: the daemon is alive");
                break;
            }
            assert!(limit_ms < 24_000, "{tier:?}: the daemon never lived");
        }
    }
}

#[tokio::test]
async fn nothing_survives_a_normal_exit_or_holds_the_pipes() {
    for tier in isolations() {
        let skill = Skill::new(tier).tool("Bash").tool("Write");
        let mut daemon = Lifeline::new(&skill);
        let outcome = skill
            .run(skill.job(
                "main.sh",
                &format!("{DAEMON}while [ ! -e ../workspace/up ]; do :; done"),
            ))
            .await;
        assert_eq!(
            (
                outcome.stdout.text().as_str(),
                outcome.termination.is_success()
            ),
            ("started\n", true)
        );
        assert!(daemon.is_released().await, "{tier:?}: the daemon is alive");
    }
}

#[tokio::test]
async fn a_daemon_cannot_leave_its_group() {
    for tier in isolations() {
        let skill = Skill::new(tier).tool("Bash").tool("Write");
        let mut daemon = Lifeline::new(&skill);
        let script = "import os, signal, time\nif os.fork() == 0:\n    try: os.setsid()\n    except OSError: pass\n    if os.fork() == 0:\n        \
                  os.write(os.open('../workspace/alive', os.O_WRONLY), b'beat')\n        open('../workspace/up', 'w')\n        \
                  while True: signal.pause()\n    os._exit(0)\n\
                  while not os.path.exists('../workspace/up'): time.sleep(0.01)";
        assert!(skill.python(script).await.termination.is_success());
        assert!(daemon.is_released().await, "{tier:?}: the daemon is alive");
    }
}

#[tokio::test]
async fn dropping_the_run_kills_it() {
    for tier in isolations() {
        let skill = Skill::new(tier).tool("Bash").tool("Write");
        let mut daemon = Lifeline::new(&skill);
        let job = skill.job("main.sh", &format!("{DAEMON}while :; do :; done"));
        let sandbox = skill.sandbox();
        tokio::select! {
            outcome = sandbox.run(job) => panic!("the script never ends by itself: {outcome:?}"),
            is_opened = daemon.is_opened() => assert!(is_opened, "{tier:?}: the daemon never lived"),
        }
        assert!(daemon.is_released().await, "{tier:?}: the daemon is alive");
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_at_once_do_not_mix() {
    for tier in isolations() {
        let skill = std::sync::Arc::new(Skill::new(tier));
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
            let (index, outcome) = run.unwrap();
            assert_eq!(
                outcome.stdout.text(),
                format!("{index},{index},{index},\n"),
                "{}",
                outcome.stderr.text()
            );
        }
        assert_eq!(skill.leftovers(), 0);
    }
}

/// The host of the next test: it runs a script that starts a daemon, and waits to be killed.
/// Without a place to do so, as in any other run of the tests, it does nothing.
#[tokio::test]
async fn a_host_that_will_be_killed() {
    let Some(place) = std::env::var_os("SKILLS_TEST_HOST") else {
        return;
    };
    let isolation = if std::env::var_os("SKILLS_TEST_LANDLOCK").is_some() {
        IsolationMode::LandlockOnly
    } else {
        IsolationMode::Namespaces
    };
    let mut skill = Skill::new(isolation).tool("Bash").tool("Write");
    skill.workspace = Some(place.into());
    skill.limits.wall_time = PATIENCE * 5;
    let job = skill.job(
        "main.sh",
        "(echo beat >&3; exec sleep 600) 3> \"$1/alive\" &\nwait\n",
    );
    let place = skill.path("workspace").display().to_string();
    let _ = skill.run(job.arg(place)).await;
}

#[tokio::test]
async fn nothing_survives_a_host_that_is_killed() {
    for tier in isolations() {
        let skill = Skill::new(tier);
        let mut daemon = Lifeline::new(&skill);
        let mut host = std::process::Command::new(std::env::current_exe().unwrap());
        host.args(["--exact", "lifetime::a_host_that_will_be_killed"])
            .env("SKILLS_TEST_HOST", skill.path("workspace"));
        if tier == IsolationMode::LandlockOnly {
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
        assert!(is_opened, "{tier:?}: the daemon never lived");
        assert!(daemon.is_released().await, "{tier:?}: the daemon is alive");
    }
}
