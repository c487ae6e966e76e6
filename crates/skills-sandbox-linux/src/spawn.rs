//! Creates the child process and waits until it executes its program.

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::signal::{Signal, killpg};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use skills_process::{OutputEnd, PidfdChild, Streams};
use skills_sandbox::SandboxError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::child::{
    self, FILTER_LISTENER, HOME_DIRECTORY, LAYER_DIRECTORY, MOUNT_NAMESPACE, NAME_LISTENER,
    NETWORK_LISTENER, SERVICE_LISTENER,
};
use crate::memory_use::MemoryUse;
use crate::setup_slot::SetupSlot;
use crate::setup_step::{Message, READY, SetupStep, StepFailure};
use crate::stack::Stack;
use crate::standard_streams::{ParentOutput, ParentStreams};
use crate::watchdog::{self, WatchedGroup};

/// A child that executes its program, and the parent's ends of its pipes. Dropping it kills the
/// child: the result of a spawn is dropped on its way between threads if the run was cancelled.
pub(crate) struct SpawnedChild {
    pid: i32,
    handles: Option<(OwnedFd, ParentStreams)>,
    pub(crate) listeners: Listeners,
    /// The pipe with the wait status of the program, if that is not the spawned process.
    pub(crate) program_status: Option<OwnedFd>,
    /// Dropped after the child was killed, since fields are dropped after `Drop::drop`.
    pub(crate) watched_group: Option<WatchedGroup>,
}

/// What the child sent before it executed its program.
#[derive(Default)]
pub(crate) struct Listeners {
    /// The socket of the proxy, if hosts are granted.
    pub(crate) network: Option<OwnedFd>,
    /// The sockets for granted services of the loopback device.
    pub(crate) services: Vec<OwnedFd>,
    /// The socket for name lookups, if the run has a network of its own.
    pub(crate) names: Option<OwnedFd>,
    /// The home directory, if it is in the run's own file system.
    pub(crate) home: Option<OwnedFd>,
    /// What the program writes in its own directory, if that has a layer.
    pub(crate) layer: Option<OwnedFd>,
    /// The mount namespace of the run, if it has one.
    pub(crate) mount_namespace: Option<OwnedFd>,
    /// The listener of the seccomp filter, if the kernel allows one.
    pub(crate) filter: Option<OwnedFd>,
}

impl SpawnedChild {
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Duplicates the pidfd of the child.
    pub(crate) fn clone_pidfd(&self) -> io::Result<OwnedFd> {
        self.handles.as_ref().map_or_else(
            || Err(io::ErrorKind::NotFound.into()),
            |(pidfd, _)| pidfd.try_clone(),
        )
    }

    /// Duplicates the master side of the child's terminal, if it has one.
    pub(crate) fn clone_terminal(&self) -> io::Result<Option<OwnedFd>> {
        let streams = self.handles.as_ref().map(|(_, streams)| streams);
        match streams.map(|streams| &streams.stdout) {
            Some(ParentOutput::Terminal(terminal)) => terminal.try_clone().map(Some),
            _ => Ok(None),
        }
    }

    /// Registers the child with Tokio. The caller then has to kill and reap it.
    #[expect(
        unsafe_code,
        reason = "registering a descriptor with Tokio is unsafe in general"
    )]
    pub(crate) fn into_pidfd_child(mut self) -> io::Result<PidfdChild> {
        let (pidfd, streams) = self.handles.take().ok_or(io::ErrorKind::NotFound)?;
        let streams = match streams.register() {
            Ok(streams) => streams,
            Err(error) => {
                // Without its handles the destructor does not kill it.
                kill(self.pid, &pidfd);
                return Err(error);
            }
        };
        // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and
        // the `AsyncFd` owns it.
        match unsafe { AsyncFd::<OwnedFd>::register_with_interest(pidfd, Interest::READABLE) } {
            Ok(pidfd) => Ok(PidfdChild {
                pidfd,
                pid: self.pid,
                streams,
            }),
            Err(error) => {
                // Without its handles the destructor does not kill it.
                let (pidfd, error) = error.into_parts();
                kill(self.pid, &pidfd);
                Err(error)
            }
        }
    }
}

impl ParentStreams {
    /// Registers a terminal with Tokio.
    fn register(self) -> io::Result<Streams> {
        Ok(Streams {
            stdin: self.stdin,
            stdout: match self.stdout {
                ParentOutput::Pipe(pipe) => OutputEnd::Pipe(pipe),
                ParentOutput::Terminal(terminal) => terminal.into_output_end()?,
            },
            stderr: self.stderr,
        })
    }
}

impl Drop for SpawnedChild {
    fn drop(&mut self) {
        if let Some((pidfd, _streams)) = self.handles.take() {
            kill(self.pid, &pidfd);
        }
    }
}

/// Kills a child and its process group, and reaps it.
pub(crate) fn kill(pid: i32, pidfd: &OwnedFd) {
    // Both fail only for a child that was reaped before. The group is killed before the child is
    // reaped, while its number cannot be reused.
    let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    let _ = waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED);
}

/// The reason why no program runs.
#[derive(Debug)]
pub(crate) enum SpawnError {
    /// The host process ignores `SIGCHLD`.
    SigchldIgnored,
    /// A setup step failed.
    Failed(StepFailure),
    /// The child exited, or was not created, since it had no setup.
    Unused,
}

impl From<SpawnError> for SandboxError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Failed(failure) => failure.into(),
            SpawnError::Unused => {
                Self::setup("creating the process", io::ErrorKind::Interrupted.into())
            }
            SpawnError::SigchldIgnored => {
                let reason = "the host process ignores SIGCHLD, so the kernel reaps its children and may reuse their PIDs";
                Self::setup("creating the process", io::Error::other(reason))
            }
        }
    }
}

/// Creates the child and waits until it executes its program. If a setup step fails in the child,
/// it is an error here, and nothing runs.
///
/// The calling thread must outlive the child, which is killed when that thread ends.
pub(crate) fn spawn(slot: &SetupSlot) -> Result<SpawnedChild, SpawnError> {
    if ignores_sigchld() {
        return Err(SpawnError::SigchldIgnored);
    }
    if slot.is_closed() && slot.setup().is_none() {
        return Err(SpawnError::Unused);
    }
    let (pidfd, pid) = clone_child(slot)
        .map_err(|error| SpawnError::Failed(StepFailure::from_clone_error(&error)))?;
    let given = if slot.is_abandoned() {
        None
    } else {
        slot.take()
    };
    let Some((setup, parent_ends)) = given else {
        kill(pid, &pidfd);
        return Err(SpawnError::Unused);
    };
    let messages = read_messages(parent_ends.status);
    // Only this one message means that the program runs: a failed `execve` sends a second one.
    if messages.as_slice() == [READY] {
        let watched_group = setup
            .watchdog
            .map(|(_, watchdog_pid)| watchdog::watch_group(pid, watchdog_pid));
        setup.close();
        let listeners = receive_listeners(&parent_ends.channel);
        return Ok(SpawnedChild {
            pid,
            handles: Some((pidfd, parent_ends.streams)),
            listeners,
            program_status: parent_ends.program_status,
            watched_group,
        });
    }
    // Before the child is reaped: afterwards its PID may belong to another process group.
    if setup.watchdog.is_some() {
        watchdog::withdraw(pid);
    }
    kill(pid, &pidfd);
    let failed = messages
        .last()
        .filter(|message| **message != READY)
        .map_or([0, 0, -1], |message| *message);
    let [step, errno, op_index] = failed;
    let step = SetupStep::ALL
        .into_iter()
        .find(|known| *known as i32 == step);
    let path = setup.operation_path(op_index);
    setup.close();
    Err(SpawnError::Failed(StepFailure { step, errno, path }))
}

/// Reads the messages of the child: [`READY`] and perhaps a failed `execve`, a step that failed, or
/// nothing if the child was killed during the setup.
fn read_messages(status: OwnedFd) -> Vec<Message> {
    let mut bytes = [0; 2 * size_of::<Message>()];
    // The child has executed its program or exited, so everything it wrote is in the pipe. Reading
    // does not block: this thread still holds a copy of the writing end, so there is no end of
    // file.
    let length = File::from(status).read(&mut bytes).unwrap_or(0);
    bytes[..length]
        .chunks_exact(size_of::<Message>())
        .map(parse_message)
        .collect()
}

/// Receives the listeners that the child sent before it executed its program.
fn receive_listeners(channel: &OwnedFd) -> Listeners {
    let mut listeners = Listeners::default();
    // The socket does not block, so the first missing message ends the loop.
    while let Some((purpose, listener)) = receive_descriptor(channel) {
        match purpose {
            NETWORK_LISTENER => listeners.network = Some(listener),
            NAME_LISTENER => listeners.names = Some(listener),
            HOME_DIRECTORY => listeners.home = Some(listener),
            LAYER_DIRECTORY => listeners.layer = Some(listener),
            MOUNT_NAMESPACE => listeners.mount_namespace = Some(listener),
            SERVICE_LISTENER => listeners.services.push(listener),
            FILTER_LISTENER => listeners.filter = Some(listener),
            _ => {}
        }
    }
    listeners
}

#[expect(
    unsafe_code,
    reason = "the wrapper returns received descriptors as bare numbers"
)]
fn receive_descriptor(channel: &OwnedFd) -> Option<(u8, OwnedFd)> {
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
    let descriptor = message.cmsgs().ok()?.find_map(|control| match control {
        // SAFETY: the kernel created these descriptors for this message, so nothing else owns them.
        ControlMessageOwned::ScmRights(numbers) => numbers
            .first()
            .map(|number| unsafe { OwnedFd::from_raw_fd(*number) }),
        _ => None,
    })?;
    Some((byte[0], descriptor))
}

/// Returns true if the kernel reaps children by itself. Their PIDs could then be reused before
/// their process groups are killed.
#[expect(unsafe_code, reason = "reading a signal's handler has no safe form")]
fn ignores_sigchld() -> bool {
    // SAFETY: only reads the handler, into a zeroed local structure of plain data.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0
}

fn parse_message(bytes: &[u8]) -> Message {
    let word = |offset: usize| {
        bytes[offset..offset + 4]
            .try_into()
            .map_or(0, i32::from_ne_bytes)
    };
    [word(0), word(4), word(8)]
}

/// Creates a process that shares the memory of the host process and has its own stack, and waits
/// until it executes its program or exits.
///
/// Unlike `fork` it copies no page tables, so its cost does not grow with the host's memory.
#[expect(unsafe_code, reason = "there is no safe form of clone")]
fn clone_child(slot: &SetupSlot) -> io::Result<(OwnedFd, i32)> {
    // A separate stack, since the parent's thread resumes on its own one.
    let stack = Stack::new()?;
    // A child that waits for its setup shares the descriptors, since those of the setup are still
    // to be opened. It then makes a copy.
    let files = if slot.is_closed() {
        0
    } else {
        libc::CLONE_FILES
    };
    // Signals do not interrupt the wait of `vfork`, so stopping the host process or changing its user
    // has to wait too; a child waits for less than a second.
    let wait = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_CHILD_CLEARTID;
    let flags = wait | libc::CLONE_PIDFD | libc::SIGCHLD | files | slot.early.clone_flags();
    let argument = std::ptr::from_ref(slot).cast_mut().cast();
    let mut pidfd: libc::c_int = -1;
    let memory_use = MemoryUse::default();
    memory_use.begin();
    // SAFETY: signals are blocked around the call, so no handler of the host runs in a child on
    // shared memory. `child::main` follows the rules of its module. The stacks and `slot` outlive
    // the use of them: this thread waits until the child has executed a program or exited, and then for
    // the process that the child created. The kernel writes the descriptor to `pidfd`.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let pid = libc::clone(
            child::main,
            stack.top(),
            flags,
            argument,
            &raw mut pidfd,
            std::ptr::null_mut::<libc::c_void>(),
            memory_use.as_ptr(),
        );
        let error = io::Error::last_os_error();
        if pid >= 0 {
            memory_use.wait();
            if let Some(init) = slot.setup().and_then(|setup| setup.init.as_ref()) {
                init.memory_use.wait();
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        if pid < 0 {
            return Err(error);
        }
        pid
    };
    // SAFETY: the kernel created this descriptor for this call, so nothing else owns it.
    Ok((unsafe { OwnedFd::from_raw_fd(pidfd) }, pid))
}
