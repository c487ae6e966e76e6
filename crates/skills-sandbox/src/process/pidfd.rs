//! A process group on Linux, whose leader is known by a pidfd.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::leader::{Leader, LeaderStatus, Pipes, Process};

/// How long a leader that was killed is awaited.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that was just started: the leader of a process group of its own, all of whose pipes
/// are ours.
#[derive(Debug)]
pub struct PidfdChild {
    /// Names the leader, and becomes readable when it ends. Registering a descriptor with Tokio is
    /// unsafe, so the backend does it.
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

impl Process for PidfdChild {
    type Leader = PidfdLeader;

    fn into_parts(self) -> io::Result<(PidfdLeader, Pipes)> {
        let Self {
            pidfd,
            pid,
            stdin,
            stdout,
            stderr,
        } = self;
        Ok((
            PidfdLeader {
                pidfd: Some(pidfd),
                group: Pid::from_raw(pid),
            },
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ))
    }
}

/// The leader of a process group, by its pidfd.
#[derive(Debug)]
pub struct PidfdLeader {
    pidfd: Option<AsyncFd<OwnedFd>>,
    group: Pid,
}

impl Leader for PidfdLeader {
    fn group(&self) -> i32 {
        self.group.as_raw()
    }

    async fn wait_exit(&mut self) -> io::Result<()> {
        match &self.pidfd {
            Some(pidfd) => pidfd.readable().await.map(drop),
            None => Ok(()),
        }
    }

    fn kill_group(&mut self) {
        // A group whose only member has ended answers with an error, and that is as it should be.
        let _ = killpg(self.group, Signal::SIGKILL);
    }

    async fn reap(mut self) -> io::Result<LeaderStatus> {
        let Some(pidfd) = &self.pidfd else {
            return Err(io::Error::other("already collected"));
        };
        // One that the kernel does not let go of, in the middle of a call to a file system that is
        // gone, is left to be collected aside.
        if timeout(REAP_TIMEOUT, pidfd.readable()).await.is_err() {
            return Ok(LeaderStatus::Unknown);
        }
        let Some(pidfd) = self.pidfd.take() else {
            return Ok(LeaderStatus::Unknown);
        };
        wait_status(pidfd.get_ref())
    }
}

impl Drop for PidfdLeader {
    /// The one way a cancelled run ends: kill now, collect aside, since the kernel may need a
    /// moment.
    fn drop(&mut self) {
        let Some(pidfd) = self.pidfd.take() else {
            return;
        };
        self.kill_group();
        let pidfd = pidfd.into_inner();
        // Without a thread the leader stays uncollected; it is dead all the same.
        let _ = std::thread::Builder::new()
            .name("skills-reaper".into())
            .spawn(move || wait_status(&pidfd));
    }
}

/// Asks for the signal's number, not its name, since programs may die of signals that have no name.
fn wait_status(pidfd: &OwnedFd) -> io::Result<LeaderStatus> {
    loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Ok(LeaderStatus::Exited(code)),
                (None, Some(signal)) => return Ok(LeaderStatus::Signaled(signal)),
                (None, None) => {}
            },
            Ok(None) | Err(Errno::INTR) => {}
            // The host collects children of its own accord and was faster.
            Err(Errno::CHILD) => return Ok(LeaderStatus::Unknown),
            Err(error) => return Err(error.into()),
        }
    }
}
