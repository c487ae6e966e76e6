//! Watches the resident memory of a run whose limit of the kernel does not count all of it.
//!
//! `RLIMIT_DATA` counts addresses that are private and writable, so a program that makes memory
//! read-only after it has written it can have more. What is resident tells; a process that has too
//! much ends the run, a moment after the fact.
#![expect(
    clippy::disallowed_methods,
    reason = "the memory of processes is told in files of the kernel"
)]

use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::time::Duration;

use skills_sandbox::interpreter::MemoryRlimit;

use crate::plan::Plan;
use crate::spawn::SpawnedChild;

/// How long is waited between two looks. Writing memory takes about a second for 2 GiB, so up to
/// some 50 MiB come on top of the limit.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// How many processes of a run are looked at.
const MAX_PROCESSES: usize = 1_024;

/// Watches a child and what it started.
#[derive(Debug)]
pub(crate) struct ResidentMonitor {
    pid: i32,
    /// Names the child even when its number belongs to another process already.
    pidfd: OwnedFd,
    limit_bytes: u64,
}

impl ResidentMonitor {
    /// Begins to watch a child, unless its limit counts everything or the host has no `/proc` that
    /// shows it.
    pub(crate) fn new(spawned: &SpawnedChild, plan: &Plan) -> Option<Self> {
        if plan.memory != MemoryRlimit::Data || resident_bytes(spawned.pid()).is_none() {
            return None;
        }
        Some(Self {
            pid: spawned.pid(),
            pidfd: spawned.clone_pidfd().ok()?,
            limit_bytes: plan.limits.memory_bytes,
        })
    }

    /// Returns when a process has more than the limit, after the child was killed.
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

    /// The rest of its group, or of its table of processes, dies when its end is seen.
    #[expect(unsafe_code, reason = "no wrapper signals a process by its descriptor")]
    fn kill(&self) {
        // SAFETY: the descriptor is open; without a structure the signal is sent as `kill` does. It
        // fails only for a child that has ended.
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

/// Waits for a run to end, and says whether it was ended for its memory.
pub(crate) async fn run_monitored<T>(
    run: impl Future<Output = T>,
    watch: Option<&ResidentMonitor>,
) -> (T, bool) {
    let mut run = pin!(run);
    if let Some(watch) = watch {
        tokio::select! {
            biased;
            ended = &mut run => return (ended, false),
            () = watch.wait_exceeded() => return (run.await, true),
        }
    }
    (run.await, false)
}

/// Lists a process and those that it started, as far as they are still its descendants.
fn process_tree(first: i32) -> Vec<i32> {
    let mut found = vec![first];
    let mut at = 0;
    while let Some(process) = found
        .get(at)
        .copied()
        .filter(|_| found.len() < MAX_PROCESSES)
    {
        found.extend(child_processes(process).unwrap_or_default());
        at += 1;
    }
    found
}

/// Lists the processes that any thread of a process started; kernels may be built without this.
fn child_processes(process: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        found.extend(
            text.split_whitespace()
                .filter_map(|number| number.parse::<i32>().ok()),
        );
    }
    Ok(found)
}

/// Returns how many bytes of memory a process has that no file of a disk stands for.
fn resident_bytes(process: i32) -> Option<u64> {
    parse_kibibytes(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
        .map(|kibibytes| kibibytes << 10)
}

fn parse_kibibytes(status: &str) -> Option<u64> {
    let of = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value
            .strip_prefix(':')?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    };
    Some(of("RssAnon")? + of("RssShmem")?)
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
        // One that has ended, and is not collected yet, has none.
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
