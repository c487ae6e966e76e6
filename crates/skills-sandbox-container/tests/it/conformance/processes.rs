//! Processes: cases 52 to 58.

use std::time::Duration;

use skills_sandbox::{Sandbox, Termination};
use skills_sandbox_conformance::attempts::DAEMON;
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::scene::{Victim, processes_with_argument};
use tokio::time::timeout;

use super::attempts::{create_scene, sandbox, script};
use super::host;
use crate::lifetime_pipe::{LifetimePipe, TEST_TIMEOUT};

pub(crate) async fn observe(observations: &mut Observations) {
    outliving_the_deadline(observations).await;
    outliving_the_exit(observations).await;
    reused_numbers(observations).await;
    host_killed(observations).await;
    unresponsive(observations).await;
    spawning(observations).await;
}

async fn outliving_the_deadline(observations: &mut Observations) {
    // On a busy host the daemon may not start before an early deadline.
    for limit_ms in [2_500, 10_000, 40_000] {
        let mut skill = create_scene().workspace();
        skill.limits.wall_time = Duration::from_millis(limit_ms);
        let mut daemon = LifetimePipe::new(&skill);
        let output = script(&skill, &format!("{DAEMON}while True: time.sleep(1)")).await;
        if daemon.was_opened() || limit_ms == 40_000 {
            let is_late = output.termination == Termination::TimedOut { limit_ms };
            observations.check(
                52,
                &format!("{:?}", output.termination),
                AttemptResult::Contained,
                is_late && daemon.is_released().await,
            );
            break;
        }
    }
}

async fn outliving_the_exit(observations: &mut Observations) {
    let mut skill = create_scene().workspace();
    // The daemon holds both output pipes open, so a run that waits for them would last longer than
    // the timeout of this test.
    skill.limits.wall_time = TEST_TIMEOUT * 10;
    let mut daemon = LifetimePipe::new(&skill);
    match timeout(TEST_TIMEOUT, script(&skill, DAEMON)).await {
        Ok(output) => {
            let is_well = output.termination.is_success() && output.stdout.text() == "started\n";
            let what = format!("{:?} {}", output.termination, output.stderr.text());
            observations.check(54, &what, AttemptResult::Contained, is_well);
            let is_ended = is_well && daemon.is_released().await;
            observations.check(53, &what, AttemptResult::Contained, is_ended);
        }
        Err(_) => {
            for case in [53, 54] {
                observations.observe(
                    case,
                    "the run waits for the daemon",
                    AttemptResult::Succeeded,
                );
            }
        }
    }
}

/// Other processes start while runs end in all ways. A process with a reused number must not be killed.
async fn reused_numbers(observations: &mut Observations) {
    let mut others: Vec<Victim> = Vec::new();
    let mut skill = create_scene();
    skill.limits.wall_time = Duration::from_millis(150);
    let sandbox = sandbox(&skill);
    for round in 0..4 {
        others.push(Victim::start());
        let text = if round % 2 == 0 {
            ":"
        } else {
            "while :; do :; done"
        };
        let job = skill.job("main.sh", &format!("(while :; do :; done) & {text}"));
        if round == 3 {
            // A run whose future is dropped.
            let _ = timeout(Duration::from_millis(700), sandbox.run(job)).await;
        } else {
            let _ = sandbox.run(job).await;
        }
    }
    let are_alive = others.iter_mut().all(Victim::is_alive);
    observations.check(56, "other processes", AttemptResult::NoEffect, are_alive);
}

/// A separate host process starts a run with a daemon, and is killed. The next process removes the
/// container.
async fn host_killed(observations: &mut Observations) {
    let skill = create_scene();
    let mut running = LifetimePipe::named(&skill, "script");
    let mut daemon = LifetimePipe::new(&skill);
    let mut host = host::command("killed")
        .env("SKILLS_TEST_ROOT", skill.path(""))
        .spawn()
        .unwrap();
    let is_started = running.is_opened().await && daemon.is_opened().await;
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(is_started, "the host's run does not start");
    let own = skill.path("skill").display().to_string();
    let left = processes_with_argument(&own);
    // Another process of the backend, with a connection of its own.
    let output = script(&create_scene(), "print('ran')").await;
    assert_eq!(output.stdout.text(), "ran\n");
    if left.is_empty() {
        observations.observe(55, "all processes are killed", AttemptResult::Contained);
    } else {
        observations.check_reported(55, &output.enforcement, "host-death");
    }
    let is_removed = running.is_released().await && daemon.is_released().await;
    observations.check(
        55,
        "the container after the next run",
        AttemptResult::Reported,
        is_removed,
    );
}

async fn unresponsive(observations: &mut Observations) {
    let mut skill = create_scene();
    skill.limits.wall_time = Duration::from_millis(700);
    for text in [
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: time.sleep(1)",
        "import os, signal, time\nfor number in range(1, 65):\n    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n\
         pid = os.fork()\nif pid == 0:\n    while True: time.sleep(1)\nos.kill(pid, signal.SIGSTOP)\nwhile True: time.sleep(1)",
    ] {
        let ended = timeout(TEST_TIMEOUT, script(&skill, text)).await;
        let ended = ended.map(|output| output.termination);
        observations.check(
            57,
            &format!("{ended:?}"),
            AttemptResult::Contained,
            ended == Ok(Termination::TimedOut { limit_ms: 700 }),
        );
    }
}

/// Programs of the image start without a grant, and the report says so.
async fn spawning(observations: &mut Observations) {
    let skill = create_scene();
    let text = "import os, subprocess\nsubprocess.run(['/bin/ls'], check=True, stdout=subprocess.DEVNULL)\n\
                if os.fork() == 0: os.execv('/bin/sh', ['sh', '-c', 'echo spawned'])\nos.wait()";
    let output = script(&skill, text).await;
    if output.stdout.text() == "spawned\n" {
        observations.check_reported(58, &output.enforcement, "processes");
    } else {
        let what = format!("{:?} {}", output.termination, output.stderr.text());
        observations.observe(58, &what, AttemptResult::Denied);
    }
}
