//! The system calls that fail inside.

mod calls;
mod program;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use libc::{c_long, sock_filter};

use crate::tier::Tier;
use program::{Answer, Case, Check, Table, Test, Verdict, program};

use calls::{
    ALLOCATING_COMMANDS, DENIED, DENIED_COMMANDS, DENIED_HERE, FORKS, IGNORED, IGNORED_HERE, METADATA, METADATA_HERE, MODES, MODES_HERE,
    NEW_NAMESPACES, SOCKET_KIND_BITS, TIMES, TIMES_HERE,
};

/// What a filter depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Filter {
    pub(crate) tier: Tier,
    pub(crate) processes: Processes,
    pub(crate) sockets: Sockets,
    pub(crate) shared: SharedMemory,
    pub(crate) allocation: Allocation,
}

/// What may be started, as far as system calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Processes {
    /// Threads only.
    One,
    /// Processes too, but no new namespaces.
    Many,
}

/// Which sockets may be made, besides connected pairs of local streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sockets {
    /// None of any family.
    None,
    /// TCP, in a network of the program's own.
    Streams,
}

/// Whether memory may be shared with other processes without a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SharedMemory {
    /// It is counted like other memory (`RLIMIT_AS`).
    Allowed,
    /// The limit of memory does not count it (`RLIMIT_DATA`).
    Refused,
}

/// How space on a disk may be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Allocation {
    /// In any way.
    AtOnce,
    /// By writing alone: a gigabyte that is allocated in one call outruns every measurement.
    ByWriting,
}

/// `FICLONE` and `FICLONERANGE`.
const SHARED_COPIES: [u32; 2] = [0x4004_9409, 0x4020_940d];

/// How many calls fail for every job.
pub(crate) fn denied_calls() -> usize {
    DENIED.len() + DENIED_HERE.len()
}

/// Makes the filter; each kind once per process.
pub(crate) fn filter(wanted: Filter) -> Arc<[sock_filter]> {
    static MADE: Mutex<BTreeMap<Filter, Arc<[sock_filter]>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(made.entry(wanted).or_insert_with(|| program(&table(wanted)).into()))
}

const REFUSED: Answer = Answer::Error(libc::EPERM as u16);
/// As if the kernel did not know the call, so that libraries fall back to another.
const UNKNOWN: Answer = Answer::Error(libc::ENOSYS as u16);
/// As if the pool were empty.
const OUT_OF_MEMORY: Answer = Answer::Error(libc::ENOMEM as u16);
/// As if the file system could not do it, so that libraries write zeros instead.
const UNSUPPORTED: Answer = Answer::Error(libc::EOPNOTSUPP as u16);
/// Nothing happens, and the call says that it did.
const IGNORED_CALL: Answer = Answer::Error(0);

fn number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn add(table: &mut Table, call: c_long, answer: Answer, checks: &[Check]) {
    let Verdict(cases) = table.entry(number(call)).or_default();
    cases.push(Case { checks: checks.to_vec(), answer });
}

fn add_all(table: &mut Table, calls: &[&[c_long]], answer: Answer) {
    calls.iter().copied().flatten().for_each(|call| add(table, *call, answer, &[]));
}

fn check(argument: u8, test: Test) -> Check {
    Check { argument, test }
}

fn table(wanted: Filter) -> Table {
    let mut table = Table::new();
    add_all(&mut table, &[DENIED, DENIED_HERE], REFUSED);
    // Their arguments lie in memory, which no filter can read: these fall back to `clone` and `openat`.
    add_all(&mut table, &[&[libc::SYS_clone3, libc::SYS_openat2]], UNKNOWN);
    // Contexts of asynchronous I/O are counted for the whole machine (`fs.aio-max-nr`). Programs fall back to plain reads and writes.
    add(&mut table, libc::SYS_io_setup, UNKNOWN, &[]);
    clones(&mut table, wanted.processes);
    mappings(&mut table, wanted.shared);
    // Copying parts of files is fine; what else a file system of this number understands makes and removes volumes without asking for a path.
    SHARED_COPIES.iter().for_each(|command| add(&mut table, libc::SYS_ioctl, Answer::Allow, &[check(1, Test::Is(*command))]));
    add(&mut table, libc::SYS_ioctl, REFUSED, &[check(1, Test::Has(0xff00, 0x9400))]);
    // The kernel looks at the low 32 bits of a command only.
    DENIED_COMMANDS.iter().for_each(|command| add(&mut table, libc::SYS_ioctl, REFUSED, &[check(1, Test::Is(*command))]));
    if wanted.allocation == Allocation::ByWriting {
        add(&mut table, libc::SYS_fallocate, UNSUPPORTED, &[]);
        ALLOCATING_COMMANDS.iter().for_each(|command| add(&mut table, libc::SYS_ioctl, UNSUPPORTED, &[check(1, Test::Is(*command))]));
    }
    // Limits and CPU sets: reading and changing one's own is fine, another's is not.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        add(&mut table, call, REFUSED, &[check(0, Test::IsNot(0))]);
    }
    if wanted.tier == Tier::Landlock {
        // What Landlock does not cover. Modes are ignored before they are looked at.
        add_all(&mut table, &[METADATA, METADATA_HERE], REFUSED);
        add_all(&mut table, &[IGNORED, IGNORED_HERE], IGNORED_CALL);
        times(&mut table);
    }
    modes(&mut table);
    sockets(&mut table, wanted.sockets);
    // Dying with the host is not the program's to choose; a lease would keep others from opening a file, and scripts watch nothing. Larger pipes
    // use up what the user's other programs need for theirs (`fs.pipe-user-pages-soft`).
    add(&mut table, libc::SYS_prctl, REFUSED, &[check(0, Test::Is(libc::PR_SET_PDEATHSIG.unsigned_abs()))]);
    for command in [libc::F_SETLEASE, libc::F_NOTIFY, libc::F_SETPIPE_SZ] {
        add(&mut table, libc::SYS_fcntl, REFUSED, &[check(1, Test::Is(command.unsigned_abs()))]);
    }
    // Linux, or the question which it is.
    add(&mut table, libc::SYS_personality, REFUSED, &[check(0, Test::IsNot(0)), check(0, Test::IsNot(u32::MAX))]);
    table
}

fn clones(table: &mut Table, processes: Processes) {
    // A child of the host's instead of its own would be the host's to collect.
    for flag in NEW_NAMESPACES.into_iter().chain([libc::CLONE_PARENT]).map(i32::unsigned_abs) {
        add(table, libc::SYS_clone, REFUSED, &[check(0, Test::Has(flag, flag))]);
    }
    if processes == Processes::One {
        add(table, libc::SYS_clone, REFUSED, &[check(0, Test::Has(libc::CLONE_THREAD.unsigned_abs(), 0))]);
        add_all(table, &[FORKS], REFUSED);
    }
}

/// Memory that the limits do not count.
fn mappings(table: &mut Table, shared: SharedMemory) {
    let has = |flags: i32| check(3, Test::Has(flags.unsigned_abs(), flags.unsigned_abs()));
    // Huge pages come from a pool of the whole machine, which control groups of memory do not count.
    add(table, libc::SYS_mmap, OUT_OF_MEMORY, &[has(libc::MAP_HUGETLB)]);
    if shared == SharedMemory::Refused {
        // `RLIMIT_DATA` counts private memory, and no stacks. Of the kinds of mappings this bit is set in the shared ones only.
        add(table, libc::SYS_mmap, REFUSED, &[has(libc::MAP_SHARED | libc::MAP_ANONYMOUS)]);
        add(table, libc::SYS_mmap, REFUSED, &[has(libc::MAP_GROWSDOWN)]);
    }
}

/// Given times are ignored; "now" is refused, but for an open file, which exists.
fn times(table: &mut Table) {
    for (call, times) in TIMES.iter().chain(TIMES_HERE) {
        let now = check(*times, Test::Null);
        let path = check(1, Test::NotNull);
        if *call == libc::SYS_utimensat {
            add(table, *call, REFUSED, &[now, path]);
        } else {
            add(table, *call, REFUSED, &[now]);
        }
        add(table, *call, IGNORED_CALL, &[]);
    }
}

/// No file is made to run as its owner: others of this machine may find it in a directory that was granted for writing.
fn modes(table: &mut Table) {
    let temporary = libc::O_TMPFILE & !libc::O_DIRECTORY;
    for (call, mode, flags) in MODES.iter().chain(MODES_HERE) {
        for bit in [libc::S_ISUID, libc::S_ISGID] {
            let set = check(*mode, Test::Has(bit, bit));
            // Of a file that is opened the mode counts only when it is made.
            match flags {
                None => add(table, *call, REFUSED, &[set]),
                Some(flags) => [libc::O_CREAT, temporary].map(i32::unsigned_abs).into_iter().for_each(|making| {
                    add(table, *call, REFUSED, &[check(*flags, Test::Has(making, making)), set]);
                }),
            }
        }
    }
}

fn sockets(table: &mut Table, sockets: Sockets) {
    let is_not = |argument, value: i32| check(argument, Test::IsNot(value.unsigned_abs()));
    let is_stream = |call, table: &mut Table| {
        let stream = libc::SOCK_STREAM.unsigned_abs();
        for kind in (0..=SOCKET_KIND_BITS).filter(|kind| *kind != stream) {
            add(table, call, REFUSED, &[check(1, Test::Has(SOCKET_KIND_BITS, kind))]);
        }
    };
    match sockets {
        Sockets::None => add(table, libc::SYS_socket, REFUSED, &[]),
        Sockets::Streams => {
            add(table, libc::SYS_socket, REFUSED, &[is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6)]);
            add(table, libc::SYS_socket, REFUSED, &[is_not(2, 0), is_not(2, libc::IPPROTO_TCP)]);
            is_stream(libc::SYS_socket, table);
        }
    }
    // A pair may be a local stream only: one end of a pair of datagram sockets can be sent anywhere.
    add(table, libc::SYS_socketpair, REFUSED, &[is_not(0, libc::AF_UNIX)]);
    is_stream(libc::SYS_socketpair, table);
}
