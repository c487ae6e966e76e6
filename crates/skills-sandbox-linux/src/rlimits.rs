//! Resource limits (`setrlimit`), which the kernel counts per process.

use crate::isolation::IsolationLevel;
use crate::plan::Plan;
use crate::user_ids::UserIds;

/// Resources by the kernel's numbers, with their limits.
pub(crate) type Rlimits = Vec<(u32, u64)>;

/// Maximum address space of a program, far more than programs reserve: V8 reserves 10 GiB for each
/// WebAssembly memory, so there can be about 24 of them. It bounds page tables, which no other
/// resource limit counts and which take up to 1/512 of it.
const ADDRESS_SPACE_BYTES: u64 = 256 << 30;
/// What `RLIMIT_DATA` counts although it is not memory in use: V8 makes all addresses that it reserves
/// for code writable at once, 512 MiB in each thread that runs JavaScript (since Node 24), and
/// allocators and numeric libraries reserve arenas for each thread. The limit only bounds what one
/// process can take between two measurements of the [resident monitor](crate::resident_monitor).
const RESERVED_BYTES: u64 = 2 * (512 << 20);
/// Maximum stack size where no limit counts stacks as memory: the default of the system, which
/// libraries also use for each thread.
const STACK_BYTES: u64 = 8 << 20;
/// Maximum processor time. The kernel counts it in nanoseconds, which wrap around above this.
const MAX_CPU_SECONDS: u64 = 10_000_000_000;
/// Maximum pending signals and timers. Without a user namespace the kernel counts them for all
/// processes of the user, so one run must not use up the limit of others.
const PENDING_SIGNALS: u64 = 1_024;

/// How the memory of a run is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MemoryCounting {
    /// By measuring all processes at intervals, with a resource limit for each process.
    #[default]
    Measured,
    /// By a cgroup, for all processes together. No resource limit, since many programs reserve far
    /// more addresses than they use.
    Cgroup,
}

/// Returns the limits of a plan. A lower hard limit of the host process is kept: only root could
/// raise it.
pub(crate) fn rlimits(plan: &Plan, memory: MemoryCounting) -> Rlimits {
    let limits = plan.counted_limits();
    let cpu_seconds = limits.wall_time.as_secs().saturating_add(1);
    let mut rlimits = memory_rlimits(plan, memory);
    rlimits.extend([
        (resource_number(libc::RLIMIT_FSIZE), limits.file_bytes),
        (resource_number(libc::RLIMIT_NOFILE), limits.open_files),
        // Counts all threads of a process together: 64 of them can be busy until the deadline.
        (
            resource_number(libc::RLIMIT_CPU),
            cpu_seconds.saturating_mul(64).min(MAX_CPU_SECONDS),
        ),
        // 1 and not 0: with 0 the kernel still starts a core dump handler (`core_pattern` with a
        // pipe) outside of the sandbox, with 1 it does not.
        (resource_number(libc::RLIMIT_CORE), 1),
        (resource_number(libc::RLIMIT_MEMLOCK), 0),
        (resource_number(libc::RLIMIT_MSGQUEUE), 0),
        (resource_number(libc::RLIMIT_RTPRIO), 0),
        (resource_number(libc::RLIMIT_SIGPENDING), PENDING_SIGNALS),
    ]);
    if has_own_process_count(plan.isolation) {
        rlimits.push((resource_number(libc::RLIMIT_NPROC), limits.processes));
    }
    rlimits
        .into_iter()
        .map(|(resource, value)| (resource, value.min(hard_limit(resource))))
        .collect()
}

fn memory_rlimits(plan: &Plan, memory: MemoryCounting) -> Rlimits {
    let memory_bytes = plan.limits.memory_bytes;
    let mut rlimits = vec![
        (
            resource_number(libc::RLIMIT_AS),
            ADDRESS_SPACE_BYTES.max(memory_bytes),
        ),
        (resource_number(libc::RLIMIT_STACK), STACK_BYTES),
    ];
    if memory == MemoryCounting::Measured {
        rlimits.push((
            resource_number(libc::RLIMIT_DATA),
            memory_bytes.saturating_add(RESERVED_BYTES),
        ));
    }
    rlimits
}

/// Converts the number of a resource, whose type differs between C libraries.
fn resource_number(resource: impl TryInto<u32>) -> u32 {
    resource.try_into().unwrap_or(u32::MAX)
}

/// Returns true if `RLIMIT_NPROC` counts the processes of one run only. With a user namespace it
/// does, but the kernel never applies it to root; without one it counts all processes of the user.
pub(crate) fn has_own_process_count(isolation: IsolationLevel) -> bool {
    isolation == IsolationLevel::Namespaces && UserIds::host().user != 0
}

#[expect(
    unsafe_code,
    reason = "the wrapper does not know all resources by these numbers"
)]
fn hard_limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 {
        rlim_cur: libc::RLIM64_INFINITY,
        rlim_max: libc::RLIM64_INFINITY,
    };
    // SAFETY: writes the local structure; a failure leaves it unchanged. Process 0 is the calling
    // one.
    unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            std::ptr::null::<u8>(),
            &raw mut limit,
        )
    };
    limit.rlim_max
}
