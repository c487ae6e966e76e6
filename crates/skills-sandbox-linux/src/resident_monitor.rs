//! Monitors the resident memory of all processes of a run without a cgroup that counts it.
//!
//! Resource limits count for each process, and count addresses and not memory in use. The run ends,
//! up to one polling interval late, if its processes together use more than the limit. Memory that
//! they share without a file counts with its [length](SharedMappings).
use std::future::Future;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use skills_sandbox::{Evidence, Refusal, RefusedOperation, Termination};
use skills_threads::{run_blocking, run_blocking_or_here};
use tokio::time::timeout;

use crate::cgroup::Cgroup;
use crate::plan::Plan;
use crate::run_processes::{MemoryOfProcess, RunProcess, RunProcesses};
use crate::shared_mappings::SharedMappings;
use crate::spawn::SpawnedChild;

/// The time between two measurements. Writing 2 GiB of memory takes about a second, so a process
/// can exceed the limit by about 50 MiB.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Number of measurements between two searches for processes without their parent,
/// which read all processes of the host, and between two counts of shared mappings.
const POLLS_PER_SEARCH: u32 = 10;
/// How long the exact measurement may take, which counts as exceeded then.
const EXACT_TIMEOUT: Duration = Duration::from_secs(1);

/// Monitors a child and its descendants.
#[derive(Debug)]
pub(crate) struct ResidentMonitor {
    processes: RunProcesses,
    mappings: Arc<SharedMappings>,
    /// Refers to the child even after its PID was reused.
    pidfd: OwnedFd,
    limit_bytes: u64,
    /// Whether the kernel lists the processes that a process started.
    finds_all: bool,
}

impl ResidentMonitor {
    /// Creates a monitor. Returns `None` if a cgroup counts all memory of the run, or if `/proc` of
    /// the host does not show the child.
    pub(crate) fn new(
        spawned: &SpawnedChild,
        plan: &Plan,
        cgroup: Option<&Cgroup>,
        mappings: &Arc<SharedMappings>,
    ) -> Option<Self> {
        if cgroup.is_some_and(|cgroup| cgroup.counts_memory) {
            return None;
        }
        let processes = RunProcesses::new(spawned.pid(), plan.isolation);
        processes.with_orphans(&[]).first()?.memory()?;
        Some(Self {
            processes,
            finds_all: processes.are_listed(),
            mappings: Arc::clone(mappings),
            pidfd: spawned.clone_pidfd().ok()?,
            limit_bytes: plan.limits.memory_bytes,
        })
    }

    /// Returns true if it measures all processes of the run, and not only those that it finds.
    pub(crate) fn finds_all(&self) -> bool {
        self.finds_all
    }

    /// Kills the child as soon as the processes exceed the limit, and then returns. Cancel safe.
    async fn wait_exceeded(&self) {
        let mut orphans = Vec::new();
        for poll in (1..POLLS_PER_SEARCH).chain([0]).cycle() {
            tokio::time::sleep(POLL_INTERVAL).await;
            let processes = self.processes;
            // On another thread: there can be many processes, also of the host.
            let work = move || {
                if poll == 0 {
                    orphans = processes.orphans();
                }
                (measure(&processes.with_orphans(&orphans)), orphans)
            };
            let Ok((measured, found)) = run_blocking_or_here(work).await else {
                orphans = Vec::new();
                continue;
            };
            orphans = found;
            let used = MemoryOfRun {
                processes: measured,
                mappings: Arc::clone(&self.mappings),
            };
            let recounts = poll == 0 && self.mappings.has_removed();
            if used.exceeds(self.limit_bytes, recounts).await {
                self.kill();
                return;
            }
        }
    }

    /// Kills the child. Its supervisor then sees that it ended, and kills the rest of the process
    /// group; a PID namespace ends by itself.
    #[expect(unsafe_code, reason = "no wrapper signals a process by its descriptor")]
    fn kill(&self) {
        // SAFETY: the descriptor is open; without a structure the signal is sent as by `kill`. It
        // fails only if the child has exited.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.pidfd.as_raw_fd(),
                libc::SIGKILL,
                std::ptr::null::<u8>(),
                0,
            )
        };
    }
}

/// Waits for a run to end, and returns whether the monitor ended it.
pub(crate) async fn run_monitored<T>(
    run: impl Future<Output = T>,
    monitor: Option<&ResidentMonitor>,
) -> (T, bool) {
    let mut run = pin!(run);
    if let Some(monitor) = monitor {
        tokio::select! {
            // The run first: a run that has ended must not be reported as killed.
            biased;
            result = &mut run => return (result, false),
            () = monitor.wait_exceeded() => return (run.await, true),
        }
    }
    (run.await, false)
}

/// The memory of a run.
struct MemoryOfRun {
    processes: Vec<(RunProcess, MemoryOfProcess)>,
    mappings: Arc<SharedMappings>,
}

impl MemoryOfRun {
    /// Returns true if the processes together use more than the limit, or one of them. A recount is
    /// for mappings that were not found before.
    async fn exceeds(self, limit_bytes: u64, recounts: bool) -> bool {
        if self.is_exceeded_by_one(limit_bytes) {
            return true;
        }
        if recounts && self.upper_bound() <= limit_bytes {
            // A failure leaves what was known, which is within the limit.
            self.mappings.count_in_time().await;
        }
        if self.upper_bound() <= limit_bytes {
            return false;
        }
        // On another thread and not for long: a process can keep the kernel from reading its
        // mappings. Twice, since processes that end while others are read make the parts of those
        // larger.
        let exact = run_blocking(move || match self.exact() {
            bytes if bytes > limit_bytes => self.exact(),
            bytes => bytes,
        });
        match timeout(EXACT_TIMEOUT, exact).await {
            Ok(Ok(bytes)) => bytes > limit_bytes,
            _ => true,
        }
    }

    fn is_exceeded_by_one(&self, limit_bytes: u64) -> bool {
        let mut used = self.processes.iter().map(|(_, memory)| *memory);
        used.any(|memory| memory.private + memory.shared > limit_bytes)
    }

    /// Returns the sum, which counts pages several times that forked processes share.
    fn upper_bound(&self) -> u64 {
        self.sum(|_, memory| Some(memory))
    }

    /// Returns what the processes use together. The memory of a process that cannot be inspected
    /// counts as a whole. Blocks.
    fn exact(&self) -> u64 {
        // If they cannot be counted, those count that were known.
        self.mappings.count();
        self.sum(|process, _| process.proportional_memory().or_else(|| process.memory()))
    }

    fn sum(&self, used: impl Fn(RunProcess, MemoryOfProcess) -> Option<MemoryOfProcess>) -> u64 {
        let (mut private, mut shared) = (0, 0);
        let processes = self.processes.iter();
        // A process that has exited since it was found uses none.
        for memory in processes.filter_map(|(process, memory)| used(*process, *memory)) {
            private += memory.private;
            shared += memory.shared;
        }
        private + self.mappings.bytes().max(shared)
    }
}

fn measure(processes: &[RunProcess]) -> Vec<(RunProcess, MemoryOfProcess)> {
    let processes = processes.iter().copied();
    processes
        .filter_map(|process| Some((process, process.memory()?)))
        .collect()
}

/// Returns the refusal of a run that ran out of memory.
pub(crate) fn memory_refusal(plan: &Plan) -> Refusal {
    let limit_bytes = plan.limits.memory_bytes;
    let operation = RefusedOperation::UseMemory { limit_bytes };
    Refusal::new(operation, Evidence::Kernel)
}

/// Returns how a run that ran out of memory ended: both the kernel and the monitor kill with a
/// signal, and a program that exits by itself was not ended by its limit.
pub(crate) fn memory_termination(termination: Termination, plan: &Plan) -> Termination {
    match termination {
        Termination::Signaled { .. } => Termination::MemoryLimit {
            limit_bytes: plan.limits.memory_bytes,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::IsolationLevel;

    #[tokio::test]
    async fn processes_together_exceed_what_each_of_them_does_not() {
        let own = i32::try_from(std::process::id()).unwrap();
        let processes = RunProcesses::new(own, IsolationLevel::Landlock);
        let mappings = Arc::new(SharedMappings::new(processes, u64::MAX));
        let own = processes.with_orphans(&[])[0];
        let memory = own.memory().unwrap();
        let bytes = memory.private + memory.shared;
        let of = |count| MemoryOfRun {
            processes: measure(&vec![own; count]),
            mappings: Arc::clone(&mappings),
        };
        assert!(of(1).exceeds(bytes / 2, false).await && !of(1).exceeds(bytes * 4, false).await);
        assert!(of(16).exceeds(bytes * 4, false).await);
        // Of this one no page is in use, which could be of another process.
        assert!(mappings.admit(bytes * 4).await);
        assert!(of(1).upper_bound() > bytes * 4);
        assert!(!of(1).exceeds(bytes * 4, false).await);
    }
}
