//! The seccomp filter of sandboxed programs: system calls that fail.
//!
//! ```text
//! FilterConfig --> table: call -> conditions on arguments -> error --> BPF program --> the kernel
//! ```
//!
//! The filter is a denylist. Interpreters use too many system calls, and different ones in each
//! version, for a list of allowed ones. It denies other processes, namespaces, mounts, the
//! administration of the kernel, resources that no limit counts, files that run with the rights of
//! their owner, and sockets other than TCP and, where the host process makes their connections,
//! local ones.
//!
//! This crate must not know who installs the filter, or what a skill is. It is empty on systems other
//! than Linux.
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use skills_seccomp::{
//!     AllocationPolicy, FilterConfig, LinkPolicy, LocalSocketPolicy, MetadataPolicy, Observation,
//!     ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_filter,
//! };
//!
//! let filter = build_filter(FilterConfig {
//!     metadata: MetadataPolicy::Any,
//!     links: LinkPolicy::Any,
//!     processes: ProcessPolicy::MultiProcess,
//!     sockets: SocketPolicy::Loopback,
//!     local_sockets: LocalSocketPolicy::StreamPairs,
//!     shared_memory: SharedMemoryPolicy::Allow,
//!     allocation: AllocationPolicy::Any,
//!     observation: Observation::Disabled,
//! });
//! // The kernel accepts at most 4,096 instructions.
//! assert!(filter.len() < 4_096);
//! # }
//! ```
#![cfg(target_os = "linux")]

mod bpf;
mod families;
mod syscalls;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libc::{c_long, sock_filter};

use bpf::{Action, ArgCmp, ArgCondition, RuleCase, SyscallRule, Table, compile};

pub use families::{DeniedFamily, FAMILIES, HOST_SOCKETS, OWN_PROGRAMS};
use syscalls::{
    ALLOCATING_COMMANDS, DENIED_COMMANDS, FORKS, IGNORED_CALLS, IGNORED_X86_64, LINK_CALLS,
    METADATA_CALLS, METADATA_X86_64, MODE_CALLS, MODE_CALLS_X86_64, NEW_NAMESPACES, NODE_CALLS,
    NODE_CALLS_X86_64, SO_PEERPIDFD, SOCKET_KIND_BITS, TIME_CALLS, TIME_CALLS_X86_64,
};

/// The properties of a run that its filter depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilterConfig {
    /// Whether files may be changed other than in their content.
    pub metadata: MetadataPolicy,
    /// Whether files may get further names.
    pub links: LinkPolicy,
    /// The processes that the program may create.
    pub processes: ProcessPolicy,
    /// The Internet sockets that it may create.
    pub sockets: SocketPolicy,
    /// The local sockets that it may create.
    pub local_sockets: LocalSocketPolicy,
    /// Whether it may share memory without a file.
    pub shared_memory: SharedMemoryPolicy,
    /// How it may allocate space on a disk.
    pub allocation: AllocationPolicy,
    /// Whether the host process is notified.
    pub observation: Observation,
}

/// Whether a program may change owners, attributes and modes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetadataPolicy {
    /// It may, where the file system allows it.
    Any,
    /// It may not. Modes and given times are ignored, since libraries set them when they copy a
    /// file. For a restriction of files that does not cover metadata, such as Landlock.
    Deny,
}

/// Whether a program may create hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkPolicy {
    /// It may, where the file system allows it.
    Any,
    /// It may not: Landlock allows another name in the same directory for a file that it does not
    /// allow to be read, and a later run could read the file by that name.
    Deny,
}

/// Whether the host process is notified of refusals that a user may want to allow. It answers with
/// the error that the filter would have returned, or makes the call itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observation {
    /// It is not; the kernel returns the error.
    Disabled,
    /// It is notified of new processes and Internet sockets that are refused, of programs to start,
    /// which Landlock decides about, of connections, and of files in memory.
    Enabled,
}

/// The processes that a program may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessPolicy {
    /// Threads only.
    SingleProcess,
    /// Processes and threads, but no new namespaces.
    MultiProcess,
}

/// The Internet sockets that a program may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketPolicy {
    /// None.
    None,
    /// TCP, in a network namespace in which only processes of the run can be reached.
    Loopback,
    /// TCP, in a network namespace that also has a proxy for granted hosts.
    Proxy,
}

/// The local sockets (`AF_UNIX`) that a program may create. Never datagrams: both a socket and one
/// end of a pair can send a datagram to any path, which no filter can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalSocketPolicy {
    /// Connected pairs of streams.
    StreamPairs,
    /// Connected pairs of streams and of sequenced packets.
    Pairs,
    /// Streams and sequenced packets, where the host process is notified of connections and makes
    /// them. It must never let the kernel continue a `connect`: another thread can exchange its
    /// address and its socket. Without [`Observation::Enabled`] the same as [`Self::Pairs`].
    Supervised,
}

/// Whether memory may be shared with other processes without a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedMemoryPolicy {
    /// Allowed: a cgroup counts it.
    Allow,
    /// The host process decides about each mapping if it is notified, otherwise they are denied:
    /// such memory stays in use after a process unmaps most of it, and measuring does not find it.
    Decide,
}

/// How a program may allocate space on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocationPolicy {
    /// In any way.
    Any,
    /// By writing only, in runs with a measured use of a disk: a gigabyte that is allocated in
    /// one call exceeds the limit before that.
    WriteOnly,
}

impl Observation {
    /// Returns the action for a call that is refused.
    fn refusal(self) -> Action {
        match self {
            Self::Disabled => FAIL_EPERM,
            Self::Enabled => Action::Notify,
        }
    }
}

/// The flags of a mapping that is shared without a file.
const SHARED_MAPPING: i32 = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Returns the length in bytes if a call of `mmap` creates a mapping about which the host process
/// decides, by its arguments.
#[must_use]
pub fn shared_mapping_bytes(call: c_long, args: &[u64; 6]) -> Option<u64> {
    let has =
        |flags: i32| args[3] & u64::from(flags.unsigned_abs()) == u64::from(flags.unsigned_abs());
    (call == libc::SYS_mmap && has(SHARED_MAPPING) && !has(libc::MAP_GROWSDOWN)).then_some(args[1])
}

/// `FICLONE` and `FICLONERANGE`.
const REFLINK_IOCTLS: [u32; 2] = [0x4004_9409, 0x4020_940d];

/// Makes a terminal the controlling one.
const TIOCSCTTY: u32 = 0x540e;

/// Returns the number of system calls that fail in every run.
#[must_use]
pub fn denied_calls() -> usize {
    families::denied_calls().count()
}

/// Builds the filter, each kind once per process.
#[must_use]
pub fn build_filter(config: FilterConfig) -> Arc<[sock_filter]> {
    static FILTERS: Mutex<BTreeMap<FilterConfig, Arc<[sock_filter]>>> = Mutex::new(BTreeMap::new());
    let mut filters = FILTERS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(
        filters
            .entry(config)
            .or_insert_with(|| compile(&build_table(config)).into()),
    )
}

const FAIL_EPERM: Action = Action::Error(libc::EPERM as u16);
/// As if the kernel did not have the call, so that libraries fall back to another one.
const FAIL_ENOSYS: Action = Action::Error(libc::ENOSYS as u16);
/// As if the pool of huge pages were empty.
const OUT_OF_MEMORY: Action = Action::Error(libc::ENOMEM as u16);
/// As if the file system did not support the call, so that libraries write zeros instead.
const UNSUPPORTED: Action = Action::Error(libc::EOPNOTSUPP as u16);
/// As if the kernel did not have the option of a socket.
const UNKNOWN_OPTION: Action = Action::Error(libc::ENOPROTOOPT as u16);
/// The call has no effect and reports success.
const IGNORED_CALL: Action = Action::Error(0);

fn syscall_number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// Appends a case to the rule of a call. The first case whose conditions hold decides.
fn add(table: &mut Table, call: c_long, action: Action, conditions: &[ArgCondition]) {
    let SyscallRule(cases) = table.entry(syscall_number(call)).or_default();
    cases.push(RuleCase {
        conditions: conditions.to_vec(),
        action,
    });
}

fn add_all(table: &mut Table, calls: &[&[c_long]], action: Action) {
    for call in calls.iter().copied().flatten() {
        add(table, *call, action, &[]);
    }
}

fn condition(arg_index: u8, cmp: ArgCmp) -> ArgCondition {
    ArgCondition { arg_index, cmp }
}

/// Holds if an argument has at least one of the bits.
fn has_any(arg_index: u8, bits: impl IntoIterator<Item = u32>) -> ArgCondition {
    let bits = bits.into_iter().fold(0, |all, bit| all | bit);
    condition(arg_index, ArgCmp::MaskedNotEq(bits, 0))
}

fn build_table(config: FilterConfig) -> Table {
    let mut table = Table::new();
    // The error of a call that is denied: the host process learns its family.
    let denied = config.observation.refusal();
    for call in families::denied_calls() {
        add(&mut table, call, denied, &[]);
    }
    // Their arguments are in memory, which no filter can read. Libraries fall back to `clone` and
    // `openat`.
    add_all(
        &mut table,
        &[&[libc::SYS_clone3, libc::SYS_openat2]],
        FAIL_ENOSYS,
    );
    // Contexts of asynchronous I/O are counted for the whole host (`fs.aio-max-nr`). Programs fall
    // back to plain reads and writes.
    add(&mut table, libc::SYS_io_setup, FAIL_ENOSYS, &[]);
    // The host process may answer with a file that a limit counts.
    add(&mut table, libc::SYS_memfd_create, denied, &[]);
    add_clone_rules(&mut table, config.processes, denied);
    if config.observation == Observation::Enabled {
        add_observed_calls(&mut table, config.sockets);
    }
    add_mapping_rules(&mut table, config.shared_memory, denied);
    add_ioctl_rules(&mut table, config.allocation, denied);
    if config.metadata == MetadataPolicy::Deny {
        // Calls that set a mode are ignored before the rules for modes, since the first case
        // decides.
        add_all(&mut table, &[METADATA_CALLS, METADATA_X86_64], denied);
        add_all(&mut table, &[IGNORED_CALLS, IGNORED_X86_64], IGNORED_CALL);
        add_time_rules(&mut table, denied);
    }
    if config.links == LinkPolicy::Deny {
        add_all(&mut table, &[LINK_CALLS], denied);
    }
    add_mode_rules(&mut table, denied);
    // Local sockets first, since the first case decides.
    add_local_socket_rules(&mut table, config, denied);
    add_socket_rules(&mut table, config.sockets, denied);
    add_process_rules(&mut table, denied);
    table
}

/// Notifies the host process of calls that the kernel continues.
fn add_observed_calls(table: &mut Table, sockets: SocketPolicy) {
    add(table, libc::SYS_execve, Action::Notify, &[]);
    add(
        table,
        libc::SYS_execveat,
        Action::Notify,
        &[condition(
            0,
            ArgCmp::NotEq(unobserved_directory().cast_unsigned()),
        )],
    );
    if sockets != SocketPolicy::None {
        add(table, libc::SYS_connect, Action::Notify, &[]);
    }
}

/// Returns the directory descriptor that the child passes to `execveat` when it executes its
/// program: the host process is not notified of that call, for whose end it waits before it answers
/// notifications. The kernel ignores the descriptor, since the path is absolute.
///
/// It is random, so that a program cannot use it to start others unnoticed.
#[must_use]
pub fn unobserved_directory() -> i32 {
    static DIRECTORY: OnceLock<i32> = OnceLock::new();
    *DIRECTORY.get_or_init(|| {
        let random = RandomState::new().build_hasher().finish();
        // Negative, so that it is not the descriptor of a file, and below `AT_FDCWD`.
        i32::MIN | (random as i32 & 0x3fff_ffff)
    })
}

fn add_ioctl_rules(table: &mut Table, allocation: AllocationPolicy, denied: Action) {
    // Cloning parts of files is harmless. Other commands of btrfs, which has this number, create
    // and delete subvolumes without a path that Landlock could check.
    for command in REFLINK_IOCTLS {
        add(
            table,
            libc::SYS_ioctl,
            Action::Allow,
            &[condition(1, ArgCmp::Eq(command))],
        );
    }
    add(
        table,
        libc::SYS_ioctl,
        denied,
        &[condition(1, ArgCmp::MaskedEq(0xff00, 0x9400))],
    );
    // The kernel uses only the low 32 bits of a command, which is what `Eq` compares.
    for command in DENIED_COMMANDS {
        add(
            table,
            libc::SYS_ioctl,
            denied,
            &[condition(1, ArgCmp::Eq(command))],
        );
    }
    // With another argument than 0 it takes the controlling terminal of another session.
    add(
        table,
        libc::SYS_ioctl,
        denied,
        &[
            condition(1, ArgCmp::Eq(TIOCSCTTY)),
            condition(2, ArgCmp::NotEq(0)),
        ],
    );
    if allocation == AllocationPolicy::WriteOnly {
        add(table, libc::SYS_fallocate, UNSUPPORTED, &[]);
        for command in ALLOCATING_COMMANDS {
            add(
                table,
                libc::SYS_ioctl,
                UNSUPPORTED,
                &[condition(1, ArgCmp::Eq(command))],
            );
        }
    }
}

/// Calls that affect other processes, or resources that all processes of the user share.
fn add_process_rules(table: &mut Table, denied: Action) {
    // Reading and changing the own limits and CPU set is harmless; process 0 is the calling one.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        add(table, call, denied, &[condition(0, ArgCmp::NotEq(0))]);
    }
    // A process may lower its own priority (`PRIO_PROCESS` of process 0); the kernel lets no
    // process without capabilities raise it.
    for arg_index in [0, 1] {
        let condition = condition(arg_index, ArgCmp::NotEq(0));
        add(table, libc::SYS_setpriority, denied, &[condition]);
    }
    // The signal for the end of the host must stay set.
    add(
        table,
        libc::SYS_prctl,
        denied,
        &[condition(
            0,
            ArgCmp::Eq(libc::PR_SET_PDEATHSIG.unsigned_abs()),
        )],
    );
    // A lease would block other processes that open the file, and a notification would watch a
    // directory. Larger pipes count against a limit of the user (`fs.pipe-user-pages-soft`).
    for command in [libc::F_SETLEASE, libc::F_NOTIFY, libc::F_SETPIPE_SZ] {
        add(
            table,
            libc::SYS_fcntl,
            denied,
            &[condition(1, ArgCmp::Eq(command.unsigned_abs()))],
        );
    }
    // Allowed are 0 (plain Linux) and the value that only queries. Others turn off address space
    // randomization, or make readable memory executable.
    add(
        table,
        libc::SYS_personality,
        denied,
        &[
            condition(0, ArgCmp::NotEq(0)),
            condition(0, ArgCmp::NotEq(u32::MAX)),
        ],
    );
}

fn add_clone_rules(table: &mut Table, processes: ProcessPolicy, denied: Action) {
    // With CLONE_PARENT the new process would be a child of the host process, which does not know
    // it and would not reap it.
    let flags = NEW_NAMESPACES.into_iter().chain([libc::CLONE_PARENT]);
    let has_flag = has_any(0, flags.map(i32::unsigned_abs));
    add(table, libc::SYS_clone, denied, &[has_flag]);
    if processes == ProcessPolicy::SingleProcess {
        add(
            table,
            libc::SYS_clone,
            denied,
            &[condition(
                0,
                ArgCmp::MaskedEq(libc::CLONE_THREAD.unsigned_abs(), 0),
            )],
        );
        add_all(table, &[FORKS], denied);
    }
}

/// Denies mappings of memory that the limits do not count.
fn add_mapping_rules(table: &mut Table, shared: SharedMemoryPolicy, denied: Action) {
    let has = |flags: i32| {
        condition(
            3,
            ArgCmp::MaskedEq(flags.unsigned_abs(), flags.unsigned_abs()),
        )
    };
    // Huge pages come from a pool of the whole host, which memory cgroups do not count.
    add(
        table,
        libc::SYS_mmap,
        OUT_OF_MEMORY,
        &[has(libc::MAP_HUGETLB)],
    );
    if shared == SharedMemoryPolicy::Decide {
        // `RLIMIT_DATA` counts private memory without stacks.
        add(table, libc::SYS_mmap, denied, &[has(libc::MAP_GROWSDOWN)]);
        // Of the types of a mapping (MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE) only shared ones
        // have the bit MAP_SHARED.
        add(table, libc::SYS_mmap, denied, &[has(SHARED_MAPPING)]);
    }
}

/// Ignores calls that set given times. Setting a path to "now" fails, since programs use it to
/// check whether a file exists; for an open file, which exists, it is ignored too.
fn add_time_rules(table: &mut Table, denied: Action) {
    for (call, times) in TIME_CALLS.iter().chain(TIME_CALLS_X86_64) {
        let now = condition(*times, ArgCmp::Null);
        let path = condition(1, ArgCmp::NotNull);
        if *call == libc::SYS_utimensat {
            add(table, *call, denied, &[now, path]);
        } else {
            add(table, *call, denied, &[now]);
        }
        add(table, *call, IGNORED_CALL, &[]);
    }
}

/// Denies the set-user-ID and set-group-ID modes: other users of the host could execute such a file
/// in a writable directory with the rights of the user. Denies device nodes too: the kernel lets every
/// user create the one with number 0, which hides files where file systems are stacked.
fn add_mode_rules(table: &mut Table, denied: Action) {
    for (call, mode) in NODE_CALLS.iter().chain(NODE_CALLS_X86_64) {
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            let is_device = condition(*mode, ArgCmp::MaskedEq(libc::S_IFMT, kind));
            add(table, *call, denied, &[is_device]);
        }
    }
    let temporary = libc::O_TMPFILE & !libc::O_DIRECTORY;
    for (call, mode, flags) in MODE_CALLS.iter().chain(MODE_CALLS_X86_64) {
        let set = has_any(*mode, [libc::S_ISUID, libc::S_ISGID]);
        // The mode argument of `open` has a meaning only if the call creates a file.
        let creating = [libc::O_CREAT, temporary].map(i32::unsigned_abs);
        match flags {
            None => add(table, *call, denied, &[set]),
            Some(flags) => {
                add(table, *call, denied, &[has_any(*flags, creating), set]);
            }
        }
    }
}

fn add_socket_rules(table: &mut Table, sockets: SocketPolicy, denied: Action) {
    match sockets {
        SocketPolicy::None => {
            // Other families are tried by libraries that do not need them: the C library connects
            // to a cache of names before each lookup.
            for family in [libc::AF_INET, libc::AF_INET6] {
                let is_family = condition(0, ArgCmp::Eq(family.unsigned_abs()));
                add(table, libc::SYS_socket, denied, &[is_family]);
            }
            add(table, libc::SYS_socket, denied, &[]);
        }
        SocketPolicy::Loopback | SocketPolicy::Proxy => {
            if sockets == SocketPolicy::Loopback {
                observe_datagrams(table, denied);
            }
            add(
                table,
                libc::SYS_socket,
                denied,
                &[is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6)],
            );
            // Other protocols with stream sockets, such as MPTCP, are not in Landlock's rules.
            add(
                table,
                libc::SYS_socket,
                denied,
                &[is_not(2, 0), is_not(2, libc::IPPROTO_TCP)],
            );
            deny_other_kinds(table, libc::SYS_socket, denied);
        }
    }
}

/// Adds the rules for local sockets and their pairs.
fn add_local_socket_rules(table: &mut Table, config: FilterConfig, denied: Action) {
    let observed = config.observation == Observation::Enabled;
    if config.local_sockets == LocalSocketPolicy::Supervised && observed {
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            let is_connected_kind = [
                condition(0, ArgCmp::Eq(libc::AF_UNIX.unsigned_abs())),
                condition(1, ArgCmp::MaskedEq(SOCKET_KIND_BITS, kind.unsigned_abs())),
            ];
            add(table, libc::SYS_socket, Action::Allow, &is_connected_kind);
        }
        // The host process is the peer of a connection that it made.
        let is_peer = [
            condition(1, ArgCmp::Eq(libc::SOL_SOCKET.unsigned_abs())),
            condition(2, ArgCmp::Eq(SO_PEERPIDFD)),
        ];
        add(table, libc::SYS_getsockopt, UNKNOWN_OPTION, &is_peer);
    }
    add(
        table,
        libc::SYS_socketpair,
        denied,
        &[is_not(0, libc::AF_UNIX)],
    );
    if config.local_sockets != LocalSocketPolicy::StreamPairs {
        // The kernel ignores the address of a packet, and connects no socket of a pair again.
        let packets = libc::SOCK_SEQPACKET.unsigned_abs();
        let is_packets = condition(1, ArgCmp::MaskedEq(SOCKET_KIND_BITS, packets));
        add(table, libc::SYS_socketpair, Action::Allow, &[is_packets]);
    }
    deny_other_kinds(table, libc::SYS_socketpair, denied);
}

/// Refuses datagram sockets, for which the host process is notified: a program without granted hosts
/// uses them to resolve names.
fn observe_datagrams(table: &mut Table, denied: Action) {
    for family in [libc::AF_INET, libc::AF_INET6] {
        let is_datagram = [
            condition(0, ArgCmp::Eq(family.unsigned_abs())),
            condition(
                1,
                ArgCmp::MaskedEq(SOCKET_KIND_BITS, libc::SOCK_DGRAM.unsigned_abs()),
            ),
        ];
        add(table, libc::SYS_socket, denied, &is_datagram);
    }
}

fn is_not(arg_index: u8, value: i32) -> ArgCondition {
    condition(arg_index, ArgCmp::NotEq(value.unsigned_abs()))
}

/// Denies all kinds of sockets except streams. The kind shares its argument with flags.
fn deny_other_kinds(table: &mut Table, call: c_long, denied: Action) {
    let stream = libc::SOCK_STREAM.unsigned_abs();
    let is_other = condition(1, ArgCmp::MaskedNotEq(SOCKET_KIND_BITS, stream));
    add(table, call, denied, &[is_other]);
}
