//! Supervision of one child process: input, output, deadline, and termination of its whole process
//! group.
//!
//! ```text
//!            +--> feed stdin ---------+
//! Process ---+--> capture stdout -----+--> exit or exceeded limit --> kill the group --> drain --> reap the leader
//!            +--> capture stderr -----+
//!            +--> Leader::wait_exit --+
//!            +--> measure quotas -----+
//! ```
//!
//! Cancelled programs can have a grace: their group gets `SIGTERM` first. Only quotas are polled; otherwise the loop sleeps in the kernel until a pipe is ready, the
//! leader ends or the deadline expires. The group is killed *before* its leader is reaped, so that
//! its PID cannot be reused, and also after a normal exit, so that no process survives the run.
//!
//! A [`Leader`] abstracts how the end of a leader is detected: a pidfd on Linux (`PidfdChild`),
//! `SIGCHLD` everywhere else ([`SpawnedGroup`]).

#[cfg(target_os = "linux")]
mod deleted_files;
mod group;
mod leader;
#[cfg(target_os = "linux")]
mod pidfd;
mod pipe;
mod quota_watch;

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use skills_policy::ResourceLimits;
use skills_sandbox::{
    CancellationToken, CapturedOutput, EventSender, InputStream, OutputStream, ProgramStreams,
    QuotaExceeded, Termination, wait_cancelled,
};
use tokio::time::timeout;

use crate::QuotaMonitor;
use pipe::{OutputTarget, SharedOutput, StreamEnd, capture, forward_stdin, write_stdin};

pub use group::{GroupLeader, SpawnedGroup};
pub use leader::{Leader, LeaderStatus, Pipes, Process};
#[cfg(target_os = "linux")]
pub use pidfd::{PidfdChild, PidfdLeader};
pub use quota_watch::QuotaWatch;

/// How long to wait for output after the last process was killed: bytes in the pipes arrive at
/// once.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The termination of a process with its captured output. Returned by [`supervise`].
#[derive(Debug)]
pub struct SupervisedOutput {
    /// How it ended.
    pub termination: Termination,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
}

/// Everything that can end a run before the program exits.
#[derive(Debug, Clone)]
pub struct Bounds<'a> {
    /// Deadline and output limits.
    pub limits: &'a ResourceLimits,
    /// The directories that are measured during the run, and once afterwards.
    pub quotas: Arc<QuotaMonitor>,
    /// The token that may cancel the run.
    pub cancellation: Option<&'a CancellationToken>,
}

/// Why the loop ended.
enum StopReason {
    Exit,
    Deadline,
    OutputLimit,
    Cancelled,
    Quota(QuotaExceeded),
}

/// Supervises a process until it exits, exceeds its deadline, its output limit or a quota, or is
/// cancelled. Afterwards no process of its group is left. A process that exited and left more than
/// a quota allows ends with its disk limit as well.
///
/// Standard input is the input stream of `streams` if it has one, otherwise `input`.
///
/// Dropping the future kills the group.
///
/// # Errors
/// Fails if the process cannot be watched at all; it is killed then.
pub async fn supervise(
    process: impl Process,
    input: &[u8],
    streams: &ProgramStreams,
    bounds: &Bounds<'_>,
) -> io::Result<SupervisedOutput> {
    let limits = bounds.limits;
    let (mut leader, pipes) = process.into_parts()?;
    let stdout = SharedOutput::default();
    let stderr = SharedOutput::default();
    let target = |stream, captured| OutputTarget {
        stream,
        captured,
        events: streams.events.as_ref(),
    };
    let mut output = pin!(read_both(
        (pipes.stdout, target(OutputStream::Stdout, &stdout)),
        (pipes.stderr, target(OutputStream::Stderr, &stderr)),
        limits
    ));
    let mut input = pin!(feed_stdin(pipes.stdin, input, streams));
    let mut deadline = pin!(tokio::time::sleep(limits.wall_time));
    let has_signaled = AtomicBool::new(false);
    let mut cancelled = pin!(wait_stopped(
        bounds.cancellation,
        leader.group(),
        &has_signaled
    ));
    let watch = QuotaWatch::new(
        Arc::clone(&bounds.quotas),
        Some(leader.group()),
        limits.file_bytes,
    );
    let mut exceeded = pin!(watch.wait_exceeded());
    let mut output_done = false;
    let mut input_done = false;
    let stop = loop {
        tokio::select! {
            // In this order: the exit of a program counts, even if a limit is reached at the same
            // time.
            biased;
            // The program has run, so later failures are not errors: they end the stream, or leave
            // the exit status unknown.
            _ = leader.wait_exit() => break StopReason::Exit,
            () = &mut deadline => break StopReason::Deadline,
            () = &mut cancelled => break StopReason::Cancelled,
            exceeded = &mut exceeded => break StopReason::Quota(exceeded),
            end = &mut output, if !output_done => match end {
                Ok(StreamEnd::LimitExceeded) => break StopReason::OutputLimit,
                Ok(StreamEnd::Eof) | Err(_) => output_done = true,
            },
            _ = &mut input, if !input_done => input_done = true,
        }
    };
    // The group is killed after a normal exit too: processes that the program left behind would
    // outlive the run and its limits. The leader is reaped last, so that its PID, which names the
    // group, cannot be reused before.
    leader.kill_group();
    streams.events.iter().for_each(EventSender::end_waiting);
    if !output_done && !matches!(stop, StopReason::OutputLimit) {
        // A pipe that an unkillable process holds open is not awaited for long; the bytes so far
        // are kept.
        let _ = timeout(DRAIN_TIMEOUT, &mut output).await;
    }
    let status = leader.reap().await.unwrap_or(LeaderStatus::Unknown);
    let stop = match stop {
        // It ended because it was asked to.
        StopReason::Exit if has_signaled.load(Ordering::Relaxed) => StopReason::Cancelled,
        stop => check_quotas_after_exit(stop, &watch).await,
    };
    Ok(SupervisedOutput {
        termination: termination(stop, status, limits),
        stdout: take_output(&stdout),
        stderr: take_output(&stderr),
    })
}

/// Waits until a cancelled program has to be killed: at once, or after the grace in which its group
/// was asked to end.
async fn wait_stopped(
    cancellation: Option<&CancellationToken>,
    group: i32,
    has_signaled: &AtomicBool,
) {
    wait_cancelled(cancellation).await;
    let Some(cancellation) = cancellation.filter(|token| !token.grace().is_zero()) else {
        return;
    };
    // The group still exists: its leader was not reaped.
    if killpg(Pid::from_raw(group), Signal::SIGTERM).is_err() {
        return;
    }
    has_signaled.store(true, Ordering::Relaxed);
    let is_shortened =
        || async { timeout(cancellation.grace(), cancellation.grace_shortened()).await };
    while is_shortened().await.is_ok() {}
}

/// Measures the quotas once more if the program exited by itself.
async fn check_quotas_after_exit(stop: StopReason, watch: &QuotaWatch) -> StopReason {
    match stop {
        // A program can exceed a quota between the last measurement and its exit.
        StopReason::Exit => watch
            .final_check()
            .await
            .map_or(StopReason::Exit, StopReason::Quota),
        stop => stop,
    }
}

/// Returns how the run ended. If it was stopped, the signal that killed it is not reported.
fn termination(stop: StopReason, status: LeaderStatus, limits: &ResourceLimits) -> Termination {
    match (stop, status) {
        (StopReason::Deadline, _) => Termination::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        (StopReason::OutputLimit, _) => Termination::OutputLimit {
            limit_bytes: limits.output_limit_bytes,
        },
        (StopReason::Cancelled, _) => Termination::Cancelled,
        (StopReason::Quota(exceeded), _) => Termination::DiskLimit(exceeded),
        (StopReason::Exit, LeaderStatus::Exited(code)) => Termination::Exited { code },
        (StopReason::Exit, LeaderStatus::Signaled(signal)) => Termination::Signaled { signal },
        (StopReason::Exit, LeaderStatus::Unknown) => Termination::Unknown,
    }
}

/// Passes the input of the caller to the program.
async fn feed_stdin(pipe: OwnedFd, input: &[u8], streams: &ProgramStreams) -> io::Result<()> {
    match streams.input.as_ref().and_then(InputStream::take) {
        Some(stream) => forward_stdin(pipe, stream),
        None => write_stdin(pipe, input).await,
    }
}

/// Reads both streams to their ends; stops at the first exceeded output limit.
async fn read_both(
    (stdout, of_stdout): (OwnedFd, OutputTarget<'_>),
    (stderr, of_stderr): (OwnedFd, OutputTarget<'_>),
    limits: &ResourceLimits,
) -> io::Result<StreamEnd> {
    let mut out = pin!(capture(stdout, of_stdout, limits));
    let mut err = pin!(capture(stderr, of_stderr, limits));
    tokio::select! {
        end = &mut out => if end? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { err.await },
        end = &mut err => if end? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { out.await },
    }
}

fn take_output(captured: &SharedOutput) -> CapturedOutput {
    std::mem::take(&mut *captured.lock().unwrap_or_else(PoisonError::into_inner))
}
