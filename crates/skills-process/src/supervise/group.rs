//! A process group on any Unix, spawned by Tokio.

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

use super::leader::{Leader, LeaderStatus, Process, Streams};

/// How long to wait for a killed leader; the kernel releases it at once unless a device blocks it.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that was just spawned as the leader of its own process group, with pipes for its three
/// streams.
#[derive(Debug)]
pub struct SpawnedGroup {
    leader: GroupLeader,
    streams: Streams,
}

impl SpawnedGroup {
    /// Spawns `command` in its own process group, with pipes for its three streams. Must be called
    /// inside a Tokio runtime with I/O enabled.
    ///
    /// The host process is not forked: the standard library uses `posix_spawn` or `vfork`, so the
    /// cost does not depend on the size of the host.
    ///
    /// # Errors
    /// Fails if the program cannot be spawned or watched; nothing runs then.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        // The signal handler is installed before there is a child to report.
        let signals = signal(SignalKind::child())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that one signal reaches the processes that it starts.
            .process_group(0)
            // Covers the time until the leader exists, which kills the group when it is dropped.
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let number = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .ok_or_else(|| io::Error::other("the process has no PID"))?;
        let streams = take_pipes(&mut child);
        let leader = GroupLeader {
            child: Some(child),
            group: Pid::from_raw(number),
            signals,
        };
        Ok(Self {
            leader,
            streams: streams?,
        })
    }
}

fn take_pipes(child: &mut Child) -> io::Result<Streams> {
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("pipe is missing"));
    };
    Ok(Streams::of_pipes(
        stdin.into_owned_fd()?,
        stdout.into_owned_fd()?,
        stderr.into_owned_fd()?,
    ))
}

impl Process for SpawnedGroup {
    type Leader = GroupLeader;

    fn into_parts(self) -> io::Result<(GroupLeader, Streams)> {
        Ok((self.leader, self.streams))
    }
}

/// The leader of a process group that Tokio spawned.
///
/// Tokio's own wait reaps the process, and then its group's PID may be reused before the group is
/// killed. So the leader is only checked on each `SIGCHLD`, and reaped last.
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
        // Checked first and after each signal: signals of several children can be merged into one.
        while !has_exited(self.group)? {
            if self.signals.recv().await.is_none() {
                return Err(io::Error::other("the runtime does not receive signals"));
            }
        }
        Ok(())
    }

    fn kill_group(&mut self) {
        // The call fails for a group whose only member has ended; that is expected.
        let _ = killpg(self.group, Signal::SIGKILL);
    }

    async fn reap(mut self) -> io::Result<LeaderStatus> {
        let Some(mut child) = self.child.take() else {
            return Err(io::Error::other("already reaped"));
        };
        match timeout(REAP_TIMEOUT, child.wait()).await {
            Ok(Ok(status)) => Ok(leader_status(status)),
            // The host reaps all children by itself and was faster.
            Ok(Err(error)) if error.raw_os_error() == Some(Errno::ECHILD as i32) => {
                Ok(LeaderStatus::Unknown)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(LeaderStatus::Unknown),
        }
    }
}

impl Drop for GroupLeader {
    /// A cancelled run ends here: kill now; Tokio reaps dropped children.
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill_group();
        }
    }
}

/// Checks whether a child has exited, without reaping it.
fn has_exited(child: Pid) -> io::Result<bool> {
    use rustix::io::Errno;
    let Some(child) = rustix::process::Pid::from_raw(child.as_raw()) else {
        return Ok(true);
    };
    match waitid(
        WaitId::Pid(child),
        // `NOWAIT` leaves a zombie, whose PID cannot be reused before the group is killed.
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG,
    ) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        // The host reaped it.
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
