//! Killing a process group and collecting its leader.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
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
        std::thread::spawn(move || wait(&pidfd));
    }
}

fn wait(pidfd: &OwnedFd) -> io::Result<Status> {
    loop {
        match waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(Status::Exited(code)),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Status::Signalled(signal as i32)),
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
