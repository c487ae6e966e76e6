//! The process interface that supervision uses, independent of the platform.

use std::io;
use std::os::fd::OwnedFd;

/// A process that was just spawned: the leader of its own process group, with its streams.
pub trait Process: Send {
    /// The handle that waits for the leader, kills its group and reaps it.
    type Leader: Leader;

    /// Splits the process into its leader and its streams.
    ///
    /// # Errors
    /// Fails if a stream is missing or the process cannot be watched; it is killed then.
    fn into_parts(self) -> io::Result<(Self::Leader, Streams)>;
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

/// The host's ends of the standard streams of a process.
#[derive(Debug)]
pub struct Streams {
    /// Standard input.
    pub stdin: InputEnd,
    /// Standard output.
    pub stdout: OutputEnd,
    /// Standard error; `None` if it is the terminal that is its standard output.
    pub stderr: Option<OwnedFd>,
}

/// Where the input of a process is written.
#[derive(Debug)]
pub enum InputEnd {
    /// A pipe, which is closed at the end of the input.
    Pipe(OwnedFd),
    /// The master side of its terminal, where the end of the input has no effect: a program reads
    /// until `Ctrl-D` is typed.
    Terminal(OwnedFd),
}

/// Where the output of a process is read.
#[derive(Debug)]
pub enum OutputEnd {
    /// A pipe.
    Pipe(OwnedFd),
    /// Its terminal.
    #[cfg(target_os = "linux")]
    Terminal {
        /// The master side, which does not block. Registering a descriptor with Tokio is unsafe, so
        /// the backend does it.
        master: tokio::io::unix::AsyncFd<OwnedFd>,
        /// The slave side, which is kept until the leader has exited: while no process has it open,
        /// the master side reports the end, although the program may open it again.
        slave: Option<OwnedFd>,
    },
}

impl OutputEnd {
    /// Takes the slave side of a terminal.
    pub(super) fn take_slave(&mut self) -> Option<OwnedFd> {
        match self {
            Self::Pipe(_) => None,
            #[cfg(target_os = "linux")]
            Self::Terminal { slave, .. } => slave.take(),
        }
    }
}

impl Streams {
    /// Returns the streams of a process with three pipes.
    #[must_use]
    pub fn of_pipes(stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> Self {
        Self {
            stdin: InputEnd::Pipe(stdin),
            stdout: OutputEnd::Pipe(stdout),
            stderr: Some(stderr),
        }
    }
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
