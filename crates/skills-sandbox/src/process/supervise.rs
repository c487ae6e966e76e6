//! The one loop.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use skills_policy::Limits;
use tokio::time::timeout;

use super::leader::{Leader, LeaderStatus, Process};
use super::pipe::{SharedOutput, StreamEnd, capture, write_stdin};
use super::quota::QuotaWatch;
use crate::{CancellationToken, CapturedOutput, QuotaExceeded, QuotaMonitor, Termination};

/// How long output is awaited after the last process was killed: what is in the pipes comes at
/// once.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How a process ended and what it wrote.
#[derive(Debug)]
pub struct SupervisedOutput {
    /// How it ended.
    pub termination: Termination,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
}

/// What ends a run that does not end by itself.
#[derive(Debug, Clone)]
pub struct Bounds<'a> {
    /// Time and output.
    pub limits: &'a Limits,
    /// The directories that are measured while the run goes on, and once afterwards.
    pub quotas: Arc<QuotaMonitor>,
    /// What may stop it from outside.
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

/// Feeds and watches a process until it ends, its deadline comes, it writes too much, exceeds a
/// quota or is cancelled; afterwards nothing of its group is left. A process that ended by itself
/// and left more than a quota allows ends at its disk limit as well.
///
/// Dropping the future kills the group.
///
/// # Errors
/// When the operating system refuses to watch the process at all; it is killed then.
pub async fn supervise(
    process: impl Process,
    input: &[u8],
    bounds: &Bounds<'_>,
) -> io::Result<SupervisedOutput> {
    let limits = bounds.limits;
    let (mut leader, pipes) = process.into_parts()?;
    let (stdout, stderr) = (SharedOutput::default(), SharedOutput::default());
    let mut output = pin!(read_both(
        pipes.stdout,
        pipes.stderr,
        &stdout,
        &stderr,
        limits
    ));
    let mut input = pin!(write_stdin(pipes.stdin, input));
    let mut deadline = pin!(tokio::time::sleep(limits.wall_time));
    let mut cancelled = pin!(wait_cancelled(bounds.cancellation));
    let watch = QuotaWatch {
        monitor: Arc::clone(&bounds.quotas),
        group: leader.group(),
        max_file_bytes: limits.file_bytes,
    };
    let mut exceeded = pin!(watch.wait_exceeded());
    let (mut output_done, mut input_done) = (false, false);
    let stop = loop {
        tokio::select! {
            biased;
            // The program has run, so whatever fails from here on is no error: it ends the stream,
            // or leaves its end unknown.
            _ = leader.wait_exit() => break StopReason::Exit,
            () = &mut deadline => break StopReason::Deadline,
            () = &mut cancelled => break StopReason::Cancelled,
            exceeded = &mut exceeded => break StopReason::Quota(exceeded),
            flow = &mut output, if !output_done => match flow {
                Ok(StreamEnd::LimitExceeded) => break StopReason::OutputLimit,
                Ok(StreamEnd::Eof) | Err(_) => output_done = true,
            },
            _ = &mut input, if !input_done => input_done = true,
        }
    };
    leader.kill_group();
    if !output_done && !matches!(stop, StopReason::OutputLimit) {
        // A pipe that something unkillable holds open is not awaited for long; what came until then
        // is kept.
        let _ = timeout(DRAIN_TIMEOUT, &mut output).await;
    }
    let status = leader.reap().await.unwrap_or(LeaderStatus::Unknown);
    let stop = match stop {
        StopReason::Exit => watch
            .final_check()
            .await
            .map_or(StopReason::Exit, StopReason::Quota),
        stop => stop,
    };
    let ending = match (stop, status) {
        (StopReason::Deadline, _) => Termination::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        (StopReason::OutputLimit, _) => Termination::OutputLimit {
            limit_bytes: limits.flood_bytes,
        },
        (StopReason::Cancelled, _) => Termination::Cancelled,
        (StopReason::Quota(exceeded), _) => Termination::DiskLimit(exceeded),
        (StopReason::Exit, LeaderStatus::Exited(code)) => Termination::Exited { code },
        (StopReason::Exit, LeaderStatus::Signaled(signal)) => Termination::Signaled { signal },
        (StopReason::Exit, LeaderStatus::Unknown) => Termination::Unknown,
    };
    Ok(SupervisedOutput {
        termination: ending,
        stdout: take_output(&stdout),
        stderr: take_output(&stderr),
    })
}

async fn wait_cancelled(by: Option<&CancellationToken>) {
    match by {
        Some(by) => by.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Reads both streams to their ends; the first flood ends it.
async fn read_both(
    stdout: OwnedFd,
    stderr: OwnedFd,
    out: &SharedOutput,
    err: &SharedOutput,
    limits: &Limits,
) -> io::Result<StreamEnd> {
    let mut out = pin!(capture(
        stdout,
        Arc::clone(out),
        limits.output_bytes,
        limits.flood_bytes
    ));
    let mut err = pin!(capture(
        stderr,
        Arc::clone(err),
        limits.output_bytes,
        limits.flood_bytes
    ));
    tokio::select! {
        flow = &mut out => if flow? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { err.await },
        flow = &mut err => if flow? == StreamEnd::LimitExceeded { Ok(StreamEnd::LimitExceeded) } else { out.await },
    }
}

fn take_output(captured: &SharedOutput) -> CapturedOutput {
    std::mem::take(&mut *captured.lock().unwrap_or_else(PoisonError::into_inner))
}
