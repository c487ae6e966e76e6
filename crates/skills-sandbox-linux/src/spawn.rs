//! Prepares everything a child needs, and makes it.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, pipe2};
use seccompiler::BpfProgram;
use skills_policy::{Limits, Spawn};
use skills_sandbox::SandboxError;

use crate::child::{self, Pointers, ResourceLimits, Step, Streams};
use crate::kernel::LandlockVersion;
use crate::plan::Plan;
use crate::ruleset::ruleset;
use crate::seccomp::{Processes, filters};
use crate::stack::Stack;

/// All that the child reads: owned, immutable, and alive until the child has executed its program.
pub(crate) struct Prepared {
    pub(crate) executable: CString,
    pub(crate) arguments: Pointers,
    pub(crate) environment: Pointers,
    pub(crate) directory: CString,
    pub(crate) limits: ResourceLimits,
    pub(crate) filters: Vec<BpfProgram>,
    pub(crate) ruleset: RawFd,
    pub(crate) streams: Streams,
    pub(crate) status: RawFd,
    pub(crate) parent: i32,
    /// Keeps the descriptors above open.
    _owned: Vec<OwnedFd>,
    status_reader: OwnedFd,
}

/// A child that runs its program, and our ends of its pipes. Dropping it kills the child: it may get lost between two threads.
pub(crate) struct Spawned {
    pid: i32,
    held: Option<(OwnedFd, Ours)>,
}

/// Our ends of the child's pipes.
pub(crate) struct Ours {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
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

impl Prepared {
    /// Does all that can be done before the child exists.
    pub(crate) fn new(plan: &Plan, version: LandlockVersion) -> Result<(Self, Ours), SandboxError> {
        let processes = if plan.spawn == Spawn::None { Processes::One } else { Processes::Many };
        let ruleset = ruleset(plan.paths(), version)?;
        let pipes = |error| SandboxError::setup("pipes", error);
        let ((stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr)) =
            (pipe().map_err(pipes)?, pipe().map_err(pipes)?, pipe().map_err(pipes)?);
        let (status_reader, status) = pipe().map_err(pipes)?;
        fcntl(&status_reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|error| pipes(error.into()))?;
        let prepared = Self {
            executable: string(plan.executable.as_os_str().as_bytes())?,
            arguments: strings(plan.arguments())?,
            environment: strings(&plan.environment().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>())?,
            directory: string(plan.directory.as_os_str().as_bytes())?,
            limits: resource_limits(&plan.limits),
            filters: filters(processes)?,
            ruleset: ruleset.as_raw_fd(),
            streams: [stdin.as_raw_fd(), stdout.as_raw_fd(), stderr.as_raw_fd()],
            status: status.as_raw_fd(),
            parent: std::process::id().cast_signed(),
            _owned: vec![ruleset, stdin, stdout, stderr, status],
            status_reader,
        };
        Ok((prepared, Ours { stdin: our_stdin, stdout: our_stdout, stderr: our_stderr }))
    }

    /// Makes the child and waits until it executes its program; a step that failed there is an error here, and nothing runs.
    ///
    /// The thread that calls this must outlive the child, which dies with it.
    pub(crate) fn spawn(self, ours: Ours) -> Result<Spawned, SandboxError> {
        let (pidfd, pid) = clone(&self).map_err(|error| SandboxError::setup("clone", error))?;
        let Self { status_reader, _owned: owned, .. } = self;
        drop(owned);
        let mut message = [0; 8];
        // The child has executed its program or ended, so what it had to say is in the pipe; nothing there means success.
        match File::from(status_reader).read(&mut message) {
            Ok(8) => Err(failure(message, &pidfd)),
            _ => Ok(Spawned { pid, held: Some((pidfd, ours)) }),
        }
    }
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
fn failure(message: [u8; 8], pidfd: &OwnedFd) -> SandboxError {
    let _ = waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED);
    let [a, b, c, d, e, f, g, h] = message;
    let (step, errno) = (i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]));
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

/// A pipe whose ends close on exec and lie above the three standard descriptors, even in a host that closed those.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((above_standard(reader)?, above_standard(writer)?))
}

#[expect(unsafe_code, reason = "the wrapper returns the new descriptor as a bare number")]
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    let copy = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: the descriptor was just made and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

fn resource_limits(limits: &Limits) -> ResourceLimits {
    let cpu_seconds = limits.wall_time.as_secs().saturating_add(1);
    vec![
        (libc::RLIMIT_AS, limits.memory_bytes),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
        (libc::RLIMIT_NOFILE, limits.open_files),
        // Threads share the deadline, and each may use it in full.
        (libc::RLIMIT_CPU, cpu_seconds.saturating_mul(64)),
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_MEMLOCK, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
    ]
}

fn string(bytes: &[u8]) -> Result<CString, SandboxError> {
    CString::new(bytes).map_err(|_| SandboxError::refused("linux", "a path, argument or variable holds a NUL byte"))
}

fn strings(texts: &[String]) -> Result<Pointers, SandboxError> {
    texts.iter().map(|text| string(text.as_bytes())).collect::<Result<_, _>>().map(Pointers::new)
}
