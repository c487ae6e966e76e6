//! Programs that are asked to end, by their caller or at their deadline, before they are killed.

use std::time::{Duration, Instant};

use skills_sandbox::{
    CancellationToken, Job, OutputStream, ProgramStreams, RunEvent, RunOutput, StopSignal,
    Termination, run_events,
};
use tokio::time::timeout;

use crate::lifetime_pipe::{LifetimePipe, TEST_TIMEOUT};
use crate::skill::{Skill, supported_modes};

/// Prints the name of the signal that asks it to end, and exits with success. It sleeps for short
/// periods, since Python runs its handler after a sleep that began just after the signal.
const CLEANS_UP: &str = "import signal, sys, time
def clean(number, _):
    sys.stdout.write(signal.Signals(number).name + '\\n')
    sys.stdout.flush()
    sys.exit(0)
for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
    signal.signal(number, clean)
sys.stdout.write('ready\\n')
sys.stdout.flush()
while True: time.sleep(0.01)
";

/// Runs a job, and cancels it once it has printed something.
async fn run_cancelled(skill: &Skill, job: Job, signal: StopSignal, grace: Duration) -> RunOutput {
    let (events, mut receiver) = run_events();
    let mut streams = ProgramStreams::default();
    streams.events = Some(events);
    let token = CancellationToken::new();
    let job = job.streams(streams).cancellation(token.clone());
    let cancel = async {
        while let Some(event) = receiver.next().await {
            if let RunEvent::Output {
                stream: OutputStream::Stdout,
                ..
            } = event
            {
                token.cancel_with(signal, grace);
            }
        }
    };
    let (output, ()) = timeout(TEST_TIMEOUT, async { tokio::join!(skill.run(job), cancel) })
        .await
        .unwrap();
    output
}

#[tokio::test]
async fn a_program_gets_the_signal_of_its_caller() {
    for mode in supported_modes() {
        for (signal, name) in [
            (StopSignal::Hangup, "SIGHUP"),
            (StopSignal::Interrupt, "SIGINT"),
            (StopSignal::Terminate, "SIGTERM"),
        ] {
            let skill = Skill::new(mode);
            let job = skill.job("main.py", CLEANS_UP);
            let output = run_cancelled(&skill, job, signal, TEST_TIMEOUT).await;
            assert_eq!(output.termination, Termination::Cancelled, "{mode:?}");
            assert_eq!(output.stdout.text(), format!("ready\n{name}\n"), "{mode:?}");
        }
    }
}

#[tokio::test]
async fn a_program_can_clean_up_at_its_deadline() {
    for mode in supported_modes() {
        for limit_ms in [1_500, 6_000, 24_000] {
            let mut skill = Skill::new(mode);
            skill.limits.wall_time = Duration::from_millis(limit_ms);
            let job = skill.job("main.py", CLEANS_UP);
            let run = skill.run(job.deadline_grace(TEST_TIMEOUT));
            let output = timeout(TEST_TIMEOUT, run).await.unwrap();
            assert_eq!(output.termination, Termination::TimedOut { limit_ms });
            // On a busy host the program may not be ready before an early deadline.
            if output.stdout.text() == "ready\nSIGTERM\n" {
                break;
            }
            assert!(limit_ms < 24_000, "{mode:?}: {}", output.stdout.text());
        }
    }
}

/// What a program does in its grace neither extends it nor outlives it.
#[tokio::test]
async fn a_program_that_misuses_its_grace_is_killed_with_all_its_processes() {
    // Both hold the pipe `alive` open for as long as they live.
    const DAEMON: &str =
        "(echo beat >&3; : > ../workspace/up; exec sleep 600) 3> ../workspace/alive &";
    const ANOTHER: &str = "(exec sleep 600) 3> ../workspace/alive &";
    for mode in supported_modes() {
        for (name, on_signal, rest) in [
            ("ignores signals", "", "while :; do :; done"),
            ("starts processes", ANOTHER, "while :; do :; done"),
            (
                "prints for ever",
                "while :; do echo more; done",
                "while :; do :; done",
            ),
            ("stops itself", "kill -STOP $$", "while :; do :; done"),
        ] {
            let skill = Skill::new(mode).tool("Bash").tool("Write");
            let mut daemon = LifetimePipe::new(&skill);
            let script = format!(
                "trap '{on_signal}' HUP INT TERM
{DAEMON}
while [ ! -e ../workspace/up ]; do :; done
echo ready
{rest}
"
            );
            let job = skill.job("main.sh", &script);
            let started = Instant::now();
            let grace = Duration::from_millis(500);
            let output = run_cancelled(&skill, job, StopSignal::Interrupt, grace).await;
            assert_eq!(
                output.termination,
                Termination::Cancelled,
                "{mode:?} {name}"
            );
            assert!(started.elapsed() < TEST_TIMEOUT, "{mode:?} {name}");
            assert_eq!(skill.leftovers(), 0, "{mode:?} {name}");
            assert!(
                daemon.is_released().await,
                "{mode:?} {name}: a process is alive"
            );
        }
    }
}

/// Neither the first process of the run nor the host ends by a signal of the program.
#[tokio::test]
async fn signals_of_a_program_to_its_parent_have_no_effect() {
    for mode in supported_modes() {
        let script = "import os, signal
for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
    for process in 1, os.getppid():
        try: os.kill(process, number) if process else None
        except OSError: pass
print('alive')
";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(
            output.termination,
            Termination::Exited { code: 0 },
            "{mode:?}"
        );
        assert_eq!(output.stdout.text(), "alive\n", "{mode:?}");
    }
}
