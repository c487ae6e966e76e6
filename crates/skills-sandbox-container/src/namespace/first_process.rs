//! The first process of a container.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The first process of a container, as a process of this host. The descriptor keeps another process with
/// the same number from being meant.
#[derive(Debug)]
pub(crate) struct FirstProcess {
    pid: i32,
    descriptor: OwnedFd,
}

impl FirstProcess {
    pub(super) fn open(pid: i32) -> Option<Self> {
        let descriptor = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, descriptor })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills it, and with it all processes of its namespace. It may have ended, or belong to another
    /// user, whose engine then has to do that.
    pub(crate) fn kill(&self) {
        let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
    }
}
