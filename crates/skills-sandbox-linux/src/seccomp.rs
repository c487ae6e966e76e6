//! The system calls that fail inside.

use std::collections::BTreeMap;

use libc::{EPERM, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Operator, SeccompCondition as Condition, SeccompFilter,
    SeccompRule as Rule, sock_filter,
};
use skills_sandbox::SandboxError;

/// What may be started, as far as system calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// Threads only.
    One,
    /// Processes too, but no new namespaces.
    Many,
}

/// Calls that always fail with `EPERM`: the kernel's administration, other processes, and metadata, which Landlock does not cover.
///
/// A list of what is denied, not of what is allowed: interpreters use too much of the kernel, and differently in each version.
const DENIED: &[c_long] = &[
    // Sockets of every family. Landlock covers TCP alone; connected pairs between own threads stay possible.
    libc::SYS_socket,
    // A process that leaves its group would survive the group's end.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Metadata.
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    SYS_OPEN_TREE_ATTR,
    // Files by handles, which no path rule covers, and file system events.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    // Memory that no limit counts and that can be executed without a file.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Shared memory and queues of System V and POSIX, which belong to no file.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Kernel surface.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_vmsplice,
    libc::SYS_lookup_dcookie,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[c_long] =
    &[libc::SYS_chown, libc::SYS_lchown, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[c_long] = &[];

/// Calls that do nothing and say that they did: modes of files. Landlock does not cover them, so they must not work; but copying a file, as
/// every language's library does it, sets its mode and times and fails when it cannot.
const IGNORED: &[c_long] = &[libc::SYS_fchmod, libc::SYS_fchmodat, SYS_FCHMODAT2];
#[cfg(target_arch = "x86_64")]
const IGNORED_HERE: &[c_long] = &[libc::SYS_chmod];
#[cfg(not(target_arch = "x86_64"))]
const IGNORED_HERE: &[c_long] = &[];

/// Calls that set the times of a file named by a path, and which of their arguments the times are. Given times are ignored as modes are; "now"
/// is denied, since programs use it to learn whether a file exists before they make it.
const TIMES: &[(c_long, u8)] = &[(libc::SYS_utimensat, 2)];
#[cfg(target_arch = "x86_64")]
const TIMES_HERE: &[(c_long, u8)] = &[(libc::SYS_utime, 1), (libc::SYS_utimes, 1), (libc::SYS_futimesat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const TIMES_HERE: &[(c_long, u8)] = &[];

/// Calls that make a process, besides `clone` and `clone3`.
#[cfg(target_arch = "x86_64")]
const FORKS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: &[c_long] = &[];

// Newer than the library's tables; the numbers are the same on every architecture.
const SYS_FCHMODAT2: c_long = 452;
const SYS_STATMOUNT: c_long = 457;
const SYS_LISTMOUNT: c_long = 458;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

/// Commands to a terminal that put characters into the input of whoever holds it, and commands to files that change their flags, project,
/// version, verity or encryption, on descriptors that are only readable too.
const DENIED_COMMANDS: [u64; 8] = [
    libc::TIOCSTI,
    libc::TIOCLINUX,
    libc::TIOCSETD,
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];
/// The bits of a socket's type that say which kind it is.
const SOCKET_KIND_BITS: u64 = 0xf;
const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// How many calls fail for every job.
pub(crate) fn denied_calls() -> usize {
    DENIED.len() + DENIED_HERE.len()
}

/// Compiles the filters, to be installed in this order.
pub(crate) fn filters(processes: Processes) -> Result<Vec<BpfProgram>, SandboxError> {
    let failed =
        |error: seccompiler::BackendError| SandboxError::unavailable("seccomp", error.to_string(), "report this with the kernel's version");
    let architecture = std::env::consts::ARCH.try_into().map_err(failed)?;
    let answer = |rules, errno: u32| {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), architecture)?;
        BpfProgram::try_from(filter)
    };
    let denied = answer(rules(processes).map_err(failed)?, EPERM.unsigned_abs()).map_err(failed)?;
    let ignored = answer(ignored_rules().map_err(failed)?, 0).map_err(failed)?;
    Ok(vec![denied, ignored, guard()])
}

fn rules(processes: Processes) -> Result<BTreeMap<i64, Vec<Rule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<Rule>> = DENIED.iter().chain(DENIED_HERE).map(|call| (*call, Vec::new())).collect();
    let mut clone = Vec::new();
    // A child of the host's instead of its own would be the host's to collect.
    for flag in NEW_NAMESPACES.into_iter().chain([libc::CLONE_PARENT]) {
        let flag = u64::from(flag.unsigned_abs());
        clone.push(Rule::new(vec![Condition::new(0, Length::Qword, Operator::MaskedEq(flag), flag)?])?);
    }
    if processes == Processes::One {
        let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
        clone.push(Rule::new(vec![Condition::new(0, Length::Qword, Operator::MaskedEq(thread), 0)?])?);
        rules.extend(FORKS.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_clone, clone);
    let mut ioctl = Vec::new();
    for command in DENIED_COMMANDS {
        // The kernel looks at the low 32 bits only.
        ioctl.push(Rule::new(vec![Condition::new(1, Length::Dword, Operator::Eq, command)?])?);
    }
    rules.insert(libc::SYS_ioctl, ioctl);
    // Limits, CPU sets and personalities: reading and changing one's own is fine, another's is not.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        rules.insert(call, vec![Rule::new(vec![Condition::new(0, Length::Dword, Operator::Ne, 0)?])?]);
    }
    for (call, times) in TIMES.iter().chain(TIMES_HERE) {
        let mut now = vec![Condition::new(*times, Length::Qword, Operator::Eq, 0)?];
        if *call == libc::SYS_utimensat {
            now.push(Condition::new(1, Length::Qword, Operator::Ne, 0)?);
        }
        rules.insert(*call, vec![Rule::new(now)?]);
    }
    // A pair may be a local stream only: one end of a pair of datagram sockets can be sent anywhere.
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    let mut pairs = vec![Rule::new(vec![Condition::new(0, Length::Dword, Operator::Ne, local)?])?];
    for kind in (0..=SOCKET_KIND_BITS).filter(|kind| *kind != stream) {
        pairs.push(Rule::new(vec![Condition::new(1, Length::Dword, Operator::MaskedEq(SOCKET_KIND_BITS), kind)?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    // Dying with the host is not the program's to choose; a lease would keep others from opening a file.
    let death = Condition::new(0, Length::Dword, Operator::Eq, u64::from(libc::PR_SET_PDEATHSIG.unsigned_abs()))?;
    rules.insert(libc::SYS_prctl, vec![Rule::new(vec![death])?]);
    let lease = Condition::new(1, Length::Dword, Operator::Eq, u64::from(libc::F_SETLEASE.unsigned_abs()))?;
    rules.insert(libc::SYS_fcntl, vec![Rule::new(vec![lease])?]);
    let personality = [0, 0xffff_ffff].map(|value| Condition::new(0, Length::Dword, Operator::Ne, value));
    let [linux, query] = personality;
    rules.insert(libc::SYS_personality, vec![Rule::new(vec![linux?, query?])?]);
    Ok(rules)
}

fn ignored_rules() -> Result<BTreeMap<i64, Vec<Rule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<Rule>> = IGNORED.iter().chain(IGNORED_HERE).map(|call| (*call, Vec::new())).collect();
    for (call, times) in TIMES.iter().chain(TIMES_HERE) {
        rules.insert(*call, vec![Rule::new(vec![Condition::new(*times, Length::Qword, Operator::Ne, 0)?])?]);
    }
    // Without a path it is an open file, which exists.
    let open_file = Rule::new(vec![Condition::new(1, Length::Qword, Operator::Eq, 0)?])?;
    rules.entry(libc::SYS_utimensat).or_default().push(open_file);
    Ok(rules)
}

/// A filter of its own for what must answer `ENOSYS`: `clone3`, whose flags no filter can read, so that libraries fall back to `clone`;
/// and on x86-64 the numbers of the x32 convention, which would bypass every other rule.
fn guard() -> BpfProgram {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    vec![
        step(LOAD, 0, 0, 0),
        step(EQUAL, 2, 0, clone3),
        step(AT_LEAST, 1, 0, X32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}
