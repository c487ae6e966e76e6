//! What happens in the child between `clone` and `execve`.
//!
//! The child shares the parent's memory while the parent's thread sleeps, and other threads of the
//! parent go on. So nothing here allocates, locks, panics or unwinds; it makes system calls with
//! what was prepared, and ends in `execve` or `_exit`.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

mod namespaces;
mod network;
mod syscall;

use libc::{AT_FDCWD, c_int, c_ulong, c_void, sock_filter};

use crate::child_setup::{ChildSetup, Ruleset};
use crate::setup_step::{Message, READY, SetupStep};
pub(crate) use network::Listener;
use syscall::{check_result, errno, open, write};

/// The child's entry point; `argument` is a [`ChildSetup`].
pub(crate) extern "C" fn main(argument: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a pointer to a `ChildSetup` that lives until the child has executed
    // its program or ended, because the parent's thread sleeps that long.
    let prepared = unsafe { &*argument.cast::<ChildSetup>() };
    let mut at = -1;
    let failed = match set_up_and_execute(prepared, &mut at) {
        Ok(()) => 0,
        Err(step) => {
            let errno = if prepared.fault == Some(step) {
                libc::EPERM
            } else {
                errno()
            };
            // Nobody is left to be told when this fails too.
            let _ = send_status(prepared, [step as i32, errno, at]);
            127
        }
    };
    // SAFETY: ends without running destructors.
    unsafe {
        libc::syscall(libc::SYS_exit_group, failed);
        libc::_exit(127)
    }
}

fn send_status(prepared: &ChildSetup, message: Message) -> Result<(), SetupStep> {
    let [step, errno, at] = message.map(i32::to_ne_bytes);
    let mut bytes = [0u8; size_of::<Message>()];
    for (place, byte) in bytes
        .iter_mut()
        .zip(step.into_iter().chain(errno).chain(at))
    {
        *place = byte;
    }
    write(prepared.status, &bytes, SetupStep::Ready)
}

/// The length of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = 8;

/// Returns only when there is no program to execute.
fn set_up_and_execute(prepared: &ChildSetup, at: &mut i32) -> Result<(), SetupStep> {
    let reach = |step: SetupStep| {
        if prepared.fault == Some(step) {
            Err(step)
        } else {
            Ok(())
        }
    };
    create_session(prepared, &reach)?;
    reach(SetupStep::Cgroup)?;
    for group in &prepared.cgroup_procs_files {
        write(*group, b"0", SetupStep::Cgroup)?;
    }
    if let Some(own) = &prepared.namespaces {
        reach(SetupStep::Identity)?;
        namespaces::write_id_maps(&own.uid_map, &own.gid_map)?;
        if let Some(listener) = own.listener {
            reach(SetupStep::Network)?;
            network::set_up_network(listener)?;
        }
        [
            SetupStep::Root,
            SetupStep::RootFs,
            SetupStep::Proc,
            SetupStep::Pivot,
        ]
        .into_iter()
        .try_for_each(&reach)?;
        namespaces::enter_rootfs(&own.rootfs, at)?;
    }
    install_streams(prepared, &reach)?;
    reach(SetupStep::Limits)?;
    set_rlimits(prepared)?;
    drop_privileges(&reach)?;
    reach(SetupStep::Landlock)?;
    prepared.ruleset.as_ref().map_or(Ok(()), restrict_self)?;
    reach(SetupStep::Seccomp)?;
    install_filter(&prepared.filter)?;
    reach(SetupStep::Signals)?;
    reset_signals()?;
    reach(SetupStep::Ready)?;
    // Fails, too, when the host has died meanwhile, since nobody could read this any more.
    send_status(prepared, READY)?;
    reach(SetupStep::Execute)?;
    execute(prepared)
}

/// A session and process group of its own, without a terminal; dies with the thread that made it.
fn create_session(
    prepared: &ChildSetup,
    reach: &impl Fn(SetupStep) -> Result<(), SetupStep>,
) -> Result<(), SetupStep> {
    reach(SetupStep::Session)?;
    // SAFETY: system calls without pointers. The descriptor is this process's own copy.
    unsafe {
        check_result(libc::syscall(libc::SYS_setsid), SetupStep::Session)?;
        reach(SetupStep::Lifetime)?;
        check_result(
            libc::syscall(
                libc::SYS_prctl,
                libc::PR_SET_PDEATHSIG,
                libc::SIGKILL as c_ulong,
                0,
                0,
                0,
            ),
            SetupStep::Lifetime,
        )?;
        // The host may have ended before the signal was asked for. Then nobody holds the reading
        // end of the status pipe, once our own copy of it is closed, and saying that all is ready
        // fails.
        check_result(
            libc::syscall(libc::SYS_close, prepared.status_reader),
            SetupStep::Lifetime,
        )?;
    }
    prepared.guardian.map_or(Ok(()), |(pipe, _)| announce(pipe))
}

/// Tells the guardian to kill this group should the host be killed.
fn announce(guardian: c_int) -> Result<(), SetupStep> {
    // SAFETY: takes no memory.
    let mut number = unsafe { libc::syscall(libc::SYS_getpid) };
    // A sign, a space, at most ten digits and the end of the line, written from the end on.
    let mut line = [b'\n'; 13];
    let mut at = line.len() - 1;
    while number > 0 && at > 2 {
        at -= 1;
        line[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    line[at - 1] = b' ';
    line[at - 2] = b'+';
    write(guardian, &line[at - 2..], SetupStep::Lifetime)
}

/// Our three streams and no other descriptor; the working directory.
fn install_streams(
    prepared: &ChildSetup,
    reach: &impl Fn(SetupStep) -> Result<(), SetupStep>,
) -> Result<(), SetupStep> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    reach(SetupStep::Streams)?;
    for (target, source) in (0..).zip(prepared.streams) {
        // SAFETY: system call without pointers; the sources are above 2, so none is overwritten
        // before it is used.
        check_result(
            unsafe { libc::syscall(libc::SYS_dup3, source, target, 0) },
            SetupStep::Streams,
        )?;
    }
    reach(SetupStep::Descriptors)?;
    // SAFETY: marks descriptors of this process, whose table is a copy, as closing; the path is a
    // valid string.
    unsafe {
        check_result(
            libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, CLOSE_RANGE_CLOEXEC),
            SetupStep::Descriptors,
        )?;
        libc::syscall(libc::SYS_umask, 0o077);
        reach(SetupStep::Directory)?;
        check_result(
            libc::syscall(libc::SYS_chdir, prepared.directory.as_ptr()),
            SetupStep::Directory,
        )
        .map(drop)
    }
}

fn set_rlimits(prepared: &ChildSetup) -> Result<(), SetupStep> {
    for (resource, value) in &prepared.limits {
        let limit = libc::rlimit64 {
            rlim_cur: *value,
            rlim_max: *value,
        };
        // SAFETY: reads a local structure, writes nothing; process 0 is this one.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_prlimit64,
                0,
                *resource,
                &raw const limit,
                std::ptr::null::<u8>(),
            )
        };
        check_result(answer, SetupStep::Limits)?;
    }
    Ok(())
}

/// Drops every capability and the way to new ones.
fn drop_privileges(reach: &impl Fn(SetupStep) -> Result<(), SetupStep>) -> Result<(), SetupStep> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    const LAST_CAPABILITY: c_ulong = 63;
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let none = [0u32; 6];
    reach(SetupStep::Capabilities)?;
    // SAFETY: the header and the two empty sets are local and have the layout of version 3.
    unsafe {
        for capability in 0..=LAST_CAPABILITY {
            // Fails for capabilities that do not exist and for callers that have none to drop.
            // Without new privileges, and with an empty permitted set, the bounding set decides
            // nothing any more: this is a second lock on a closed door.
            if libc::syscall(libc::SYS_prctl, libc::PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 {
                break;
            }
        }
        check_result(
            libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()),
            SetupStep::Capabilities,
        )?;
        reach(SetupStep::NoNewPrivileges)?;
        check_result(
            libc::syscall(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            SetupStep::NoNewPrivileges,
        )
        .map(drop)
    }
}

/// The kernel's description of a rule for a path.
#[repr(C, packed)]
struct PathBeneath {
    access_rights: u64,
    parent: i32,
}

fn restrict_self(ruleset: &Ruleset) -> Result<(), SetupStep> {
    const PATH_BENEATH: c_int = 1;
    for rule in &ruleset.deferred_rules {
        let path = open(
            AT_FDCWD,
            &rule.path,
            libc::O_PATH | libc::O_NOFOLLOW,
            SetupStep::Landlock,
        )?;
        let beneath = PathBeneath {
            access_rights: rule.rights,
            parent: path.number(),
        };
        // SAFETY: reads a local structure of the layout that the kernel defines for this kind of
        // rule.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                ruleset.descriptor,
                PATH_BENEATH,
                &raw const beneath,
                0u32,
            )
        };
        check_result(answer, SetupStep::Landlock)?;
    }
    // SAFETY: the ruleset is an open descriptor; marked as closing, it is open until `execve`.
    check_result(
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.descriptor, 0u32) },
        SetupStep::Landlock,
    )
    .map(drop)
}

/// Without a filter nothing is installed.
fn install_filter(filter: &[sock_filter]) -> Result<(), SetupStep> {
    if filter.is_empty() {
        return Ok(());
    }
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program, whose length is that of the slice; both types have the
    // kernel's layout.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0u32,
            &raw const program,
        )
    };
    check_result(answer, SetupStep::Seccomp).map(drop)
}

/// Signals as a new program expects them.
fn reset_signals() -> Result<(), SetupStep> {
    // The C library's functions may take a lock, so this asks the kernel, whose structure holds
    // four words; all zero is the default.
    let default = [0usize; 4];
    let none = 0u64;
    // SAFETY: the handlers are this process's own copy, since they are not shared; the structures
    // are local plain data of the kernel's size.
    unsafe {
        for signal in 1..=64 {
            // Fails for the two that cannot be changed.
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null::<u8>(),
                SIGNAL_SET_BYTES,
            );
        }
        let unblocked = libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            std::ptr::null::<u8>(),
            SIGNAL_SET_BYTES,
        );
        check_result(unblocked, SetupStep::Signals).map(drop)
    }
}

fn execute(prepared: &ChildSetup) -> Result<(), SetupStep> {
    let Some(program) = &prepared.exec_target else {
        return Ok(());
    };
    // SAFETY: the strings and the arrays of pointers to them, which end with null, belong to
    // `prepared`.
    unsafe {
        libc::syscall(
            libc::SYS_execve,
            program.executable.as_ptr(),
            program.args.as_ptr(),
            program.env.as_ptr(),
        );
    }
    Err(SetupStep::Execute)
}
