//! Monitors the resident memory of all processes of a run without a cgroup that counts it.
//!
//! Resource limits count for each process, and count addresses and not memory in use. The run ends, up
//! to one polling interval late, if its processes together use more than the limit.
#![expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the memory of processes in files"
)]

use std::collections::HashSet;
use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::time::Duration;

use skills_sandbox::{Evidence, Refusal, RefusedOperation, Termination};
use skills_threads::run_blocking;
use tokio::time::timeout;

use crate::cgroup::Cgroup;
use crate::isolation::IsolationLevel;
use crate::plan::Plan;
use crate::spawn::SpawnedChild;

/// The time between two measurements. Writing 2 GiB of memory takes about a second, so a process
/// can exceed the limit by about 50 MiB.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// How many measurements there are between two searches for processes whose parent has exited. A
/// search reads all processes of the host.
const POLLS_PER_SEARCH: u32 = 10;
/// How long the exact measurement may take, which counts as exceeded then.
const EXACT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum processes that are measured; a run with more of them is limited by other means.
const MAX_PROCESSES: usize = 8_192;

/// Monitors a child and its descendants.
#[derive(Debug)]
pub(crate) struct ResidentMonitor {
    pid: i32,
    /// Refers to the child even after its PID was reused.
    pidfd: OwnedFd,
    limit_bytes: u64,
    /// Whether orphans of the run stay below the child, as in a process namespace.
    keeps_orphans: bool,
}

impl ResidentMonitor {
    /// Creates a monitor. Returns `None` if a cgroup counts all memory of the run, or if `/proc` of
    /// the host does not show the child.
    pub(crate) fn new(
        spawned: &SpawnedChild,
        plan: &Plan,
        cgroup: Option<&Cgroup>,
    ) -> Option<Self> {
        if cgroup.is_some_and(|cgroup| cgroup.counts_memory) {
            return None;
        }
        resident_bytes(spawned.pid())?;
        Some(Self {
            pid: spawned.pid(),
            pidfd: spawned.clone_pidfd().ok()?,
            limit_bytes: plan.limits.memory_bytes,
            keeps_orphans: plan.isolation == IsolationLevel::Namespaces,
        })
    }

    /// Kills the child as soon as the processes exceed the limit, and then returns. Cancel safe.
    async fn wait_exceeded(&self) {
        let mut orphans = Vec::new();
        for poll in (1..POLLS_PER_SEARCH).chain([0]).cycle() {
            tokio::time::sleep(POLL_INTERVAL).await;
            if poll == 0 && !self.keeps_orphans {
                orphans = group_members(self.pid);
            }
            // The number of a process that has exited can be that of another one.
            orphans.retain(|process| group_of(*process) == Some(self.pid));
            let processes = process_tree(self.pid, &orphans);
            if MemoryOfProcesses::measure(&processes)
                .exceeds(self.limit_bytes)
                .await
            {
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

/// The memory of processes of a run, in bytes.
struct MemoryOfProcesses(Vec<(i32, u64)>);

impl MemoryOfProcesses {
    fn measure(processes: &[i32]) -> Self {
        let used = processes.iter().copied();
        Self(
            used.filter_map(|process| Some((process, resident_bytes(process)?)))
                .collect(),
        )
    }

    /// Returns true if one process uses more than the limit.
    fn is_exceeded_by_one(&self, limit_bytes: u64) -> bool {
        self.0.iter().any(|(_, bytes)| *bytes > limit_bytes)
    }

    /// Returns the sum, which counts pages several times that forked processes share.
    fn upper_bound(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| *bytes).sum()
    }

    /// Returns what the processes use together. The memory of a process that cannot be inspected
    /// counts as a whole.
    fn exact(&self) -> u64 {
        let exact = |(process, bytes): &(i32, u64)| proportional_bytes(*process).unwrap_or(*bytes);
        self.0.iter().map(exact).sum()
    }

    /// Returns true if the processes together use more than the limit.
    async fn exceeds(self, limit_bytes: u64) -> bool {
        if self.is_exceeded_by_one(limit_bytes) || self.upper_bound() <= limit_bytes {
            return self.is_exceeded_by_one(limit_bytes);
        }
        // On another thread and not for long: a process can keep the kernel from reading its mappings.
        let exact = run_blocking(move || self.exact());
        match timeout(EXACT_TIMEOUT, exact).await {
            Ok(Ok(bytes)) => bytes > limit_bytes,
            _ => true,
        }
    }
}

/// Returns a process, `others`, and their descendants. Another process whose parent exited belongs to
/// another parent and is not found.
fn process_tree(root: i32, others: &[i32]) -> Vec<i32> {
    let mut processes = vec![root];
    let mut known: HashSet<i32> = [root].into();
    processes.extend(others.iter().filter(|other| known.insert(**other)));
    let mut index = 0;
    while let Some(process) = processes
        .get(index)
        .copied()
        .filter(|_| processes.len() < MAX_PROCESSES)
    {
        let children = child_processes(process).unwrap_or_default().into_iter();
        processes.extend(children.filter(|child| known.insert(*child)));
        index += 1;
    }
    processes
}

/// Returns all processes of a process group.
fn group_members(group: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| group_of(*process) == Some(group))
        .collect()
}

fn group_of(process: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name, which can contain anything: state, parent, group.
    let mut words = status.rsplit_once(')')?.1.split_ascii_whitespace();
    words.nth(2)?.parse().ok()
}

/// Returns the processes that any thread of a process started. Kernels without
/// `CONFIG_PROC_CHILDREN` do not list them.
fn child_processes(process: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(
            text.split_whitespace()
                .filter_map(|number| number.parse::<i32>().ok()),
        );
    }
    Ok(children)
}

/// Returns the resident memory of a process in bytes, with its page tables and without pages of files
/// on a disk.
fn resident_bytes(process: i32) -> Option<u64> {
    parse_status(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
        .map(|kibibytes| kibibytes << 10)
}

fn parse_status(status: &str) -> Option<u64> {
    // `RssFile` is not added: those pages can be read again from the file and are shared.
    let resident = parse_field(status, "RssAnon:")? + parse_field(status, "RssShmem:")?;
    Some(resident + parse_field(status, "VmPTE:").unwrap_or(0))
}

/// Returns the memory of a process, with its share of what it shares with other processes.
fn proportional_bytes(process: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let shared = parse_field(&text, "Pss_Anon:")? + parse_field(&text, "Pss_Shmem:")?;
    Some((shared + parse_field(&status, "VmPTE:").unwrap_or(0)) << 10)
}

fn parse_field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
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

    #[test]
    fn private_and_shared_memory_and_page_tables_are_added() {
        let status = "Name:\tnode\nVmPTE:\t     100 kB\nRssAnon:\t   44032 kB\n\
                      RssFile:\t   38400 kB\nRssShmem:\t      16 kB\n";
        assert_eq!(parse_status(status), Some(44_148));
        // A zombie has no memory.
        assert_eq!(parse_status("Name:\tnode\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_process_and_its_children_are_listed() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let listed = process_tree(own, &[own]);
        let members = group_members(group_of(own).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        let child = i32::try_from(child.id()).unwrap();
        assert!(listed.contains(&child) || child_processes(own).is_err());
        assert_eq!(listed.iter().filter(|process| **process == own).count(), 1);
        assert!(members.contains(&own) && members.contains(&child));
        assert!(resident_bytes(own).unwrap() > 0);
    }

    #[tokio::test]
    async fn processes_together_exceed_what_each_of_them_does_not() {
        let own = i32::try_from(std::process::id()).unwrap();
        let bytes = resident_bytes(own).unwrap();
        let of = |count| MemoryOfProcesses::measure(&vec![own; count]);
        assert!(of(1).exceeds(bytes / 2).await && !of(1).exceeds(bytes * 4).await);
        assert!(of(16).exceeds(bytes * 4).await);
    }
}
