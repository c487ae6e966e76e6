//! Limits that the kernel counts per process.

use skills_sandbox::Quota;
use skills_sandbox::interpreter::MemoryRlimit;

use crate::isolation::IsolationLevel;
use crate::plan::Plan;
use crate::user_ids::UserIds;

/// The kernel's numbers of resources, and their values.
pub(crate) type Rlimits = Vec<(u32, u64)>;

/// How many addresses a program may have whose memory is bounded by `RLIMIT_DATA`. Page tables,
/// which that limit does not count, take up to a 512th part of them. Each memory of WebAssembly in
/// V8 reserves 10 GiB, so that there can be some 24 of them.
const ADDRESS_SPACE_BYTES: u64 = 256 << 30;
/// How large stacks may become where no limit counts them as memory: the system's default, which
/// libraries also use for each thread.
const STACK_BYTES: u64 = 8 << 20;
/// How many signals and timers may be pending. The kernel counts them for all of a user's programs
/// where there is no user namespace.
const PENDING_SIGNALS: u64 = 1_024;

/// Computes the limits of a plan. One that the host itself is under already, and that is lower,
/// stays: nobody but root could raise it.
pub(crate) fn rlimits(plan: &Plan) -> Rlimits {
    let limits = &plan.limits;
    let cpu_seconds = limits.wall_time.as_secs().saturating_add(1);
    // Measuring comes too late for a file that grows in one step.
    let file_bytes = plan
        .measured_quotas()
        .iter()
        .map(Quota::max_bytes)
        .fold(limits.file_bytes, u64::min);
    let mut wanted = match plan.memory {
        MemoryRlimit::Data => vec![
            (resource_number(libc::RLIMIT_DATA), limits.memory_bytes),
            (
                resource_number(libc::RLIMIT_AS),
                ADDRESS_SPACE_BYTES.max(limits.memory_bytes),
            ),
            (resource_number(libc::RLIMIT_STACK), STACK_BYTES),
        ],
        _ => vec![(resource_number(libc::RLIMIT_AS), limits.memory_bytes)],
    };
    wanted.extend([
        (resource_number(libc::RLIMIT_FSIZE), file_bytes),
        (resource_number(libc::RLIMIT_NOFILE), limits.open_files),
        // Threads share the deadline, and each may use it in full.
        (
            resource_number(libc::RLIMIT_CPU),
            cpu_seconds.saturating_mul(64),
        ),
        // Not 0: that does not keep the kernel from starting a handler for the dump, 1 does.
        (resource_number(libc::RLIMIT_CORE), 1),
        (resource_number(libc::RLIMIT_MEMLOCK), 0),
        (resource_number(libc::RLIMIT_MSGQUEUE), 0),
        (resource_number(libc::RLIMIT_RTPRIO), 0),
        (resource_number(libc::RLIMIT_SIGPENDING), PENDING_SIGNALS),
    ]);
    if has_own_process_count(plan.isolation) {
        wanted.push((resource_number(libc::RLIMIT_NPROC), limits.processes));
    }
    wanted
        .into_iter()
        .map(|(resource, value)| (resource, value.min(hard_limit(resource))))
        .collect()
}

/// C libraries differ in the type of these numbers.
fn resource_number(resource: impl TryInto<u32>) -> u32 {
    resource.try_into().unwrap_or(u32::MAX)
}

/// Says whether the kernel counts a run's processes by itself: per user namespace it does, but it
/// never refuses root, nor can it tell the processes of a run from others of the same user without
/// such a namespace.
pub(crate) fn has_own_process_count(tier: IsolationLevel) -> bool {
    tier == IsolationLevel::Namespaces && UserIds::host().user != 0
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
    // SAFETY: writes the local structure; a failure leaves it as it is. Process 0 is this one.
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
