//! The system calls that fail inside.

mod bpf;
mod syscalls;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use libc::{c_long, sock_filter};

use crate::isolation::IsolationLevel;
use bpf::{Action, ArgCmp, ArgCondition, RuleCase, SyscallRule, Table, compile};

use syscalls::{
    ALLOCATING_COMMANDS, DENIED_CALLS, DENIED_COMMANDS, DENIED_HERE, FORKS, IGNORED_CALLS,
    IGNORED_HERE, METADATA_CALLS, METADATA_HERE, MODE_CALLS, MODES_HERE, NEW_NAMESPACES,
    SOCKET_KIND_BITS, TIME_CALLS, TIMES_HERE,
};

/// What a filter depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FilterConfig {
    pub(crate) isolation: IsolationLevel,
    pub(crate) processes: ProcessPolicy,
    pub(crate) sockets: SocketPolicy,
    pub(crate) shared_memory: SharedMemoryPolicy,
    pub(crate) allocation: AllocationPolicy,
}

/// What may be started, as far as system calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProcessPolicy {
    /// Threads only.
    SingleProcess,
    /// Processes too, but no new namespaces.
    MultiProcess,
}

/// Which sockets may be made, besides connected pairs of local streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SocketPolicy {
    /// None of any family.
    None,
    /// TCP, in a network of the program's own.
    Streams,
}

/// Whether memory may be shared with other processes without a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SharedMemoryPolicy {
    /// It is counted like other memory (`RLIMIT_AS`).
    Allow,
    /// The limit of memory does not count it (`RLIMIT_DATA`).
    Deny,
}

/// How space on a disk may be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AllocationPolicy {
    /// In any way.
    Any,
    /// By writing alone: a gigabyte that is allocated in one call outruns every measurement.
    WriteOnly,
}

/// `FICLONE` and `FICLONERANGE`.
const REFLINK_IOCTLS: [u32; 2] = [0x4004_9409, 0x4020_940d];

/// How many calls fail for every job.
pub(crate) fn denied_calls() -> usize {
    DENIED_CALLS.len() + DENIED_HERE.len()
}

/// Makes the filter; each kind once per process.
pub(crate) fn build_filter(wanted: FilterConfig) -> Arc<[sock_filter]> {
    static MADE: Mutex<BTreeMap<FilterConfig, Arc<[sock_filter]>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(
        made.entry(wanted)
            .or_insert_with(|| compile(&build_table(wanted)).into()),
    )
}

const FAIL_EPERM: Action = Action::Error(libc::EPERM as u16);
/// As if the kernel did not know the call, so that libraries fall back to another.
const FAIL_ENOSYS: Action = Action::Error(libc::ENOSYS as u16);
/// As if the pool were empty.
const OUT_OF_MEMORY: Action = Action::Error(libc::ENOMEM as u16);
/// As if the file system could not do it, so that libraries write zeros instead.
const UNSUPPORTED: Action = Action::Error(libc::EOPNOTSUPP as u16);
/// Nothing happens, and the call says that it did.
const IGNORED_CALL: Action = Action::Error(0);

fn syscall_number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn add(table: &mut Table, call: c_long, answer: Action, checks: &[ArgCondition]) {
    let SyscallRule(cases) = table.entry(syscall_number(call)).or_default();
    cases.push(RuleCase {
        conditions: checks.to_vec(),
        action: answer,
    });
}

fn add_all(table: &mut Table, calls: &[&[c_long]], answer: Action) {
    calls
        .iter()
        .copied()
        .flatten()
        .for_each(|call| add(table, *call, answer, &[]));
}

fn condition(argument: u8, test: ArgCmp) -> ArgCondition {
    ArgCondition {
        arg_index: argument,
        cmp: test,
    }
}

fn build_table(wanted: FilterConfig) -> Table {
    let mut table = Table::new();
    add_all(&mut table, &[DENIED_CALLS, DENIED_HERE], FAIL_EPERM);
    // Their arguments lie in memory, which no filter can read: these fall back to `clone` and
    // `openat`.
    add_all(
        &mut table,
        &[&[libc::SYS_clone3, libc::SYS_openat2]],
        FAIL_ENOSYS,
    );
    // Contexts of asynchronous I/O are counted for the whole machine (`fs.aio-max-nr`). Programs
    // fall back to plain reads and writes.
    add(&mut table, libc::SYS_io_setup, FAIL_ENOSYS, &[]);
    add_clone_rules(&mut table, wanted.processes);
    add_mapping_rules(&mut table, wanted.shared_memory);
    // Copying parts of files is fine; what else a file system of this number understands makes and
    // removes volumes without asking for a path.
    REFLINK_IOCTLS.iter().for_each(|command| {
        add(
            &mut table,
            libc::SYS_ioctl,
            Action::Allow,
            &[condition(1, ArgCmp::Eq(*command))],
        )
    });
    add(
        &mut table,
        libc::SYS_ioctl,
        FAIL_EPERM,
        &[condition(1, ArgCmp::MaskedEq(0xff00, 0x9400))],
    );
    // The kernel looks at the low 32 bits of a command only.
    DENIED_COMMANDS.iter().for_each(|command| {
        add(
            &mut table,
            libc::SYS_ioctl,
            FAIL_EPERM,
            &[condition(1, ArgCmp::Eq(*command))],
        )
    });
    if wanted.allocation == AllocationPolicy::WriteOnly {
        add(&mut table, libc::SYS_fallocate, UNSUPPORTED, &[]);
        ALLOCATING_COMMANDS.iter().for_each(|command| {
            add(
                &mut table,
                libc::SYS_ioctl,
                UNSUPPORTED,
                &[condition(1, ArgCmp::Eq(*command))],
            )
        });
    }
    // Limits and CPU sets: reading and changing one's own is fine, another's is not.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        add(
            &mut table,
            call,
            FAIL_EPERM,
            &[condition(0, ArgCmp::NotEq(0))],
        );
    }
    if wanted.isolation == IsolationLevel::Landlock {
        // What Landlock does not cover. Modes are ignored before they are looked at.
        add_all(&mut table, &[METADATA_CALLS, METADATA_HERE], FAIL_EPERM);
        add_all(&mut table, &[IGNORED_CALLS, IGNORED_HERE], IGNORED_CALL);
        add_time_rules(&mut table);
    }
    add_mode_rules(&mut table);
    add_socket_rules(&mut table, wanted.sockets);
    // Dying with the host is not the program's to choose; a lease would keep others from opening a
    // file, and scripts watch nothing. Larger pipes use up what the user's other programs need for
    // theirs (`fs.pipe-user-pages-soft`).
    add(
        &mut table,
        libc::SYS_prctl,
        FAIL_EPERM,
        &[condition(
            0,
            ArgCmp::Eq(libc::PR_SET_PDEATHSIG.unsigned_abs()),
        )],
    );
    for command in [libc::F_SETLEASE, libc::F_NOTIFY, libc::F_SETPIPE_SZ] {
        add(
            &mut table,
            libc::SYS_fcntl,
            FAIL_EPERM,
            &[condition(1, ArgCmp::Eq(command.unsigned_abs()))],
        );
    }
    // Linux, or the question which it is.
    add(
        &mut table,
        libc::SYS_personality,
        FAIL_EPERM,
        &[
            condition(0, ArgCmp::NotEq(0)),
            condition(0, ArgCmp::NotEq(u32::MAX)),
        ],
    );
    table
}

fn add_clone_rules(table: &mut Table, processes: ProcessPolicy) {
    // A child of the host's instead of its own would be the host's to collect.
    for flag in NEW_NAMESPACES
        .into_iter()
        .chain([libc::CLONE_PARENT])
        .map(i32::unsigned_abs)
    {
        add(
            table,
            libc::SYS_clone,
            FAIL_EPERM,
            &[condition(0, ArgCmp::MaskedEq(flag, flag))],
        );
    }
    if processes == ProcessPolicy::SingleProcess {
        add(
            table,
            libc::SYS_clone,
            FAIL_EPERM,
            &[condition(
                0,
                ArgCmp::MaskedEq(libc::CLONE_THREAD.unsigned_abs(), 0),
            )],
        );
        add_all(table, &[FORKS], FAIL_EPERM);
    }
}

/// Memory that the limits do not count.
fn add_mapping_rules(table: &mut Table, shared: SharedMemoryPolicy) {
    let has = |flags: i32| {
        condition(
            3,
            ArgCmp::MaskedEq(flags.unsigned_abs(), flags.unsigned_abs()),
        )
    };
    // Huge pages come from a pool of the whole machine, which control groups of memory do not
    // count.
    add(
        table,
        libc::SYS_mmap,
        OUT_OF_MEMORY,
        &[has(libc::MAP_HUGETLB)],
    );
    if shared == SharedMemoryPolicy::Deny {
        // `RLIMIT_DATA` counts private memory, and no stacks. Of the kinds of mappings this bit is
        // set in the shared ones only.
        add(
            table,
            libc::SYS_mmap,
            FAIL_EPERM,
            &[has(libc::MAP_SHARED | libc::MAP_ANONYMOUS)],
        );
        add(
            table,
            libc::SYS_mmap,
            FAIL_EPERM,
            &[has(libc::MAP_GROWSDOWN)],
        );
    }
}

/// Given times are ignored; "now" is refused, but for an open file, which exists.
fn add_time_rules(table: &mut Table) {
    for (call, times) in TIME_CALLS.iter().chain(TIMES_HERE) {
        let now = condition(*times, ArgCmp::Null);
        let path = condition(1, ArgCmp::NotNull);
        if *call == libc::SYS_utimensat {
            add(table, *call, FAIL_EPERM, &[now, path]);
        } else {
            add(table, *call, FAIL_EPERM, &[now]);
        }
        add(table, *call, IGNORED_CALL, &[]);
    }
}

/// No file is made to run as its owner: others of this machine may find it in a directory that was
/// granted for writing.
fn add_mode_rules(table: &mut Table) {
    let temporary = libc::O_TMPFILE & !libc::O_DIRECTORY;
    for (call, mode, flags) in MODE_CALLS.iter().chain(MODES_HERE) {
        for bit in [libc::S_ISUID, libc::S_ISGID] {
            let set = condition(*mode, ArgCmp::MaskedEq(bit, bit));
            // Of a file that is opened the mode counts only when it is made.
            match flags {
                None => add(table, *call, FAIL_EPERM, &[set]),
                Some(flags) => [libc::O_CREAT, temporary]
                    .map(i32::unsigned_abs)
                    .into_iter()
                    .for_each(|making| {
                        add(
                            table,
                            *call,
                            FAIL_EPERM,
                            &[condition(*flags, ArgCmp::MaskedEq(making, making)), set],
                        );
                    }),
            }
        }
    }
}

fn add_socket_rules(table: &mut Table, sockets: SocketPolicy) {
    let is_not = |argument, value: i32| condition(argument, ArgCmp::NotEq(value.unsigned_abs()));
    let is_stream = |call, table: &mut Table| {
        let stream = libc::SOCK_STREAM.unsigned_abs();
        for kind in (0..=SOCKET_KIND_BITS).filter(|kind| *kind != stream) {
            add(
                table,
                call,
                FAIL_EPERM,
                &[condition(1, ArgCmp::MaskedEq(SOCKET_KIND_BITS, kind))],
            );
        }
    };
    match sockets {
        SocketPolicy::None => add(table, libc::SYS_socket, FAIL_EPERM, &[]),
        SocketPolicy::Streams => {
            add(
                table,
                libc::SYS_socket,
                FAIL_EPERM,
                &[is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6)],
            );
            add(
                table,
                libc::SYS_socket,
                FAIL_EPERM,
                &[is_not(2, 0), is_not(2, libc::IPPROTO_TCP)],
            );
            is_stream(libc::SYS_socket, table);
        }
    }
    // A pair may be a local stream only: one end of a pair of datagram sockets can be sent
    // anywhere.
    add(
        table,
        libc::SYS_socketpair,
        FAIL_EPERM,
        &[is_not(0, libc::AF_UNIX)],
    );
    is_stream(libc::SYS_socketpair, table);
}
