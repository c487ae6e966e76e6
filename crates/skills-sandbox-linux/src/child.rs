//! What happens in the child between `clone` and `execve`.
//!
//! The child shares the parent's memory while the parent's thread sleeps, and other threads of the parent go on. So nothing here
//! allocates, locks, panics or unwinds; it makes system calls with what was prepared, and ends in `execve` or `_exit`.
#![expect(unsafe_code, reason = "system calls between clone and exec have no safe form")]

use libc::{c_int, c_ulong, c_void};
use seccompiler::sock_filter;

use crate::prepared::Prepared;

/// The step that failed, as it travels through the status pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Step {
    Session = 1,
    Parent,
    Streams,
    Descriptors,
    Directory,
    Limits,
    Capabilities,
    NoNewPrivileges,
    Landlock,
    Seccomp,
    Signals,
    Execute,
}

impl Step {
    pub(crate) const ALL: [Self; 12] = [
        Self::Session,
        Self::Parent,
        Self::Streams,
        Self::Descriptors,
        Self::Directory,
        Self::Limits,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Signals,
        Self::Execute,
    ];
}

/// What the child says when every wall stands and only the program is missing.
pub(crate) const READY: [i32; 2] = [0, 0];

/// The child's entry point; `argument` is a [`Prepared`].
pub(crate) extern "C" fn main(argument: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a pointer to a `Prepared` that lives until the child has executed its program or ended, because the
    // parent's thread sleeps that long.
    let prepared = unsafe { &*argument.cast::<Prepared>() };
    let failed = match run(prepared) {
        Ok(never) => match never {},
        Err(step) => step,
    };
    say(prepared, [failed as i32, errno()]);
    // SAFETY: ends without running destructors.
    unsafe { libc::_exit(127) }
}

fn say(prepared: &Prepared, message: [i32; 2]) {
    // SAFETY: writes eight bytes of a local array to the status pipe.
    unsafe { libc::write(prepared.status, message.as_ptr().cast(), size_of_val(&message)) };
}

/// The length of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = 8;

enum Never {}

fn run(prepared: &Prepared) -> Result<Never, Step> {
    session(prepared)?;
    streams(prepared)?;
    limits(prepared)?;
    privileges()?;
    walls(prepared)?;
    execute(prepared)
}

/// Turns the answer of a system call into a step's result.
fn check(answer: c_int, step: Step) -> Result<(), Step> {
    if answer < 0 { Err(step) } else { Ok(()) }
}

/// A session and process group of its own, without a terminal; dies with the thread that made it.
fn session(prepared: &Prepared) -> Result<(), Step> {
    // SAFETY: system calls without pointers.
    unsafe {
        check(libc::setsid(), Step::Session)?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong), Step::Parent)?;
        // The parent may have ended before the signal was asked for.
        if libc::getppid() == prepared.parent { Ok(()) } else { Err(Step::Parent) }
    }
}

/// Our three streams and no other descriptor; the working directory.
fn streams(prepared: &Prepared) -> Result<(), Step> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    for (target, source) in (0..).zip(prepared.streams) {
        // SAFETY: system call without pointers; the sources are above 2, so none is overwritten before it is used.
        check(unsafe { libc::dup2(source, target) }, Step::Streams)?;
    }
    // SAFETY: marks descriptors of this process, whose table is a copy, as closing; the path is a valid string.
    unsafe {
        let answer = libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, CLOSE_RANGE_CLOEXEC);
        check(answer as c_int, Step::Descriptors)?;
        libc::umask(0o077);
        check(libc::chdir(prepared.directory.as_ptr()), Step::Directory)
    }
}

fn limits(prepared: &Prepared) -> Result<(), Step> {
    for (resource, value) in &prepared.limits {
        let limit = libc::rlimit64 { rlim_cur: *value, rlim_max: *value };
        // SAFETY: reads a local structure, writes nothing; process 0 is this one.
        let answer = unsafe { libc::prlimit64(0, *resource, &limit, std::ptr::null_mut()) };
        check(answer, Step::Limits)?;
    }
    Ok(())
}

/// Drops every capability and the way to new ones.
fn privileges() -> Result<(), Step> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    const LAST_CAPABILITY: c_ulong = 63;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: the header and the two empty sets are local and have the layout of version 3.
    unsafe {
        for capability in 0..=LAST_CAPABILITY {
            // Fails for capabilities that do not exist and for callers that have none to drop. Without new privileges, and with an
            // empty permitted set, the bounding set decides nothing any more: this is a second lock on a closed door.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        let answer = libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr());
        check(answer as c_int, Step::Capabilities)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), Step::NoNewPrivileges)
    }
}

fn walls(prepared: &Prepared) -> Result<(), Step> {
    // SAFETY: the ruleset is an open descriptor; marked as closing, it is open until `execve`.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, prepared.ruleset, 0u32) };
    check(answer as c_int, Step::Landlock)?;
    prepared.filters.iter().try_for_each(|filter| install(filter))
}

fn install(filter: &[sock_filter]) -> Result<(), Step> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel copies the program, whose length is that of the slice; both types have the kernel's layout.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0u32, &raw const program) };
    check(answer as c_int, Step::Seccomp)
}

/// Signals as a new program expects them, then the program.
fn execute(prepared: &Prepared) -> Result<Never, Step> {
    // SAFETY: the handlers are this process's own copy, since they are not shared; the structures are zeroed plain data; the strings and
    // the arrays of pointers to them, which end with null, belong to `prepared`.
    unsafe {
        // The C library's function may take a lock, so this asks the kernel, whose structure holds four words; all zero is the default.
        let default = [0usize; 4];
        for signal in 1..=64 {
            // Fails for the two that cannot be changed.
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u8>(), SIGNAL_SET_BYTES);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()), Step::Signals)?;
        say(prepared, READY);
        libc::execve(prepared.executable.as_ptr(), prepared.arguments.as_ptr(), prepared.environment.as_ptr());
    }
    Err(Step::Execute)
}

fn errno() -> i32 {
    // SAFETY: the C library's own place for the last error of this thread, which sleeps.
    unsafe { *libc::__errno_location() }
}
