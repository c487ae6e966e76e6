//! Makes the child.

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::signal::{Signal, killpg};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use skills_sandbox::SandboxError;

use crate::child;
use crate::child_setup::{ChildSetup, Namespaces, ParentEnds};
use crate::setup_step::{Message, READY, SetupStep, StepFailure};
use crate::stack::Stack;
use crate::watchdog::{self, WatchedGroup};

/// A child that runs its program, and our ends of its pipes. Dropping it kills the child: it may
/// get lost between two threads.
pub(crate) struct SpawnedChild {
    pid: i32,
    handles: Option<(OwnedFd, Streams)>,
    pub(crate) listener: Option<OwnedFd>,
    /// Dropped after the child was killed.
    pub(crate) guarded: Option<WatchedGroup>,
}

/// Our ends of its standard streams.
pub(crate) struct Streams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl SpawnedChild {
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Copies the descriptor that names the child.
    pub(crate) fn clone_pidfd(&self) -> io::Result<OwnedFd> {
        self.handles.as_ref().map_or_else(
            || Err(io::ErrorKind::NotFound.into()),
            |(pidfd, _)| pidfd.try_clone(),
        )
    }

    /// Hands the child over: its number, its descriptor, our pipes. Whoever takes them must kill
    /// and collect it.
    pub(crate) fn into_parts(mut self) -> Option<(i32, OwnedFd, Streams)> {
        self.handles
            .take()
            .map(|(pidfd, streams)| (self.pid, pidfd, streams))
    }
}

impl Drop for SpawnedChild {
    fn drop(&mut self) {
        if let Some((pidfd, _streams)) = self.handles.take() {
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

/// Why there is no child.
#[derive(Debug)]
pub(crate) enum SpawnError {
    /// This program cannot have children.
    SigchldIgnored,
    /// A step failed.
    Failed(StepFailure),
}

impl From<SpawnError> for SandboxError {
    fn from(none: SpawnError) -> Self {
        match none {
            SpawnError::Failed(failure) => failure.into(),
            SpawnError::SigchldIgnored => {
                let reason = "this program ignores SIGCHLD, so the kernel forgets its children before they can be collected";
                Self::setup("making a process", io::Error::other(reason))
            }
        }
    }
}

/// Makes the child and waits until it executes its program; a step that failed there is an error
/// here, and nothing runs.
///
/// The thread that calls this must outlive the child, which dies with it.
pub(crate) fn spawn(prepared: ChildSetup, ours: ParentEnds) -> Result<SpawnedChild, SpawnError> {
    if ignores_children() {
        return Err(SpawnError::SigchldIgnored);
    }
    let (pidfd, pid) = clone_child(&prepared)
        .map_err(|error| SpawnError::Failed(StepFailure::from_clone_error(&error)))?;
    let ParentEnds {
        stdin,
        stdout,
        stderr,
        status,
        channel,
    } = ours;
    // The child has executed its program or ended, so all that it had to say is in the pipe: that
    // it is ready and nothing else, or which step failed, or nothing because something killed it on
    // the way.
    let mut said = [0; 2 * size_of::<Message>()];
    let length = File::from(status).read(&mut said).unwrap_or(0);
    let messages: Vec<Message> = said[..length]
        .chunks_exact(size_of::<Message>())
        .map(parse_message)
        .collect();
    if messages.as_slice() == [READY] {
        let guarded = prepared
            .guardian
            .map(|(_, guardian)| watchdog::watch_group(pid, guardian));
        prepared.close();
        let listener = channel.and_then(|channel| receive_listener(&channel));
        return Ok(SpawnedChild {
            pid,
            handles: Some((
                pidfd,
                Streams {
                    stdin,
                    stdout,
                    stderr,
                },
            )),
            listener,
            guarded,
        });
    }
    // While the number is still the child's.
    if prepared.guardian.is_some() {
        watchdog::withdraw(pid);
    }
    kill(pid, &pidfd);
    let failed = messages
        .last()
        .filter(|message| **message != READY)
        .map_or([0, 0, -1], |message| *message);
    let [step, errno, at] = failed;
    let step = SetupStep::ALL
        .into_iter()
        .find(|known| *known as i32 == step);
    let path = prepared.operation_path(at);
    prepared.close();
    Err(SpawnError::Failed(StepFailure { step, errno, path }))
}

/// Takes the listener that the child handed over before it executed its program.
#[expect(
    unsafe_code,
    reason = "the wrapper returns received descriptors as bare numbers"
)]
fn receive_listener(channel: &OwnedFd) -> Option<OwnedFd> {
    let mut byte = [0; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let message = recvmsg::<()>(
        channel.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )
    .ok()?;
    message.cmsgs().ok()?.find_map(|control| match control {
        // SAFETY: the kernel made these descriptors for us and nobody else owns them.
        ControlMessageOwned::ScmRights(numbers) => numbers
            .first()
            .map(|number| unsafe { OwnedFd::from_raw_fd(*number) }),
        _ => None,
    })
}

/// Says whether the kernel collects our children by itself; their numbers could then be somebody
/// else's when their groups are killed.
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

fn parse_message(bytes: &[u8]) -> Message {
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, i32::from_ne_bytes);
    [word(0), word(4), word(8)]
}

/// Makes a process that shares our memory, on a stack of its own, while this thread sleeps.
///
/// Unlike `fork` it copies no page tables, so its price does not grow with the host's memory.
#[expect(unsafe_code, reason = "there is no safe form of clone")]
fn clone_child(prepared: &ChildSetup) -> io::Result<(OwnedFd, i32)> {
    let stack = Stack::new()?;
    let own = prepared.namespaces.as_ref().map_or(0, Namespaces::flags);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD | own;
    let argument = std::ptr::from_ref(prepared).cast_mut().cast();
    let mut pidfd: libc::c_int = -1;
    // SAFETY: signals are blocked around the call, so no handler of the host runs in the child on
    // shared memory. `child::main` keeps to the rules of its module. The stack and `prepared`
    // outlive the child's use of them, since CLONE_VFORK lets this thread go on only after the
    // child has executed its program or ended. The kernel writes the descriptor to `pidfd`.
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
