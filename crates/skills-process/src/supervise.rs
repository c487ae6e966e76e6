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
//! Cancelled programs, and those at their deadline, can have a grace: their group gets a signal
//! first. All limits but the deadline apply until its end. Only quotas are polled; otherwise the
//! loop sleeps in the kernel until a pipe is ready, the leader ends or the deadline expires. The
//! group is killed *before* its leader is reaped, so that its PID cannot be reused, and also after
//! a normal exit, so that no process survives the run.
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
#[cfg(target_os = "linux")]
mod terminal;

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use skills_policy::ResourceLimits;
use skills_sandbox::{
    CancellationToken, CapturedOutput, EventSender, InputStream, OutputStream, ProgramStreams,
    QuotaExceeded, StopSignal, Termination, wait_cancelled,
};
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use crate::QuotaMonitor;
use pipe::{OutputTarget, SharedOutput, StreamEnd, capture, forward_stdin, write_stdin};

pub use group::{GroupLeader, SpawnedGroup};
pub use leader::{InputEnd, Leader, LeaderStatus, OutputEnd, Process, Streams};
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
    /// How long the program may go on after `SIGTERM` asked it to end at its deadline. Zero kills
    /// it at once.
    pub deadline_grace: Duration,
    /// The directories that are measured during the run, and once afterwards.
    pub quotas: Arc<QuotaMonitor>,
    /// The token that may cancel the run.
    pub cancellation: Option<&'a CancellationToken>,
}

/// Why the loop ended.
enum StopReason {
    Exit,
    OutputLimit,
    Quota(QuotaExceeded),
    Requested(StopRequest),
}

/// Who wants a program to end before it exits by itself.
#[derive(Debug, Clone, Copy)]
enum StopRequest {
    Deadline,
    Caller,
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
    let (mut leader, of_process) = process.into_parts()?;
    let stdout = SharedOutput::default();
    let stderr = SharedOutput::default();
    let target = |stream, captured| OutputTarget {
        stream,
        captured,
        events: streams.events.as_ref(),
    };
    let mut stdout_end = of_process.stdout;
    let slave = stdout_end.take_slave();
    let mut output = pin!(read_both(
        (stdout_end, target(OutputStream::Stdout, &stdout)),
        (of_process.stderr, target(OutputStream::Stderr, &stderr)),
        limits
    ));
    let mut input = pin!(feed_stdin(of_process.stdin, input, streams));
    let signaled = OnceLock::new();
    let mut stopped = pin!(wait_stopped(bounds, leader.group(), &signaled));
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
            request = &mut stopped => break StopReason::Requested(request),
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
    // So that its output ends.
    drop(slave);
    streams.events.iter().for_each(EventSender::end_waiting);
    if !output_done && !matches!(stop, StopReason::OutputLimit) {
        // A pipe that an unkillable process holds open is not awaited for long; the bytes so far
        // are kept.
        let _ = timeout(DRAIN_TIMEOUT, &mut output).await;
    }
    let status = leader.reap().await.unwrap_or(LeaderStatus::Unknown);
    let stop = match signaled.get() {
        // It ended because it was asked to. What it did in its grace, such as to exit with success
        // or to exceed another limit, does not change that.
        Some(request) => StopReason::Requested(*request),
        None => check_quotas_after_exit(stop, &watch).await,
    };
    Ok(SupervisedOutput {
        termination: termination(stop, status, limits),
        stdout: take_output(&stdout),
        stderr: take_output(&stderr),
    })
}

/// Waits until a program has to be killed: at once after its deadline or a cancellation, or after
/// the grace in which its group was asked to end, by a signal that is recorded in `signaled`.
async fn wait_stopped(
    bounds: &Bounds<'_>,
    group: i32,
    signaled: &OnceLock<StopRequest>,
) -> StopRequest {
    let cancelled = || wait_cancelled(bounds.cancellation);
    let (request, signal, grace) = tokio::select! {
        biased;
        () = tokio::time::sleep(bounds.limits.wall_time) => {
            (StopRequest::Deadline, StopSignal::Terminate, bounds.deadline_grace)
        }
        () = cancelled() => {
            let token = bounds.cancellation.cloned().unwrap_or_default();
            (StopRequest::Caller, token.signal(), token.grace())
        }
    };
    // The group still exists: its leader was not reaped.
    if grace.is_zero() || killpg(Pid::from_raw(group), signal_of(signal)).is_err() {
        return request;
    }
    // Set once: this future signals once.
    let _ = signaled.set(request);
    match (request, bounds.cancellation) {
        (StopRequest::Caller, Some(token)) => wait_grace(token).await,
        // A caller that cancels as well wants it to end now.
        _ => drop(timeout(grace, cancelled()).await),
    }
    request
}

/// Waits until the grace of a cancelled token has passed.
async fn wait_grace(token: &CancellationToken) {
    while timeout(token.grace(), token.grace_shortened())
        .await
        .is_ok()
    {}
}

fn signal_of(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Hangup => Signal::SIGHUP,
        StopSignal::Interrupt => Signal::SIGINT,
        StopSignal::Terminate => Signal::SIGTERM,
    }
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
        (StopReason::Requested(StopRequest::Deadline), _) => Termination::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        (StopReason::OutputLimit, _) => Termination::OutputLimit {
            limit_bytes: limits.output_limit_bytes,
        },
        (StopReason::Requested(StopRequest::Caller), _) => Termination::Cancelled,
        (StopReason::Quota(exceeded), _) => Termination::DiskLimit(exceeded),
        (StopReason::Exit, LeaderStatus::Exited(code)) => Termination::Exited { code },
        (StopReason::Exit, LeaderStatus::Signaled(signal)) => Termination::Signaled { signal },
        (StopReason::Exit, LeaderStatus::Unknown) => Termination::Unknown,
    }
}

/// Passes the input of the caller to the program.
async fn feed_stdin(end: InputEnd, input: &[u8], streams: &ProgramStreams) -> io::Result<()> {
    let stream = streams.input.as_ref().map(InputStream::take);
    let stream = stream.transpose()?.flatten();
    match (end, stream) {
        (InputEnd::Pipe(pipe), Some(stream)) => forward_stdin(pipe, stream),
        (InputEnd::Pipe(pipe), None) => write_stdin(pipe, input).await,
        #[cfg(target_os = "linux")]
        (InputEnd::Terminal(master), Some(stream)) => terminal::forward_input(master, stream),
        (InputEnd::Terminal(_), _) => Ok(()),
    }
}

/// Reads both streams to their ends; stops at the first exceeded output limit.
async fn read_both(
    (stdout, of_stdout): (OutputEnd, OutputTarget<'_>),
    (stderr, of_stderr): (Option<OwnedFd>, OutputTarget<'_>),
    limits: &ResourceLimits,
) -> io::Result<StreamEnd> {
    let mut out = pin!(async {
        match stdout {
            OutputEnd::Pipe(pipe) => {
                capture(Receiver::from_owned_fd(pipe)?, of_stdout, limits).await
            }
            #[cfg(target_os = "linux")]
            OutputEnd::Terminal { master, .. } => {
                capture(terminal::TerminalReader::new(master), of_stdout, limits).await
            }
        }
    });
    let mut err = pin!(async {
        match stderr {
            Some(pipe) => capture(Receiver::from_owned_fd(pipe)?, of_stderr, limits).await,
            None => Ok(StreamEnd::Eof),
        }
    });
    tokio::select! {
        end = &mut out => if end? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { err.await },
        end = &mut err => if end? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { out.await },
    }
}

fn take_output(captured: &SharedOutput) -> CapturedOutput {
    std::mem::take(&mut *captured.lock().unwrap_or_else(PoisonError::into_inner))
}
