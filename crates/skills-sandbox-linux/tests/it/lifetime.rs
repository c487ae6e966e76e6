use std::time::{Duration, Instant};

use skills_sandbox::{Termination, Sandbox};
use skills_sandbox_linux::Isolation;

use crate::skill::{Skill, tiers};

/// A script that starts a daemon, which appends to a file of the workspace for as long as it lives.
const DAEMON: &str = "(while :; do echo beat >> ../workspace/heart; sleep 0.05; done) &\necho started\n";

fn heart(skill: &Skill) -> u64 {
    std::fs::metadata(skill.path("workspace/heart")).map_or(0, |file| file.len())
}

/// Waits until the heart has beaten, then checks that it does not beat any more.
async fn assert_dead(skill: &Skill) {
    let before = heart(skill);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(heart(skill), before, "the daemon is alive");
}

#[tokio::test]
async fn the_deadline_kills_the_whole_tree_and_keeps_partial_output() {
    for tier in tiers() {
        let mut skill = Skill::new(tier).tool("Bash").tool("Write");
        skill.limits.wall_time = Duration::from_millis(1_500);
        let started = Instant::now();
        let outcome = skill.run(skill.job("main.sh", &format!("{DAEMON}while :; do :; done"))).await;
        assert_eq!(outcome.termination, Termination::TimedOut { limit_ms: 1_500 });
        assert_eq!(outcome.stdout.text(), "started\n");
        assert!(started.elapsed() < Duration::from_secs(10), "an endless script came to an end");
        assert!(heart(&skill) > 0);
        assert_dead(&skill).await;
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test]
async fn nothing_survives_a_normal_exit_or_holds_the_pipes() {
    for tier in tiers() {
        let skill = Skill::new(tier).tool("Bash").tool("Write");
        let outcome = skill.run(skill.job("main.sh", &format!("{DAEMON}while [ ! -s ../workspace/heart ]; do :; done"))).await;
        assert_eq!((outcome.stdout.text().as_str(), outcome.termination.is_success()), ("started\n", true));
        assert_dead(&skill).await;
    }
}

#[tokio::test]
async fn a_daemon_cannot_leave_its_group() {
    for tier in tiers() {
        let mut skill = Skill::new(tier).tool("Bash").tool("Write");
        skill.limits.wall_time = Duration::from_secs(15);
        let script = "import os, time\nif os.fork() == 0:\n    try: os.setsid()\n    except OSError: pass\n    if os.fork() == 0:\n        \
                  while True:\n            open('../workspace/heart', 'a').write('x')\n            time.sleep(0.02)\n    os._exit(0)\n\
                  while not os.path.exists('../workspace/heart'): time.sleep(0.01)";
        assert!(skill.python(script).await.termination.is_success());
        assert_dead(&skill).await;
    }
}

#[tokio::test]
async fn dropping_the_run_kills_it() {
    for tier in tiers() {
        let skill = Skill::new(tier).tool("Bash").tool("Write");
        let job = skill.job("main.sh", &format!("{DAEMON}while :; do :; done"));
        let sandbox = skill.sandbox();
        {
            let mut run = sandbox.run(job);
            while heart(&skill) == 0 {
                assert!(tokio::time::timeout(Duration::from_millis(20), &mut run).await.is_err(), "the script never ends by itself");
            }
        }
        assert_dead(&skill).await;
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_at_once_do_not_mix() {
    for tier in tiers() {
        let skill = std::sync::Arc::new(Skill::new(tier));
        let job = skill.job("main.py", "import sys\nprint(sys.stdin.read() * 3)");
        let mut runs = tokio::task::JoinSet::new();
        for index in 0..32 {
            let (skill, job) = (std::sync::Arc::clone(&skill), job.clone().stdin(format!("{index},").into_bytes()));
            runs.spawn(async move { (index, skill.run(job).await) });
        }
        while let Some(run) = runs.join_next().await {
            let (index, outcome) = run.unwrap();
            assert_eq!(outcome.stdout.text(), format!("{index},{index},{index},\n"), "{}", outcome.stderr.text());
        }
        assert_eq!(skill.leftovers(), 0);
    }
}

/// The host of the next test: it runs a script that starts a daemon, and waits to be killed. Without a place to do so, as in any other run of
/// the tests, it does nothing.
#[tokio::test]
async fn a_host_that_will_be_killed() {
    let Some(place) = std::env::var_os("SKILLS_TEST_HOST") else { return };
    let isolation = if std::env::var_os("SKILLS_TEST_LANDLOCK").is_some() { Isolation::Landlock } else { Isolation::Isolated };
    let mut skill = Skill::new(isolation).tool("Bash").tool("Write");
    skill.workspace = Some(place.into());
    skill.limits.wall_time = Duration::from_secs(60);
    let daemon = "(while :; do echo beat >> \"$1/heart\"; sleep 0.05; done) &\nwait\n";
    let job = skill.job("main.sh", daemon);
    let place = skill.path("workspace").display().to_string();
    let _ = skill.run(job.arg(place)).await;
}

#[tokio::test]
async fn nothing_survives_a_host_that_is_killed() {
    for tier in tiers() {
        let skill = Skill::new(tier);
        let mut host = std::process::Command::new(std::env::current_exe().unwrap());
        host.args(["--exact", "lifetime::a_host_that_will_be_killed"]).env("SKILLS_TEST_HOST", skill.path("workspace"));
        if tier == Isolation::Landlock {
            host.env("SKILLS_TEST_LANDLOCK", "1");
        }
        let mut host = host.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while heart(&skill) == 0 && started.elapsed() < Duration::from_secs(30) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(heart(&skill) > 0, "{tier:?}: the daemon never lived");
        host.kill().unwrap();
        host.wait().unwrap();
        // It has a second to die.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_dead(&skill).await;
    }
}
