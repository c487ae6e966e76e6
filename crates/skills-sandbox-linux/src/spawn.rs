//! Makes the child.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use skills_sandbox::SandboxError;

use crate::child::{self, READY, Step};
use crate::prepared::{Ours, Prepared};
use crate::stack::Stack;

/// A child that runs its program, and our ends of its pipes. Dropping it kills the child: it may get lost between two threads.
pub(crate) struct Spawned {
    pid: i32,
    held: Option<(OwnedFd, Ours)>,
}

impl Spawned {
    /// Hands the child over: its number, its descriptor, our pipes. Whoever takes them must kill and collect it.
    pub(crate) fn take(mut self) -> Option<(i32, OwnedFd, Ours)> {
        self.held.take().map(|(pidfd, ours)| (self.pid, pidfd, ours))
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Some((pidfd, _ours)) = self.held.take() {
            kill(self.pid, &pidfd);
        }
    }
}

/// Kills a child and its group, and collects it.
pub(crate) fn kill(pid: i32, pidfd: &OwnedFd) {
    // Both fail only for a child that is gone already.
    let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    let _ = waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED);
}

/// Makes the child and waits until it executes its program; a step that failed there is an error here, and nothing runs.
///
/// The thread that calls this must outlive the child, which dies with it.
pub(crate) fn spawn(prepared: Prepared, ours: Ours) -> Result<Spawned, SandboxError> {
    if ignores_children() {
        let reason = "this program ignores SIGCHLD, so the kernel forgets its children before they can be collected";
        return Err(SandboxError::setup("making a process", io::Error::other(reason)));
    }
    let (pidfd, pid) = clone(&prepared).map_err(|error| SandboxError::setup("clone", error))?;
    let Prepared { status_reader, owned, .. } = prepared;
    drop(owned);
    // The child has executed its program or ended, so all that it had to say is in the pipe: that it is ready and nothing else, or which
    // step failed, or nothing because something killed it on the way.
    let mut said = [0; 16];
    match File::from(status_reader).read(&mut said) {
        Ok(8) if words(&said[..8]) == READY => Ok(Spawned { pid, held: Some((pidfd, ours)) }),
        Ok(8) => Err(failure(words(&said[..8]), &pidfd)),
        Ok(16) => Err(failure(words(&said[8..]), &pidfd)),
        _ => {
            kill(pid, &pidfd);
            Err(SandboxError::setup("preparing the process", io::Error::other("it was killed before its walls stood")))
        }
    }
}

/// Says whether the kernel collects our children by itself; their numbers could then be somebody else's when their groups are killed.
#[expect(unsafe_code, reason = "asking for a signal's handler has no safe form")]
fn ignores_children() -> bool {
    // SAFETY: only reads, into a zeroed local structure of plain data.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0
}

fn words(bytes: &[u8]) -> [i32; 2] {
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, i32::from_ne_bytes);
    [word(0), word(4)]
}

/// Makes a process that shares our memory, on a stack of its own, while this thread sleeps.
///
/// Unlike `fork` it copies no page tables, so its price does not grow with the host's memory.
#[expect(unsafe_code, reason = "there is no safe form of clone")]
fn clone(prepared: &Prepared) -> io::Result<(OwnedFd, i32)> {
    let stack = Stack::new()?;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let argument = std::ptr::from_ref(prepared).cast_mut().cast();
    let mut pidfd: libc::c_int = -1;
    // SAFETY: signals are blocked around the call, so no handler of the host runs in the child on shared memory. `child::main` keeps to the
    // rules of its module. The stack and `prepared` outlive the child's use of them, since CLONE_VFORK lets this thread go on only after
    // the child has executed its program or ended. The kernel writes the descriptor to `pidfd`.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let pid = libc::clone(child::main, stack.top(), flags, argument, &raw mut pidfd);
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        if pid < 0 {
            return Err(error);
        }
        pid
    };
    // SAFETY: the kernel made this descriptor for us and nobody else owns it.
    Ok((unsafe { OwnedFd::from_raw_fd(pidfd) }, pid))
}

/// Collects a child that never ran, and says which step failed.
fn failure([step, errno]: [i32; 2], pidfd: &OwnedFd) -> SandboxError {
    let _ = waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED);
    let error = io::Error::from_raw_os_error(errno);
    let wall = |layer, hint| SandboxError::unavailable(layer, error.to_string(), hint);
    const CONTAINER: &str = "let the container's or service's seccomp profile allow it, or use a skill with a WebAssembly module";
    match Step::ALL.into_iter().find(|known| *known as i32 == step) {
        Some(Step::Landlock) => wall("Landlock", CONTAINER),
        Some(Step::Seccomp) => wall("seccomp", CONTAINER),
        Some(Step::NoNewPrivileges) => wall("no_new_privs", CONTAINER),
        Some(Step::Capabilities) => wall("dropping capabilities", CONTAINER),
        Some(Step::Execute) => SandboxError::setup("starting the interpreter", error),
        Some(Step::Directory) => SandboxError::setup("entering the skill's directory", error),
        Some(Step::Limits) => SandboxError::setup("setting resource limits", error),
        Some(Step::Descriptors) => SandboxError::setup("closing descriptors", error),
        _ => SandboxError::setup("preparing the process", error),
    }
}
