//! Killing a process group and collecting its leader.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::unix::AsyncFd;

/// The leader of a process group that has not been collected; dropping it kills and collects the group.
pub(super) struct Leader {
    pidfd: Option<AsyncFd<OwnedFd>>,
    group: Pid,
}

/// How the leader ended.
pub(super) enum Status {
    Exited(i32),
    Signalled(i32),
    Unknown,
}

impl Leader {
    pub(super) fn new(pidfd: AsyncFd<OwnedFd>, group: Pid) -> Self {
        Self { pidfd: Some(pidfd), group }
    }

    /// Waits until the leader has ended.
    pub(super) async fn ended(&self) -> io::Result<()> {
        match &self.pidfd {
            Some(pidfd) => pidfd.readable().await.map(drop),
            None => Ok(()),
        }
    }

    /// Kills every process of the group. The leader is not collected yet, so the group's number is still its own.
    pub(super) fn kill(&self) {
        // A group whose only member has ended answers with an error, and that is as it should be.
        let _ = killpg(self.group, Signal::SIGKILL);
    }

    /// Collects the leader, which has ended or was killed.
    pub(super) fn collect(mut self) -> io::Result<Status> {
        let Some(pidfd) = self.pidfd.take() else { return Err(io::Error::other("already collected")) };
        wait(pidfd.get_ref())
    }
}

impl Drop for Leader {
    /// The one way a cancelled run ends: kill now, collect aside, since the kernel may need a moment.
    fn drop(&mut self) {
        let Some(pidfd) = self.pidfd.take() else { return };
        self.kill();
        let pidfd = pidfd.into_inner();
        // Without a thread the leader stays uncollected; it is dead all the same.
        let _ = std::thread::Builder::new().name("skills-reaper".into()).spawn(move || wait(&pidfd));
    }
}

/// Asks for the signal's number, not its name, since programs may die of signals that have no name.
fn wait(pidfd: &OwnedFd) -> io::Result<Status> {
    loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Ok(Status::Exited(code)),
                (None, Some(signal)) => return Ok(Status::Signalled(signal)),
                (None, None) => {}
            },
            Ok(None) | Err(Errno::INTR) => {}
            // The host collects children of its own accord and was faster.
            Err(Errno::CHILD) => return Ok(Status::Unknown),
            Err(error) => return Err(error.into()),
        }
    }
}
