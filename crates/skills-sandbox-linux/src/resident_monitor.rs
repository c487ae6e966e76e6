//! Monitors the resident memory of a run whose memory is limited by `RLIMIT_DATA`.
//!
//! `RLIMIT_DATA` counts addresses that are private and writable, so a program that makes memory
//! read-only after writing it can use more than the limit. Resident memory includes those pages. A
//! process above the limit ends the run, up to one polling interval late.
#![expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the memory of processes in files"
)]

use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::time::Duration;

use skills_process::MemoryRlimit;
use skills_sandbox::{Evidence, Refusal, RefusedOperation, Termination};

use crate::cgroup::Cgroup;
use crate::plan::Plan;
use crate::spawn::SpawnedChild;

/// The time between two measurements. Writing 2 GiB of memory takes about a second, so a process
/// can exceed the limit by about 50 MiB.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Maximum processes that are measured; a run with more of them is limited by other means.
const MAX_PROCESSES: usize = 1_024;

/// Monitors a child and its descendants.
#[derive(Debug)]
pub(crate) struct ResidentMonitor {
    pid: i32,
    /// Refers to the child even after its PID was reused.
    pidfd: OwnedFd,
    limit_bytes: u64,
}

impl ResidentMonitor {
    /// Creates a monitor. Returns `None` if the limit counts all memory, or if `/proc` of the host
    /// does not show the child.
    pub(crate) fn new(
        spawned: &SpawnedChild,
        plan: &Plan,
        cgroup: Option<&Cgroup>,
    ) -> Option<Self> {
        // A cgroup counts all memory of the run, so that no process has to be measured.
        if cgroup.is_some_and(|cgroup| cgroup.counts_memory) {
            return None;
        }
        if plan.memory != MemoryRlimit::Data || resident_bytes(spawned.pid()).is_none() {
            return None;
        }
        Some(Self {
            pid: spawned.pid(),
            pidfd: spawned.clone_pidfd().ok()?,
            limit_bytes: plan.limits.memory_bytes,
        })
    }

    /// Kills the child as soon as a process exceeds the limit, and then returns. Cancel safe.
    async fn wait_exceeded(&self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if process_tree(self.pid)
                .into_iter()
                .filter_map(resident_bytes)
                .any(|bytes| bytes > self.limit_bytes)
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

/// Returns a process and its descendants. A process whose parent exited belongs to another parent
/// and is not found.
fn process_tree(root: i32) -> Vec<i32> {
    let mut processes = vec![root];
    let mut index = 0;
    while let Some(process) = processes
        .get(index)
        .copied()
        .filter(|_| processes.len() < MAX_PROCESSES)
    {
        processes.extend(child_processes(process).unwrap_or_default());
        index += 1;
    }
    processes
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

/// Returns the resident memory of a process in bytes, without pages of files on a disk.
fn resident_bytes(process: i32) -> Option<u64> {
    parse_kibibytes(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
        .map(|kibibytes| kibibytes << 10)
}

fn parse_kibibytes(status: &str) -> Option<u64> {
    // `RssFile` is not added: those pages can be read again from the file and are shared.
    Some(parse_field(status, "RssAnon:")? + parse_field(status, "RssShmem:")?)
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
    fn private_and_shared_memory_are_added() {
        assert_eq!(
            parse_kibibytes(
                "Name:\tnode\nRssAnon:\t   44032 kB\nRssFile:\t   38400 kB\nRssShmem:\t      16 kB\n"
            ),
            Some(44_048)
        );
        // A zombie has no memory.
        assert_eq!(parse_kibibytes("Name:\tnode\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_process_and_its_children_are_listed() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let is_listed = process_tree(own).contains(&i32::try_from(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_listed || child_processes(own).is_err());
        assert!(resident_bytes(own).unwrap() > 0);
    }
}
