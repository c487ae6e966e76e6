//! A process group on Linux, whose leader is identified by a pidfd.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::leader::{Leader, LeaderStatus, Process, Streams};

/// How long to wait for a killed leader.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that was just spawned: the leader of its own process group, with its streams.
#[derive(Debug)]
pub struct PidfdChild {
    /// Identifies the leader, and becomes readable when it exits. Registering a descriptor with
    /// Tokio is unsafe, so the backend does it.
    pub pidfd: AsyncFd<OwnedFd>,
    /// The PID of the leader, which is also its process group ID.
    pub pid: i32,
    /// Its standard streams.
    pub streams: Streams,
}

impl Process for PidfdChild {
    type Leader = PidfdLeader;

    fn into_parts(self) -> io::Result<(PidfdLeader, Streams)> {
        let leader = PidfdLeader {
            pidfd: Some(self.pidfd),
            group: Pid::from_raw(self.pid),
        };
        Ok((leader, self.streams))
    }
}

/// The leader of a process group, identified by its pidfd.
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
        // The call fails for a group whose only member has ended; that is expected.
        let _ = killpg(self.group, Signal::SIGKILL);
    }

    async fn reap(mut self) -> io::Result<LeaderStatus> {
        let Some(pidfd) = &self.pidfd else {
            return Err(io::Error::other("already reaped"));
        };
        // A leader that the kernel does not release, blocked in a call to a lost file system, is
        // reaped on a background thread.
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
    /// A cancelled run ends here: kill now, reap on a background thread, since the kernel may need
    /// a moment.
    fn drop(&mut self) {
        let Some(pidfd) = self.pidfd.take() else {
            return;
        };
        self.kill_group();
        let pidfd = pidfd.into_inner();
        // Without a thread the leader stays a zombie; it is dead nevertheless.
        let _ = std::thread::Builder::new()
            .name("skills-reaper".into())
            .spawn(move || wait_status(&pidfd));
    }
}

/// Reads the number of the signal, not its name, since some signals have no name.
fn wait_status(pidfd: &OwnedFd) -> io::Result<LeaderStatus> {
    loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Ok(LeaderStatus::Exited(code)),
                (None, Some(signal)) => return Ok(LeaderStatus::Signaled(signal)),
                (None, None) => {}
            },
            Ok(None) | Err(Errno::INTR) => {}
            // The host reaps all children by itself and was faster.
            Err(Errno::CHILD) => return Ok(LeaderStatus::Unknown),
            Err(error) => return Err(error.into()),
        }
    }
}
