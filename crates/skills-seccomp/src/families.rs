//! The families of denied system calls, with words for users.

use libc::{c_int, c_long};

use super::syscalls::{
    LINK_CALLS, METADATA_CALLS, METADATA_X86_64, NEW_NAMESPACES, SOCKET_KIND_BITS,
    SYS_FILE_SETATTR, SYS_LISTMOUNT, SYS_OPEN_TREE_ATTR, SYS_STATMOUNT,
};

/// System calls that fail for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedFamily {
    /// The name in kebab case, for programs that read results.
    pub name: &'static str,
    /// What a program tries with them, in the imperative, for users.
    pub operation: &'static str,
    /// Why no rule allows it, as a clause.
    pub reason: &'static str,
    /// Whether libraries try it and do without it, so that it rarely explains a failure.
    pub is_probed: bool,
    /// The calls that fail in every run.
    always: &'static [c_long],
    /// The calls that fail with some arguments or in some runs.
    sometimes: &'static [&'static [c_long]],
}

impl DeniedFamily {
    /// The family of a call that fails in every run.
    const fn new(
        name: &'static str,
        operation: &'static str,
        reason: &'static str,
        always: &'static [c_long],
    ) -> Self {
        Self {
            name,
            operation,
            reason,
            is_probed: false,
            always,
            sometimes: &[],
        }
    }

    const fn probed(self) -> Self {
        Self {
            is_probed: true,
            ..self
        }
    }

    const fn sometimes(self, sometimes: &'static [&'static [c_long]]) -> Self {
        Self { sometimes, ..self }
    }

    /// Returns the family of a call that was denied with these arguments; `None` for a call that no
    /// filter denies, and for those that create a process.
    #[must_use]
    pub fn of_call(call: c_long, args: &[u64; 6]) -> Option<&'static Self> {
        // The kernel uses the low 32 bits of both arguments.
        let first = args[0] as c_int;
        let kind = args[1] as c_int & SOCKET_KIND_BITS.cast_signed();
        match call {
            libc::SYS_socket | libc::SYS_socketpair => match first {
                // The kernel treats raw ones as datagrams.
                libc::AF_UNIX if matches!(kind, libc::SOCK_DGRAM | libc::SOCK_RAW) => {
                    Some(&LOCAL_DATAGRAMS)
                }
                libc::AF_UNIX => Some(&LOCAL_SOCKETS),
                _ => Some(&OTHER_SOCKETS),
            },
            libc::SYS_ioctl => match (args[1] as u32 >> 8) as u8 {
                // `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR`.
                b'f' | b'X' => Some(&FILE_FLAGS),
                _ => Some(&DEVICES),
            },
            libc::SYS_clone => NEW_NAMESPACES
                .iter()
                .any(|flag| first & flag != 0)
                .then_some(&NAMESPACES),
            _ => FAMILIES.into_iter().find(|family| {
                let sometimes = family.sometimes.iter().copied().flatten();
                family
                    .always
                    .iter()
                    .chain(sometimes)
                    .any(|known| *known == call)
            }),
        }
    }
}

/// Returns the calls that fail in every run.
pub(super) fn denied_calls() -> impl Iterator<Item = c_long> {
    FAMILIES
        .into_iter()
        .flat_map(|family| family.always.iter().copied())
}

/// All families. The first one with a call is that of the call.
pub const FAMILIES: [&DeniedFamily; 26] = [
    &FILE_FLAGS,
    &DEVICES,
    &OTHER_PROCESSES,
    &PRIORITIES,
    &AFFINITY,
    &NAMESPACES,
    &FILE_HANDLES,
    &FILE_EVENTS,
    &MEMORY_FILES,
    &SYSTEM_IPC,
    &QUEUED_CALLS,
    &KERNEL_ACCESS,
    &KEY_STORE,
    &PIPE_MEMORY,
    &CLOCK,
    &ADMINISTRATION,
    &HARD_LINKS,
    &PROCESS_GROUPS,
    &METADATA,
    &SPECIAL_MODES,
    &LOCAL_SOCKETS,
    &LOCAL_DATAGRAMS,
    &HOST_SOCKETS,
    &OWN_PROGRAMS,
    &OTHER_SOCKETS,
    &GROWING_MEMORY,
];

const FILE_FLAGS: DeniedFamily = DeniedFamily::new(
    "file-flags",
    "change the flags of a file, such as immutable",
    "they would lock the user out of the file after the run",
    &[SYS_FILE_SETATTR],
)
.sometimes(&[&[libc::SYS_ioctl]]);
const DEVICES: DeniedFamily = DeniedFamily::new(
    "device-control",
    "type into a terminal, or change a file system",
    "the terminal and the file systems are those of the user",
    &[],
)
.sometimes(&[&[libc::SYS_ioctl]]);
const OTHER_PROCESSES: DeniedFamily = DeniedFamily::new(
    "other-processes",
    "inspect or control another process",
    "a program that controls other processes has their permissions",
    &[
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
    ],
)
.sometimes(&[&[libc::SYS_prlimit64, libc::SYS_prctl]])
.probed();
const PRIORITIES: DeniedFamily = DeniedFamily::new(
    "priorities",
    "change the priority of another process, or how one is scheduled",
    "all runs get an equal part of the processors",
    &[
        libc::SYS_ioprio_set,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ],
)
.sometimes(&[&[libc::SYS_setpriority]])
.probed();
const AFFINITY: DeniedFamily = DeniedFamily::new(
    "processor-affinity",
    "choose the processors of another thread",
    "a thread could be that of another run",
    &[],
)
.sometimes(&[&[libc::SYS_sched_setaffinity]])
.probed();
const NAMESPACES: DeniedFamily = DeniedFamily::new(
    "namespaces",
    "create a namespace or change mounts, as a sandbox of its own does",
    "they would replace what restricts the run",
    &[
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
    ],
);
const FILE_HANDLES: DeniedFamily = DeniedFamily::new(
    "file-handles",
    "open a file by a handle instead of a path",
    "no rule for paths applies to handles",
    &[libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at],
)
.probed();
const FILE_EVENTS: DeniedFamily = DeniedFamily::new(
    "watch-files",
    "watch files for changes",
    "events of files would tell what other programs do",
    &[
        libc::SYS_fanotify_init,
        libc::SYS_fanotify_mark,
        libc::SYS_inotify_init1,
        libc::SYS_inotify_add_watch,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_inotify_init,
    ],
);
const MEMORY_FILES: DeniedFamily = DeniedFamily::new(
    "memory-files",
    "create a file in memory (`memfd_create`)",
    "no limit counts it, and it can be executed without a path",
    &[libc::SYS_memfd_secret],
)
.sometimes(&[&[libc::SYS_memfd_create]])
.probed();
const SYSTEM_IPC: DeniedFamily = DeniedFamily::new(
    "system-ipc",
    "use shared memory, semaphores or message queues of System V or POSIX",
    "they belong to the whole host and stay after the run",
    &[
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
    ],
);
const QUEUED_CALLS: DeniedFamily = DeniedFamily::new(
    "queued-calls",
    "queue system calls (`io_uring`)",
    "the sandbox cannot check queued calls",
    &[
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ],
)
.probed();
const KERNEL_ACCESS: DeniedFamily = DeniedFamily::new(
    "kernel-access",
    "trace or extend the kernel (`bpf`, `perf_event_open`, `userfaultfd`)",
    "it would see other programs and could attack the kernel",
    &[
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
    ],
);
const KEY_STORE: DeniedFamily = DeniedFamily::new(
    "key-store",
    "use the key store of the kernel",
    "it holds keys of the user",
    &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
)
.probed();
const PIPE_MEMORY: DeniedFamily = DeniedFamily::new(
    "pipe-memory",
    "put more memory into a pipe",
    "no limit of the run counts it",
    &[libc::SYS_vmsplice],
)
.sometimes(&[&[libc::SYS_fcntl]])
.probed();
const CLOCK: DeniedFamily = DeniedFamily::new(
    "clock",
    "set the clock",
    "all programs of the host use it",
    &[
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
    ],
);
const ADMINISTRATION: DeniedFamily = DeniedFamily::new(
    "administration",
    "administer the machine",
    "a run affects no other program of the host",
    &[
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
        libc::SYS_lookup_dcookie,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_modify_ldt,
    ],
)
.sometimes(&[&[libc::SYS_personality]]);
const HARD_LINKS: DeniedFamily = DeniedFamily::new(
    "hard-links",
    "create a hard link",
    "without namespaces a file could be read by another name",
    &[],
)
.sometimes(&[LINK_CALLS]);
const PROCESS_GROUPS: DeniedFamily = DeniedFamily::new(
    "process-groups",
    "leave the process group of the run",
    "without namespaces the run ends by its process group",
    &[],
)
.sometimes(&[&[libc::SYS_setsid, libc::SYS_setpgid]])
.probed();
const METADATA: DeniedFamily = DeniedFamily::new(
    "file-metadata",
    "change the owner, attributes or times of a file",
    "without namespaces no rule for paths covers them",
    &[],
)
.sometimes(&[
    METADATA_CALLS,
    METADATA_X86_64,
    &[libc::SYS_utimensat],
    #[cfg(target_arch = "x86_64")]
    &[libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat],
])
.probed();
const SPECIAL_MODES: DeniedFamily = DeniedFamily::new(
    "special-modes",
    "create a device, or a file that runs with the rights of its owner",
    "other users could use it after the run",
    &[],
)
.sometimes(&[&[
    libc::SYS_openat,
    libc::SYS_mknodat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    super::syscalls::SYS_FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
]]);
const LOCAL_SOCKETS: DeniedFamily = DeniedFamily::new(
    "local-sockets",
    "open a local socket",
    "local sockets lead to services of the host, such as agents and databases",
    &[],
)
.sometimes(&[&[libc::SYS_socketpair]])
.probed();
const LOCAL_DATAGRAMS: DeniedFamily = DeniedFamily::new(
    "local-datagrams",
    "open a local socket for datagrams",
    "a datagram can be sent to any local socket of the host, such as that of an agent; use a stream",
    &[],
)
.sometimes(&[&[libc::SYS_socketpair]])
.probed();
/// Connections that the host process refuses to make.
pub const HOST_SOCKETS: DeniedFamily = DeniedFamily::new(
    "host-sockets",
    "connect to a local socket outside of the temporary directory of the run",
    "it could belong to a service of the host, such as an agent or a database",
    &[],
);
/// Programs that the kernel does not start although their name is granted.
pub const OWN_PROGRAMS: DeniedFamily = DeniedFamily::new(
    "own-programs",
    "start a file outside of the directories of programs, such as one that the run created",
    "only installed programs start; run a script by its interpreter",
    &[],
);
const OTHER_SOCKETS: DeniedFamily = DeniedFamily::new(
    "other-sockets",
    "open a socket other than TCP",
    "hosts are granted for TCP only",
    &[],
)
.sometimes(&[&[libc::SYS_socket]])
.probed();
const GROWING_MEMORY: DeniedFamily = DeniedFamily::new(
    "growing-memory",
    "map memory that grows",
    "the memory limit of this run does not count it",
    &[],
)
.sometimes(&[&[libc::SYS_mmap]]);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bpf::Action;
    use crate::{
        AllocationPolicy, FilterConfig, LinkPolicy, LocalSocketPolicy, MetadataPolicy, Observation,
        ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_table,
    };

    /// The strictest filter, of which the host process is notified.
    const STRICT: FilterConfig = FilterConfig {
        metadata: MetadataPolicy::Deny,
        links: LinkPolicy::Deny,
        processes: ProcessPolicy::SingleProcess,
        sockets: SocketPolicy::Proxy,
        local_sockets: LocalSocketPolicy::StreamPairs,
        shared_memory: SharedMemoryPolicy::Decide,
        allocation: AllocationPolicy::WriteOnly,
        observation: Observation::Enabled,
    };

    #[test]
    fn every_denied_call_has_words() {
        assert_eq!(denied_calls().count(), crate::denied_calls());
        for call in denied_calls() {
            let family = DeniedFamily::of_call(call, &[0; 6]);
            assert!(
                family.is_some_and(|family| family.always.contains(&call)),
                "{call}"
            );
        }
        // What is not a denial, or is one of a process or a connection, which rules can allow.
        let others = [
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_connect,
            libc::SYS_clone,
        ];
        let others: BTreeSet<u32> = others
            .iter()
            .chain(crate::FORKS)
            .map(|call| crate::syscall_number(*call))
            .collect();
        for sockets in [
            SocketPolicy::None,
            SocketPolicy::Loopback,
            SocketPolicy::Proxy,
        ] {
            let local_sockets = LocalSocketPolicy::Supervised;
            let config = FilterConfig {
                sockets,
                local_sockets,
                ..STRICT
            };
            for (number, rule) in build_table(config) {
                let is_denied = rule.0.iter().any(|case| case.action == Action::Notify);
                let family = DeniedFamily::of_call(c_long::from(number), &[0; 6]);
                assert!(
                    !is_denied || others.contains(&number) || family.is_some(),
                    "{number} has no words"
                );
                let error = Action::Error(libc::EPERM as u16);
                assert!(
                    rule.0.iter().all(|case| case.action != error),
                    "{number} is unobserved"
                );
            }
        }
    }

    #[test]
    fn each_family_has_its_own_words() {
        let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for family in FAMILIES {
            for text in [family.name, family.operation, family.reason] {
                let is_clause = !text.is_empty() && !text.ends_with('.') && !text.contains('\n');
                assert!(
                    is_clause && text.starts_with(|c: char| c.is_lowercase()),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn arguments_tell_families_of_one_call_apart() {
        let name = |call, first: c_int, second: c_int| {
            let args = [first as u64, second as u64, 0, 0, 0, 0];
            DeniedFamily::of_call(call, &args).map(|family| family.name)
        };
        let socket = |family, kind| name(libc::SYS_socket, family, kind);
        assert_eq!(
            socket(libc::AF_UNIX, libc::SOCK_STREAM),
            Some("local-sockets")
        );
        for kind in [libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::SOCK_RAW] {
            assert_eq!(socket(libc::AF_UNIX, kind), Some("local-datagrams"));
        }
        assert_eq!(
            socket(libc::AF_NETLINK, libc::SOCK_RAW),
            Some("other-sockets")
        );
        assert_eq!(
            socket(libc::AF_INET, libc::SOCK_DGRAM),
            Some("other-sockets")
        );
        let flags = name(libc::SYS_ioctl, 3, 0x4008_6602);
        assert_eq!(flags, Some("file-flags"));
        // `TIOCSTI`, and the creation of a subvolume of btrfs.
        for command in [0x5412, 0x5000_940e] {
            assert_eq!(name(libc::SYS_ioctl, 0, command), Some("device-control"));
        }
        assert_eq!(
            name(libc::SYS_clone, libc::CLONE_NEWUSER, 0),
            Some("namespaces")
        );
        assert_eq!(name(libc::SYS_clone, libc::SIGCHLD, 0), None);
    }
}
