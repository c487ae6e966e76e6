//! The process interface that supervision uses, independent of the platform.

use std::io;
use std::os::fd::OwnedFd;

/// A process that was just spawned: the leader of its own process group, with pipes for its three
/// streams.
pub trait Process: Send {
    /// The handle that waits for the leader, kills its group and reaps it.
    type Leader: Leader;

    /// Splits the process into its leader and its pipes.
    ///
    /// # Errors
    /// Fails if a pipe is missing or the process cannot be watched; it is killed then.
    fn into_parts(self) -> io::Result<(Self::Leader, Pipes)>;
}

/// The leader of a process group that was not reaped yet. Dropping it kills the group and reaps the
/// leader on a background thread.
pub trait Leader: Send {
    /// Returns the process group ID, which is also the leader's PID.
    fn group(&self) -> i32;

    /// Waits until the leader has exited, without reaping it. Cancel safe.
    ///
    /// # Errors
    /// Fails if the process cannot be watched.
    fn wait_exit(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Kills every process of the group, including the leader.
    fn kill_group(&mut self);

    /// Reaps the leader, which has exited or was killed.
    ///
    /// # Errors
    /// Fails if its exit status cannot be read.
    fn reap(self) -> impl Future<Output = io::Result<LeaderStatus>> + Send;
}

/// The host's ends of the three pipes of a process.
#[derive(Debug)]
pub struct Pipes {
    /// The write end of its standard input.
    pub stdin: OwnedFd,
    /// The read end of its standard output.
    pub stdout: OwnedFd,
    /// The read end of its standard error.
    pub stderr: OwnedFd,
}

/// How a leader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaderStatus {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signaled(i32),
    /// The status is unknown: the host reaped it, or the kernel did not release it in time.
    Unknown,
}
