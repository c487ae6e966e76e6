//! Observes operations that the seccomp filter refuses, for the hints of a result.
//!
//! ```text
//! program --fork, socket, execve--> filter --notification--> host process
//!         <--EPERM, or the kernel continues the call----------'  records it
//! ```
//!
//! The filter decides which calls need an answer, and the answer is always the same: the error that
//! the filter alone would have returned, or for `execve`, about which Landlock decides, that the
//! kernel continues the call. So nothing depends on what is read from the program, which may change
//! it at any time. Once the listener is closed, calls that wait for an answer fail.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_long, c_void, seccomp_notif, seccomp_notif_resp};
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;
use skills_egress::ProxySummary;
use skills_policy::SpawnGrant;
use skills_sandbox::{
    Evidence, HostConnections, Refusal, Refusals, RefusedOperation, SandboxError,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::path_rule::PathAccess;
use crate::plan::Plan;

/// The longest path of a program that is read; longer ones are not recorded.
const MAX_PATH_BYTES: usize = 4_096;
/// Lets a notification wake the host process on the same processor (Linux 6.6).
const SYNC_WAKE_UP: u64 = 1;

/// Answers the notifications of one run and records the refusals.
pub(crate) struct Observer {
    listener: AsyncFd<OwnedFd>,
    programs: GrantedPrograms,
    refusals: Mutex<Refusals>,
}

/// The programs that a run may start.
struct GrantedPrograms {
    spawn: SpawnGrant,
    /// Canonical paths at or below which Landlock lets programs start.
    executable: BTreeSet<PathBuf>,
}

/// What a notified call tries.
enum NotifiedCall {
    Process,
    Socket,
    Program,
}

impl Observer {
    /// Creates the observer of a run, unless its filter has no listener. Must be called in a Tokio
    /// runtime with I/O enabled.
    pub(crate) fn start(
        listener: Option<OwnedFd>,
        plan: &Plan,
    ) -> Result<Option<Self>, SandboxError> {
        let Some(listener) = listener else {
            return Ok(None);
        };
        set_sync_wake_up(&listener);
        Ok(Some(Self {
            listener: register(listener)
                .map_err(|error| SandboxError::setup("observing the process", error))?,
            programs: GrantedPrograms::new(plan),
            refusals: Mutex::default(),
        }))
    }

    /// Answers notifications until the last process of the run has ended. Cancel safe: calls that
    /// wait for an answer are answered by the next call, or fail when the observer is dropped.
    pub(crate) async fn observe(&self) {
        loop {
            let Ok(mut guard) = self.listener.readable().await else {
                return;
            };
            match self.poll() {
                Pending::Notification => self.answer_next(),
                Pending::Nothing => guard.clear_ready(),
                Pending::Ended => return,
            }
        }
    }

    /// Returns what was refused.
    pub(crate) fn into_refusals(self) -> Refusals {
        self.refusals
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(
        unsafe_code,
        reason = "polling a descriptor that is registered with Tokio"
    )]
    fn poll(&self) -> Pending {
        let mut entry = libc::pollfd {
            fd: self.listener.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one local structure, whose number is passed.
        unsafe { libc::poll(&raw mut entry, 1, 0) };
        if entry.revents & libc::POLLIN != 0 {
            Pending::Notification
        } else if entry.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
            Pending::Ended
        } else {
            Pending::Nothing
        }
    }

    fn answer_next(&self) {
        // Fails if the process was killed in the meantime; then nothing waits for an answer.
        let Ok(notification) = receive(self.listener.as_raw_fd()) else {
            return;
        };
        let call = NotifiedCall::new(c_long::from(notification.data.nr));
        // Read before the answer: a started program has another memory.
        let program = match call {
            NotifiedCall::Program => self.refused_program(&notification),
            NotifiedCall::Process | NotifiedCall::Socket => None,
        };
        answer(self.listener.as_raw_fd(), notification.id, &call);
        let operation = match call {
            NotifiedCall::Process => Some(RefusedOperation::StartProcess),
            NotifiedCall::Socket => Some(RefusedOperation::Connect { host: None }),
            NotifiedCall::Program => program.map(|name| RefusedOperation::StartProgram { name }),
        };
        if let Some(operation) = operation {
            self.refusals
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(Refusal::new(operation, Evidence::Observed));
        }
    }

    /// Returns the name of the program that a process is about to start, if Landlock will refuse
    /// it.
    fn refused_program(&self, notification: &seccomp_notif) -> Option<String> {
        let path = read_path(notification.pid, notification.data.args[0])?;
        // The bytes are only those of this call while it waits.
        is_waiting(self.listener.as_raw_fd(), notification.id)
            .then(|| exists_for(notification.pid, &path).then(|| self.programs.refused(&path))?)?
    }
}

/// Returns true if a path exists for a process. It is resolved below the root of the process: a
/// program must not find out from its refusals which files exist elsewhere on the host.
fn exists_for(pid: u32, path: &Path) -> bool {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    let root = format!("/proc/{pid}/root");
    let Ok(root) = open(root.as_str(), flags | OFlag::O_DIRECTORY, Mode::empty()) else {
        return false;
    };
    let how = OpenHow::new()
        .flags(flags)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT);
    openat2(&root, path, how).is_ok()
}

/// Awaits a run, while its notifications are answered.
pub(crate) async fn observed<T>(run: impl Future<Output = T>, observer: Option<&Observer>) -> T {
    let mut run = pin!(run);
    if let Some(observer) = observer {
        tokio::select! {
            biased;
            result = &mut run => return result,
            // The last process has ended, and its output is still read.
            () = observer.observe() => {}
        }
    }
    run.await
}

/// Returns what the filter and the proxy refused.
pub(crate) fn refusals(observer: Option<Observer>, summary: &ProxySummary) -> Refusals {
    let mut refusals = observer.map(Observer::into_refusals).unwrap_or_default();
    for (host, count) in summary.rejected_hosts() {
        refusals.add_connections(host, count);
    }
    refusals
}

/// Returns the hosts that the proxy connected to.
pub(crate) fn connections(summary: &ProxySummary) -> Vec<HostConnections> {
    let reached = summary.reached().iter().map(|reached| HostConnections {
        host: reached.host.clone(),
        count: reached.count,
    });
    reached.collect()
}

/// What the listener has.
enum Pending {
    Notification,
    Nothing,
    Ended,
}

impl NotifiedCall {
    fn new(number: c_long) -> Self {
        match number {
            libc::SYS_execve => Self::Program,
            libc::SYS_socket => Self::Socket,
            _ => Self::Process,
        }
    }
}

impl GrantedPrograms {
    fn new(plan: &Plan) -> Self {
        let executable = plan
            .paths()
            .iter()
            .filter(|rule| rule.access == PathAccess::Execute)
            .filter_map(|rule| rule.path.canonicalize().ok())
            .collect();
        Self {
            spawn: plan.spawn.clone(),
            executable,
        }
    }

    /// Returns the name of a program that may not be started. A path that does not exist is not
    /// refused: shells try each directory of the search path.
    fn refused(&self, path: &Path) -> Option<String> {
        if path.is_relative() {
            return None;
        }
        let target = path.canonicalize().ok()?;
        if target
            .ancestors()
            .any(|ancestor| self.executable.contains(ancestor))
        {
            return None;
        }
        let name = path.file_name()?.to_str()?;
        (!self.spawn.allows_program(name)).then(|| name.to_owned())
    }
}

#[expect(
    unsafe_code,
    reason = "registering a descriptor with Tokio is unsafe in general"
)]
fn register(listener: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the
    // `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }
        .map_err(|error| error.into_parts().1)
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn set_sync_wake_up(listener: &OwnedFd) {
    // SAFETY: passes flags by value. Older kernels do not know the command, which is only about
    // speed.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
            SYNC_WAKE_UP,
        )
    };
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn receive(listener: RawFd) -> io::Result<seccomp_notif> {
    // SAFETY: the kernel requires a zeroed structure of plain data, and fills it.
    unsafe {
        let mut notification: seccomp_notif = std::mem::zeroed();
        let result = libc::ioctl(
            listener,
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut notification,
        );
        check(result).map(|()| notification)
    }
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn answer(listener: RawFd, id: u64, call: &NotifiedCall) {
    let (error, flags) = match call {
        NotifiedCall::Program => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        NotifiedCall::Process | NotifiedCall::Socket => (-libc::EPERM, 0),
    };
    let mut response = seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the structure is local plain data of the kernel's layout. It fails if the process was
    // killed; then nothing waits for an answer.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn is_waiting(listener: RawFd, id: u64) -> bool {
    // SAFETY: the kernel reads the local number.
    let result =
        unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) };
    check(result).is_ok()
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Reads a path from the memory of a process. `None` if it cannot be read or is too long.
#[expect(unsafe_code, reason = "reading the memory of another process")]
fn read_path(pid: u32, address: u64) -> Option<PathBuf> {
    const PAGE_BYTES: usize = 4_096;
    let mut bytes = [0u8; MAX_PATH_BYTES];
    let mut length = 0;
    // Page by page, since reading fails as a whole if the string is followed by an unmapped page.
    while length < bytes.len() {
        let start = usize::try_from(address).ok()?.checked_add(length)?;
        let part = (PAGE_BYTES - start % PAGE_BYTES).min(bytes.len() - length);
        let local = libc::iovec {
            iov_base: bytes[length..].as_mut_ptr().cast(),
            iov_len: part,
        };
        let remote = libc::iovec {
            iov_base: start as *mut c_void,
            iov_len: part,
        };
        // SAFETY: the local buffer has at least `part` bytes from here on; the kernel checks the
        // other address.
        let read = unsafe {
            libc::process_vm_readv(
                pid as libc::pid_t,
                &raw const local,
                1,
                &raw const remote,
                1,
                0,
            )
        };
        let read = usize::try_from(read).ok().filter(|read| *read > 0)?;
        if let Some(end) = bytes[length..length + read]
            .iter()
            .position(|byte| *byte == 0)
        {
            let text = std::str::from_utf8(&bytes[..length + end]).ok()?;
            return Some(PathBuf::from(text));
        }
        length += read;
    }
    None
}
