//! Supervision of a process that Tokio spawned, on any Unix.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use skills_policy::ResourceLimits;
use skills_process::{Bounds, QuotaMonitor, SpawnedGroup, SupervisedOutput, supervise};
use skills_sandbox::{
    CancellationToken, EventReceiver, InputStream, OutputStream, ProgramStreams, Quota,
    QuotaExceeded, QuotaPart, RunEvent, StopSignal, Termination, run_events,
};
use skills_test_support::{host::is_ignored, skip_part};
use tokio::process::Command;

fn shell(script: &str) -> SpawnedGroup {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    SpawnedGroup::spawn(command).unwrap()
}

async fn run(script: &str, input: &[u8], wall_time: Duration) -> SupervisedOutput {
    let mut limits = ResourceLimits::default();
    (
        limits.wall_time,
        limits.captured_bytes,
        limits.output_limit_bytes,
    ) = (wall_time, 64, 1 << 20);
    supervise(
        shell(script),
        input,
        &ProgramStreams::default(),
        &Bounds {
            limits: &limits,
            deadline_grace: Duration::ZERO,
            quotas: quotas(&[]),
            cancellation: None,
        },
    )
    .await
    .unwrap()
}

fn quotas(quotas: &[Quota]) -> Arc<QuotaMonitor> {
    Arc::new(QuotaMonitor::open(quotas).unwrap())
}

#[tokio::test]
async fn a_cancelled_run_returns_its_output() {
    let cancellation = CancellationToken::new();
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    let directory = tempfile::tempdir().unwrap();
    let begun = directory.path().join("begun");
    let script = format!("echo written; : > {}; while :; do :; done", begun.display());
    let cancel = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancellation.cancel();
    };
    let bounds = Bounds {
        limits: &limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[]),
        cancellation: Some(&cancellation),
    };
    let streams = ProgramStreams::default();
    let run = supervise(shell(&script), b"", &streams, &bounds);
    let (ended, ()) = tokio::join!(run, cancel);
    let ended = ended.unwrap();
    assert_eq!(
        (ended.termination, ended.stdout.text().as_str()),
        (Termination::Cancelled, "written\n")
    );
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn input_output_and_exit_code() {
    let ended = run("cat; echo error >&2; exit 7", b"hello", LONG).await;
    assert_eq!(
        (
            ended.termination,
            ended.stdout.text().as_str(),
            ended.stderr.text().as_str()
        ),
        (Termination::Exited { code: 7 }, "hello", "error\n")
    );
    let signalled = run("kill -TERM $$", b"", LONG).await;
    assert_eq!(signalled.termination, Termination::Signaled { signal: 15 });
}

#[tokio::test]
async fn unread_input_is_not_an_error() {
    let ended = run("exec <&-; exit 0", &vec![b'x'; 4 << 20], LONG).await;
    assert_eq!(ended.termination, Termination::Exited { code: 0 });
}

#[tokio::test]
async fn output_is_captured_up_to_a_limit_and_excess_stops_the_run() {
    let flood = run(
        "while :; do echo 0123456789012345678901234567890123456789; done",
        b"",
        LONG,
    )
    .await;
    assert_eq!(
        flood.termination,
        Termination::OutputLimit {
            limit_bytes: 1 << 20
        }
    );
    assert_eq!(flood.stdout.head().len() + flood.stdout.tail().len(), 64);
    assert!(flood.stdout.is_truncated());
}

#[tokio::test]
async fn the_deadline_kills_the_whole_group() {
    let directory = tempfile::tempdir().unwrap();
    let pulse = directory.path().join("pulse");
    let script = format!(
        "trap '' TERM INT HUP; (trap '' TERM; while :; do echo . >> {0}; sleep 0.02; done) & echo started; wait",
        pulse.display()
    );
    let ended = run(&script, b"", Duration::from_millis(1_500)).await;
    assert_eq!(
        (ended.termination, ended.stdout.text().as_str()),
        (Termination::TimedOut { limit_ms: 1_500 }, "started\n")
    );
    assert_silent(&pulse).await;
}

#[tokio::test]
async fn a_normal_exit_leaves_no_process_behind() {
    let directory = tempfile::tempdir().unwrap();
    let pulse = directory.path().join("pulse");
    let script = format!(
        "((while :; do echo . >> {0}; sleep 0.02; done) &) ; until [ -s {0} ]; do sleep 0.02; done",
        pulse.display()
    );
    assert_eq!(
        run(&script, b"", LONG).await.termination,
        Termination::Exited { code: 0 }
    );
    assert_silent(&pulse).await;
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process_behind() {
    let directory = tempfile::tempdir().unwrap();
    let pulse = directory.path().join("pulse");
    let script = format!(
        "while :; do echo . >> {0}; sleep 0.02; done",
        pulse.display()
    );
    let begun = async {
        while !pulse.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = run(&script, b"", LONG) => panic!("{ended:?}"),
        () = begun => {}
    }
    assert_silent(&pulse).await;
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() {
    assert_eq!(
        SpawnedGroup::spawn(Command::new("/nowhere/program"))
            .unwrap_err()
            .kind(),
        std::io::ErrorKind::NotFound
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_runs_do_not_share_output() {
    let runs: Vec<_> = (0..16)
        .map(|number| {
            tokio::spawn(async move {
                let ended = run(
                    &format!("cat; exit {number}"),
                    number.to_string().as_bytes(),
                    LONG,
                )
                .await;
                (ended.termination, ended.stdout.text())
            })
        })
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        let code = i32::try_from(number).unwrap();
        assert_eq!(
            run.await.unwrap(),
            (Termination::Exited { code }, number.to_string())
        );
    }
}

/// Asserts that no process writes to a file any more.
async fn assert_silent(pulse: &Path) {
    let length = || std::fs::metadata(pulse).unwrap().len();
    let before = length();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(length(), before, "a process is still alive");
}

/// Runs a script in a directory with a quota of 4 MiB; returns its termination and the number of
/// bytes allocated afterwards.
async fn in_quota(script: &str) -> (Termination, u64) {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("cd {}\n{script}", directory.path().display());
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    let bounds = Bounds {
        limits: &limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[Quota::new(directory.path(), 4 << 20)]),
        cancellation: None,
    };
    let ended = supervise(shell(&script), b"", &ProgramStreams::default(), &bounds)
        .await
        .unwrap();
    let left = QuotaMonitor::open(&[Quota::new(directory.path(), u64::MAX)]).unwrap();
    let bytes = left.measure().unwrap()[0].1;
    (ended.termination, bytes)
}

#[tokio::test]
async fn a_process_that_exceeds_a_quota_is_killed() {
    let over = Termination::DiskLimit(QuotaExceeded {
        limit_bytes: 4 << 20,
        part: QuotaPart::Bytes,
    });
    // It would write forever.
    let endless = "n=0; while :; do head -c 100000 /dev/zero > $n; n=$((n + 1)); done";
    let (ending, bytes) = in_quota(endless).await;
    assert_eq!(ending, over);
    assert!((4 << 20..1 << 30).contains(&bytes), "{bytes}");
    // It may finish before or after the first measurement: the result is the same.
    let (ending, _) = in_quota("head -c 5000000 /dev/zero > file").await;
    assert_eq!(ending, over);
    assert_eq!(
        ending.to_string(),
        "stopped: private workspace exceeds its quota of 4 MiB"
    );
    let (ending, _) = in_quota(
        "head -c 3000000 /dev/zero > file; ln file other; ln file third; truncate -s 1G sparse",
    )
    .await;
    assert_eq!(ending, Termination::Exited { code: 0 });
}

/// Deleted files take space until their last descriptor and mapping is closed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn deleted_files_that_are_still_open_count() {
    let over = Termination::DiskLimit(QuotaExceeded {
        limit_bytes: 4 << 20,
        part: QuotaPart::Bytes,
    });
    let (ending, _) = in_quota("exec 3> gone; rm gone; head -c 5000000 /dev/zero >&3; exec 1>&- 2>&-; while :; do sleep 1; done").await;
    assert_eq!(ending, over);
}

#[tokio::test]
async fn streams_of_the_caller_carry_all_bytes() {
    let mut limits = ResourceLimits::default();
    (limits.wall_time, limits.captured_bytes) = (LONG, 64);
    let bounds = Bounds {
        limits: &limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[]),
        cancellation: None,
    };
    let bytes: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    let (events, mut receiver) = run_events();
    let mut streams = ProgramStreams::default();
    streams.input = Some(InputStream::new(std::io::Cursor::new(bytes.clone())));
    streams.events = Some(events);
    let reader = tokio::spawn(async move {
        let mut written = Vec::new();
        while let Some(RunEvent::Output { stream, bytes }) = receiver.next().await {
            assert_eq!(stream, OutputStream::Stdout);
            written.extend_from_slice(&bytes);
        }
        written
    });
    let ended = supervise(shell("cat"), b"ignored", &streams, &bounds)
        .await
        .unwrap();
    drop(streams);
    assert_eq!(ended.termination, Termination::Exited { code: 0 });
    assert!(reader.await.unwrap() == bytes);
    assert_eq!(ended.stdout.total_bytes(), bytes.len() as u64);
}

/// Supervises a shell script with these limits, and returns the receiver of its events.
async fn run_with_events(
    script: &str,
    limits: &ResourceLimits,
) -> (SupervisedOutput, EventReceiver) {
    let (events, receiver) = run_events();
    let mut streams = ProgramStreams::default();
    streams.events = Some(events);
    let bounds = Bounds {
        limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[]),
        cancellation: None,
    };
    let ended = supervise(shell(script), b"", &streams, &bounds);
    (ended.await.unwrap(), receiver)
}

/// Returns the number of bytes that wait to be received.
async fn waiting_bytes(mut receiver: EventReceiver) -> usize {
    let mut bytes = 0;
    while let Some(RunEvent::Output { bytes: piece, .. }) = receiver.next().await {
        bytes += piece.len();
    }
    bytes
}

/// What is left in the pipe when the program ends is not lost, and nothing waits for a reader then.
#[tokio::test]
async fn a_reader_that_comes_late_gets_all_output() {
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    // As much as waits without a reader, and a full pipe.
    let (ended, receiver) = run_with_events("head -c 1100000 /dev/zero", &limits).await;
    assert_eq!(ended.termination, Termination::Exited { code: 0 });
    assert_eq!(waiting_bytes(receiver).await, 1_100_000);
}

#[tokio::test]
async fn a_program_whose_output_waits_for_a_reader_ends_at_its_deadline() {
    let mut limits = ResourceLimits::default();
    (limits.wall_time, limits.output_limit_bytes) = (Duration::from_millis(500), u64::MAX);
    let (ended, receiver) = run_with_events("exec yes", &limits).await;
    assert_eq!(ended.termination, Termination::TimedOut { limit_ms: 500 });
    // What waits, the piece that waited for room, and what was left in the pipe.
    let waiting = waiting_bytes(receiver).await;
    assert!(waiting <= (1 << 20) + (128 << 10) + (1 << 20), "{waiting}");
}

#[tokio::test]
async fn a_program_with_a_dropped_receiver_gets_sigpipe() {
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    let (events, receiver) = run_events();
    drop(receiver);
    let mut streams = ProgramStreams::default();
    streams.events = Some(events);
    let bounds = Bounds {
        limits: &limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[]),
        cancellation: None,
    };
    let ended = supervise(shell("exec yes"), b"", &streams, &bounds);
    let signal = Signal::SIGPIPE as i32;
    let termination = ended.await.unwrap().termination;
    assert_eq!(termination, Termination::Signaled { signal });
}

#[tokio::test]
async fn a_cancelled_program_may_end_by_itself_within_its_grace() {
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    for (trap, grace, expected) in [
        ("echo cleaned; exit 0", LONG, "ready\ncleaned\n"),
        ("", Duration::from_millis(50), "ready\n"),
    ] {
        let cancellation = CancellationToken::new();
        let bounds = Bounds {
            limits: &limits,
            deadline_grace: Duration::ZERO,
            quotas: quotas(&[]),
            cancellation: Some(&cancellation),
        };
        let (events, mut receiver) = run_events();
        let mut streams = ProgramStreams::default();
        streams.events = Some(events);
        let script = format!("trap '{trap}' TERM; echo ready; while :; do sleep 0.01; done");
        let canceller = async {
            receiver.next().await;
            cancellation.cancel_after(grace);
        };
        let (ended, ()) =
            tokio::join!(supervise(shell(&script), b"", &streams, &bounds), canceller);
        let ended = ended.unwrap();
        assert_eq!(ended.termination, Termination::Cancelled);
        assert_eq!(ended.stdout.text(), expected);
    }
}

/// An agent leaves the standard input of the command open for as long as it lives.
#[tokio::test]
async fn an_input_that_never_ends_does_not_delay_the_end_of_a_program() {
    let mut limits = ResourceLimits::default();
    limits.wall_time = LONG;
    let bounds = Bounds {
        limits: &limits,
        deadline_grace: Duration::ZERO,
        quotas: quotas(&[]),
        cancellation: None,
    };
    let (reader, writer) = std::io::pipe().unwrap();
    let mut streams = ProgramStreams::default();
    streams.input = Some(InputStream::new(reader));
    let ended = supervise(shell("echo done"), b"", &streams, &bounds)
        .await
        .unwrap();
    assert_eq!(ended.stdout.text(), "done\n");
    drop(writer);
}

/// Supervises a script that reacts to a signal, which is sent once it has printed its first line.
async fn run_with_grace(
    script: &str,
    (wall_time, deadline_grace): (Duration, Duration),
    cancel: impl FnOnce(&CancellationToken),
) -> SupervisedOutput {
    let mut limits = ResourceLimits::default();
    limits.wall_time = wall_time;
    let cancellation = CancellationToken::new();
    let bounds = Bounds {
        limits: &limits,
        deadline_grace,
        quotas: quotas(&[]),
        cancellation: Some(&cancellation),
    };
    let (events, mut receiver) = run_events();
    let mut streams = ProgramStreams::default();
    streams.events = Some(events);
    let canceller = async {
        receiver.next().await;
        cancel(&cancellation);
    };
    let (ended, ()) = tokio::join!(supervise(shell(script), b"", &streams, &bounds), canceller);
    ended.unwrap()
}

/// A script that prints the name of the signal that asks it to end, and exits with code 124.
const CLEANS_UP: &str = "for name in HUP INT TERM; do trap \"echo $name; exit 124\" $name; done\n\
    echo ready; while :; do sleep 0.01; done";

#[tokio::test]
async fn a_program_gets_the_signal_of_its_caller() {
    for (signal, number, name) in [
        (StopSignal::Hangup, Signal::SIGHUP, "HUP"),
        (StopSignal::Interrupt, Signal::SIGINT, "INT"),
        (StopSignal::Terminate, Signal::SIGTERM, "TERM"),
    ] {
        if is_ignored(number as u32) {
            skip_part(name, "the process that started the tests ignores it");
            continue;
        }
        let cancel = |token: &CancellationToken| token.cancel_with(signal, LONG);
        let ended = run_with_grace(CLEANS_UP, (LONG, LONG), cancel).await;
        assert_eq!(ended.termination, Termination::Cancelled);
        assert_eq!(ended.stdout.text(), format!("ready\n{name}\n"));
    }
}

#[tokio::test]
async fn a_program_can_clean_up_at_its_deadline() {
    let limit = Duration::from_millis(300);
    let ended = run_with_grace(CLEANS_UP, (limit, LONG), |_| ()).await;
    assert_eq!(ended.termination, Termination::TimedOut { limit_ms: 300 });
    assert_eq!(ended.stdout.text(), "ready\nTERM\n");
}

/// Neither of them extends the grace, and what follows the signal does not change why it ended.
#[tokio::test]
async fn a_program_that_ignores_its_deadline_is_killed_after_the_grace() {
    let limit = Duration::from_millis(200);
    let grace = Duration::from_millis(300);
    for (rest, is_cancelled) in [
        ("while :; do sleep 0.01; done", false),
        ("while :; do sleep 0.01 & done", false),
        ("exec yes", false),
        // The caller does not wait any longer.
        ("while :; do sleep 0.01; done", true),
    ] {
        let script = format!("trap '' HUP INT TERM; echo ready; {rest}");
        let started = std::time::Instant::now();
        let grace = if is_cancelled { LONG } else { grace };
        let ended = run_with_grace(&script, (limit, grace), |token| {
            if is_cancelled {
                let token = token.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    token.cancel_after(LONG);
                });
            }
        });
        let termination = ended.await.termination;
        assert_eq!(
            termination,
            Termination::TimedOut { limit_ms: 200 },
            "{rest}"
        );
        assert!(started.elapsed() < Duration::from_secs(20), "{rest}");
    }
}
