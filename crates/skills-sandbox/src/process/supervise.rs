//! The one loop.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use nix::unistd::Pid;
use skills_policy::Limits;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::pipe::{Flow, Shared, capture, feed};
use super::reap::{Leader, Status};
use crate::{Captured, Ending};

/// How long output is awaited after the last process was killed: what is in the pipes comes at once.
const DRAIN: Duration = Duration::from_millis(500);

/// A process that was just started: the leader of a process group of its own, all of whose pipes are ours.
#[derive(Debug)]
pub struct Child {
    /// Names the leader, and becomes readable when it ends. Registering a descriptor with Tokio is unsafe, so the backend does it.
    pub pidfd: AsyncFd<OwnedFd>,
    /// The leader's process number, which is also its group's.
    pub pid: i32,
    /// The writing end of its standard input.
    pub stdin: OwnedFd,
    /// The reading end of its standard output.
    pub stdout: OwnedFd,
    /// The reading end of its standard error.
    pub stderr: OwnedFd,
}

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

/// Why the loop ended.
enum Stop {
    Exit,
    Deadline,
    Flood,
}

/// Feeds and watches a process until it ends, its deadline comes, or it writes too much; afterwards nothing of its group is left.
///
/// Dropping the future kills the group.
///
/// # Errors
/// When the operating system refuses to watch the process; it is killed then.
pub async fn supervise(child: Child, input: &[u8], limits: &Limits) -> io::Result<Supervised> {
    let leader = Leader::new(child.pidfd, Pid::from_raw(child.pid));
    let (stdout, stderr) = (Shared::default(), Shared::default());
    let mut output = pin!(read_both(child.stdout, child.stderr, &stdout, &stderr, limits));
    let mut input = pin!(feed(child.stdin, input));
    let mut deadline = pin!(tokio::time::sleep(limits.wall_time));
    let (mut output_done, mut input_done) = (false, false);
    let stop = loop {
        tokio::select! {
            biased;
            ended = leader.ended() => break ended.map(|()| Stop::Exit)?,
            () = &mut deadline => break Stop::Deadline,
            flow = &mut output, if !output_done => match flow? {
                Flow::Flooded => break Stop::Flood,
                Flow::Ended => output_done = true,
            },
            fed = &mut input, if !input_done => { fed?; input_done = true; }
        }
    };
    leader.kill();
    if !output_done && !matches!(stop, Stop::Flood) {
        // A pipe that something unkillable holds open is not awaited for long; what came until then is kept.
        if let Ok(drained) = timeout(DRAIN, &mut output).await {
            drained?;
        }
    }
    let status = leader.collect()?;
    let ending = match (stop, status) {
        (Stop::Deadline, _) => Ending::TimedOut { limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX) },
        (Stop::Flood, _) => Ending::OutputLimit { limit_bytes: limits.flood_bytes },
        (Stop::Exit, Status::Exited(code)) => Ending::Exited { code },
        (Stop::Exit, Status::Signalled(signal)) => Ending::Signalled { signal },
        (Stop::Exit, Status::Unknown) => Ending::Unknown,
    };
    Ok(Supervised { ending, stdout: take(&stdout), stderr: take(&stderr) })
}

/// Reads both streams to their ends; the first flood ends it.
async fn read_both(stdout: OwnedFd, stderr: OwnedFd, out: &Shared, err: &Shared, limits: &Limits) -> io::Result<Flow> {
    let mut out = pin!(capture(stdout, Arc::clone(out), limits.output_bytes, limits.flood_bytes));
    let mut err = pin!(capture(stderr, Arc::clone(err), limits.output_bytes, limits.flood_bytes));
    tokio::select! {
        flow = &mut out => if flow? == Flow::Flooded { Ok(Flow::Flooded) } else { err.await },
        flow = &mut err => if flow? == Flow::Flooded { Ok(Flow::Flooded) } else { out.await },
    }
}

fn take(captured: &Shared) -> Captured {
    std::mem::take(&mut *captured.lock().unwrap_or_else(PoisonError::into_inner))
}
