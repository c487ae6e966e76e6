//! A process group on any Unix, started by Tokio.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::timeout;

use super::leader::{Leader, LeaderStatus, Pipes, Process};

/// How long a killed leader is awaited; the kernel lets go of it at once unless a device holds it.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that was just started as the leader of a process group of its own, all of whose pipes
/// are ours.
#[derive(Debug)]
pub struct SpawnedGroup {
    leader: GroupLeader,
    pipes: Pipes,
}

impl SpawnedGroup {
    /// Starts `command` in a process group of its own, with pipes for its three streams. Must be
    /// called inside a Tokio runtime with I/O enabled.
    ///
    /// The host is not forked: the standard library asks the system to make the process, whatever
    /// the size of the host.
    ///
    /// # Errors
    /// When the program cannot be started or watched; nothing runs then.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        // Listening begins before there is anything to hear.
        let signals = signal(SignalKind::child())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let number = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .ok_or_else(|| io::Error::other("the process has no number"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let leader = GroupLeader {
            child: Some(child),
            group: Pid::from_raw(number),
            signals,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let pipes = Pipes {
            stdin: stdin.into_owned_fd()?,
            stdout: stdout.into_owned_fd()?,
            stderr: stderr.into_owned_fd()?,
        };
        Ok(Self { leader, pipes })
    }
}

impl Process for SpawnedGroup {
    type Leader = GroupLeader;

    fn into_parts(self) -> io::Result<(GroupLeader, Pipes)> {
        Ok((self.leader, self.pipes))
    }
}

/// The leader of a process group that Tokio started.
///
/// Tokio's own way to wait for a process collects it, and then its group's number may be given away
/// before the group is killed. So the leader is only looked at whenever the system says that some
/// child has ended, and collected last.
#[derive(Debug)]
pub struct GroupLeader {
    child: Option<Child>,
    group: Pid,
    signals: Signals,
}

impl Leader for GroupLeader {
    fn group(&self) -> i32 {
        self.group.as_raw()
    }

    async fn wait_exit(&mut self) -> io::Result<()> {
        while !has_exited(self.group)? {
            if self.signals.recv().await.is_none() {
                return Err(io::Error::other("the runtime hears no signals"));
            }
        }
        Ok(())
    }

    fn kill_group(&mut self) {
        // A group whose only member has ended answers with an error, and that is as it should be.
        let _ = killpg(self.group, Signal::SIGKILL);
    }

    async fn reap(mut self) -> io::Result<LeaderStatus> {
        let Some(mut child) = self.child.take() else {
            return Err(io::Error::other("already collected"));
        };
        match timeout(REAP_TIMEOUT, child.wait()).await {
            Ok(Ok(status)) => Ok(leader_status(status)),
            // The host collects children of its own accord and was faster.
            Ok(Err(error)) if error.raw_os_error() == Some(Errno::ECHILD as i32) => {
                Ok(LeaderStatus::Unknown)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(LeaderStatus::Unknown),
        }
    }
}

impl Drop for GroupLeader {
    /// The one way a cancelled run ends: kill now; Tokio collects what is dropped.
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill_group();
        }
    }
}

/// Looks whether a child has ended, and leaves it uncollected.
fn has_exited(child: Pid) -> io::Result<bool> {
    use rustix::io::Errno;
    let Some(child) = rustix::process::Pid::from_raw(child.as_raw()) else {
        return Ok(true);
    };
    match waitid(
        WaitId::Pid(child),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG,
    ) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        // The host collected it.
        Err(Errno::CHILD) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn leader_status(status: ExitStatus) -> LeaderStatus {
    match (status.code(), status.signal()) {
        (Some(code), _) => LeaderStatus::Exited(code),
        (None, Some(signal)) => LeaderStatus::Signaled(signal),
        (None, None) => LeaderStatus::Unknown,
    }
}
