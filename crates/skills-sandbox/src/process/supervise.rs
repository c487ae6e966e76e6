//! The one loop.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use skills_policy::Limits;
use tokio::time::timeout;

use super::leader::{Leader, Process, Status};
use super::pipe::{Flow, Shared, capture, feed};
use super::quota::Watch;
use crate::{Cancellation, Captured, Ending, QuotaExceeded, QuotaMonitor};

/// How long output is awaited after the last process was killed: what is in the pipes comes at
/// once.
const DRAIN: Duration = Duration::from_millis(500);

/// How a process ended and what it wrote.
#[derive(Debug)]
pub struct Supervised {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// What ends a run that does not end by itself.
#[derive(Debug, Clone)]
pub struct Bounds<'a> {
    /// Time and output.
    pub limits: &'a Limits,
    /// The directories that are measured while the run goes on, and once afterwards.
    pub quotas: Arc<QuotaMonitor>,
    /// What may stop it from outside.
    pub cancellation: Option<&'a Cancellation>,
}

/// Why the loop ended.
enum Stop {
    Exit,
    Deadline,
    Flood,
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
) -> io::Result<Supervised> {
    let limits = bounds.limits;
    let (mut leader, pipes) = process.into_parts()?;
    let (stdout, stderr) = (Shared::default(), Shared::default());
    let mut output = pin!(read_both(
        pipes.stdout,
        pipes.stderr,
        &stdout,
        &stderr,
        limits
    ));
    let mut input = pin!(feed(pipes.stdin, input));
    let mut deadline = pin!(tokio::time::sleep(limits.wall_time));
    let mut cancelled = pin!(cancelled(bounds.cancellation));
    let watch = Watch {
        monitor: Arc::clone(&bounds.quotas),
        group: leader.group(),
        max_file_bytes: limits.file_bytes,
    };
    let mut exceeded = pin!(watch.exceeded());
    let (mut output_done, mut input_done) = (false, false);
    let stop = loop {
        tokio::select! {
            biased;
            // The program has run, so whatever fails from here on is no error: it ends the stream,
            // or leaves its end unknown.
            _ = leader.ended() => break Stop::Exit,
            () = &mut deadline => break Stop::Deadline,
            () = &mut cancelled => break Stop::Cancelled,
            exceeded = &mut exceeded => break Stop::Quota(exceeded),
            flow = &mut output, if !output_done => match flow {
                Ok(Flow::Flooded) => break Stop::Flood,
                Ok(Flow::Ended) | Err(_) => output_done = true,
            },
            _ = &mut input, if !input_done => input_done = true,
        }
    };
    leader.kill();
    if !output_done && !matches!(stop, Stop::Flood) {
        // A pipe that something unkillable holds open is not awaited for long; what came until then
        // is kept.
        let _ = timeout(DRAIN, &mut output).await;
    }
    let status = leader.collect().await.unwrap_or(Status::Unknown);
    let stop = match stop {
        Stop::Exit => watch.once_more().await.map_or(Stop::Exit, Stop::Quota),
        stop => stop,
    };
    let ending = match (stop, status) {
        (Stop::Deadline, _) => Ending::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        (Stop::Flood, _) => Ending::OutputLimit {
            limit_bytes: limits.flood_bytes,
        },
        (Stop::Cancelled, _) => Ending::Cancelled,
        (Stop::Quota(exceeded), _) => Ending::DiskLimit(exceeded),
        (Stop::Exit, Status::Exited(code)) => Ending::Exited { code },
        (Stop::Exit, Status::Signalled(signal)) => Ending::Signalled { signal },
        (Stop::Exit, Status::Unknown) => Ending::Unknown,
    };
    Ok(Supervised {
        ending,
        stdout: take(&stdout),
        stderr: take(&stderr),
    })
}

async fn cancelled(by: Option<&Cancellation>) {
    match by {
        Some(by) => by.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Reads both streams to their ends; the first flood ends it.
async fn read_both(
    stdout: OwnedFd,
    stderr: OwnedFd,
    out: &Shared,
    err: &Shared,
    limits: &Limits,
) -> io::Result<Flow> {
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
        flow = &mut out => if flow? == Flow::Flooded { Ok(Flow::Flooded) } else { err.await },
        flow = &mut err => if flow? == Flow::Flooded { Ok(Flow::Flooded) } else { out.await },
    }
}

fn take(captured: &Shared) -> Captured {
    std::mem::take(&mut *captured.lock().unwrap_or_else(PoisonError::into_inner))
}
