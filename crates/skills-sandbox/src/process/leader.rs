//! What supervision needs to know of a process, whatever the system calls it.

use std::io;
use std::os::fd::OwnedFd;

/// A process that was just started: the leader of a process group of its own, all of whose pipes
/// are ours.
pub trait Process: Send {
    /// What waits for it, kills its group and collects it.
    type Leader: Leader;

    /// Takes it apart.
    ///
    /// # Errors
    /// When a pipe is missing or the operating system refuses to watch the process; it is killed
    /// then.
    fn into_parts(self) -> io::Result<(Self::Leader, Pipes)>;
}

/// The leader of a process group that has not been collected. Dropping it kills the group, and has
/// the leader collected aside.
pub trait Leader: Send {
    /// Returns the number of the process group, which is also the leader's.
    fn group(&self) -> i32;

    /// Waits until the leader has ended, and leaves it uncollected. May be dropped and called again
    /// at any time.
    ///
    /// # Errors
    /// When the operating system refuses to watch it.
    fn wait_exit(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Kills every process of the group, the leader too.
    fn kill_group(&mut self);

    /// Collects the leader, which has ended or was killed.
    ///
    /// # Errors
    /// When the operating system refuses to say how it ended.
    fn reap(self) -> impl Future<Output = io::Result<LeaderStatus>> + Send;
}

/// Our ends of the three pipes of a process.
#[derive(Debug)]
pub struct Pipes {
    /// The writing end of its standard input.
    pub stdin: OwnedFd,
    /// The reading end of its standard output.
    pub stdout: OwnedFd,
    /// The reading end of its standard error.
    pub stderr: OwnedFd,
}

/// How a leader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaderStatus {
    /// By itself, with this exit code.
    Exited(i32),
    /// By the signal of this number.
    Signaled(i32),
    /// Not known: the host collected it, or the kernel does not let go of it.
    Unknown,
}
