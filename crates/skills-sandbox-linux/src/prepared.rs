//! Everything a child needs, made before it exists.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use libc::c_char;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;
use seccompiler::BpfProgram;
use skills_policy::{Limits, Spawn};
use skills_sandbox::SandboxError;

use crate::kernel::LandlockVersion;
use crate::plan::Plan;
use crate::ruleset::ruleset;
use crate::seccomp::{Processes, filters};

/// The kernel's numbers of resources, and their values.
pub(crate) type ResourceLimits = Vec<(libc::__rlimit_resource_t, u64)>;

/// The three streams of the child, as descriptors above 2.
pub(crate) type Streams = [RawFd; 3];

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
    pub(crate) owned: Vec<OwnedFd>,
    pub(crate) status_reader: OwnedFd,
}

/// Our ends of the child's pipes.
pub(crate) struct Ours {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Prepared {
    /// Does all that can be done before the child exists.
    pub(crate) fn new(plan: &Plan, version: LandlockVersion) -> Result<(Self, Ours), SandboxError> {
        let processes = if plan.spawn == Spawn::None { Processes::One } else { Processes::Many };
        let pipes = |error| SandboxError::setup("pipes", error);
        let ruleset = above_standard(ruleset(plan.paths(), version)?).map_err(pipes)?;
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
            owned: vec![ruleset, stdin, stdout, stderr, status],
            status_reader,
        };
        Ok((prepared, Ours { stdin: our_stdin, stdout: our_stdout, stderr: our_stderr }))
    }
}

/// Strings and the null-terminated array of pointers to them that `execve` wants.
pub(crate) struct Pointers {
    pointers: Vec<*const c_char>,
    /// Owns what the pointers point to.
    _strings: Vec<CString>,
}

impl Pointers {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|string| CStr::as_ptr(string)).chain([std::ptr::null()]).collect();
        Self { pointers, _strings: strings }
    }

    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

#[expect(unsafe_code, reason = "pointers are not sent between threads unless somebody says why they may be")]
// SAFETY: the pointers lead to heap memory that `_strings` owns and nobody changes.
unsafe impl Send for Pointers {}

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

/// A limit that the host itself is under already, and that is lower, stays: nobody but root could raise it.
fn resource_limits(limits: &Limits) -> ResourceLimits {
    let cpu_seconds = limits.wall_time.as_secs().saturating_add(1);
    let wanted = [
        (libc::RLIMIT_AS, limits.memory_bytes),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
        (libc::RLIMIT_NOFILE, limits.open_files),
        // Threads share the deadline, and each may use it in full.
        (libc::RLIMIT_CPU, cpu_seconds.saturating_mul(64)),
        // Not 0: that does not keep the kernel from starting a handler for the dump, 1 does.
        (libc::RLIMIT_CORE, 1),
        (libc::RLIMIT_MEMLOCK, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
    ];
    wanted.into_iter().map(|(resource, value)| (resource, value.min(hard_limit(resource)))).collect()
}

#[expect(unsafe_code, reason = "the wrapper does not know all resources by these numbers")]
fn hard_limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: libc::RLIM64_INFINITY, rlim_max: libc::RLIM64_INFINITY };
    // SAFETY: writes the local structure; a failure leaves it as it is.
    unsafe { libc::getrlimit64(resource, &raw mut limit) };
    limit.rlim_max
}

fn string(bytes: &[u8]) -> Result<CString, SandboxError> {
    CString::new(bytes).map_err(|_| SandboxError::refused("linux", "a path, argument or variable holds a NUL byte"))
}

fn strings(texts: &[String]) -> Result<Pointers, SandboxError> {
    texts.iter().map(|text| string(text.as_bytes())).collect::<Result<_, _>>().map(Pointers::new)
}
