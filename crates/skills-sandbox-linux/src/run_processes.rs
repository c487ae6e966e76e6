//! The processes of a run, and what the kernel reports about their memory.
#![expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the memory of processes in files"
)]

use std::collections::HashSet;
use std::fs;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use crate::isolation::IsolationLevel;

/// Maximum processes that are found; a run with more of them is limited by other means.
const MAX_PROCESSES: usize = 8_192;
/// How often a process that may not be inspected is retried, and the delay between attempts: it can
/// be about to execute a program or to exit.
const MAX_ATTEMPTS: u32 = 20;
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// Finds the processes of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunProcesses {
    leader: i32,
    /// Whether the leader is a program of this crate, and orphans of the run stay below it.
    has_namespace: bool,
}

/// A process of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RunProcess {
    number: i32,
    /// Whether it is a program of this crate, which others may not inspect.
    is_init: bool,
}

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemoryOfProcess {
    /// Private memory with page tables and what was swapped out.
    pub(crate) private: u64,
    /// Shared memory without pages of files on a disk.
    pub(crate) shared: u64,
}

impl RunProcesses {
    pub(crate) fn new(leader: i32, isolation: IsolationLevel) -> Self {
        Self {
            leader,
            has_namespace: isolation == IsolationLevel::Namespaces,
        }
    }

    /// Returns true if the kernel lists the processes that the leader started. Otherwise most
    /// processes of the run are not found.
    pub(crate) fn are_listed(&self) -> bool {
        let leader = self.leader;
        fs::read_to_string(format!("/proc/{leader}/task/{leader}/children")).is_ok()
    }

    /// Returns all processes of the run. Blocks.
    pub(crate) fn all(&self) -> Vec<RunProcess> {
        self.with_orphans(&self.orphans())
    }

    /// Returns processes that can have left their parents, by reading all processes of the host.
    /// Nothing if all stay below the leader.
    pub(crate) fn orphans(&self) -> Vec<i32> {
        if self.has_namespace {
            return Vec::new();
        }
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|process| group_of(*process) == Some(self.leader))
            .collect()
    }

    /// Returns the leader, those of `orphans` that still are of the run, and their descendants.
    /// Another process that outlives its parent belongs to another one and is not found.
    pub(crate) fn with_orphans(&self, orphans: &[i32]) -> Vec<RunProcess> {
        let mut processes = vec![self.leader];
        let mut known: HashSet<i32> = [self.leader].into();
        // The number of a process that has exited can be that of another one.
        let orphans = orphans.iter().copied();
        let orphans = orphans.filter(|orphan| group_of(*orphan) == Some(self.leader));
        processes.extend(orphans.filter(|orphan| known.insert(*orphan)));
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
        let of_run = |number| RunProcess {
            number,
            is_init: self.has_namespace && number == self.leader,
        };
        processes.into_iter().map(of_run).collect()
    }
}

impl RunProcess {
    /// Returns the memory of the process, with pages that it shares with others. `None` if it has
    /// none.
    pub(crate) fn memory(self) -> Option<MemoryOfProcess> {
        let status = self.read("status", |text| text.contains("RssAnon:"));
        parse_status(&status.ok()?)
    }

    /// Returns the memory of the process, with its part of what it shares with other processes.
    /// `None` if others may not inspect it. Blocks while the process changes its mappings.
    pub(crate) fn proportional_memory(self) -> Option<MemoryOfProcess> {
        let rollup = self.read("smaps_rollup", |text| !text.is_empty()).ok()?;
        let status = self.read("status", |text| text.contains("RssAnon:")).ok()?;
        parse_rollup(&rollup, &status)
    }

    /// Returns the mappings of the process, nothing if it is ending. `None` if others may not
    /// inspect it. Blocks while the process changes its mappings.
    pub(crate) fn maps(self) -> Option<String> {
        if self.is_init {
            return Some(String::new());
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.read("maps", |text| !text.is_empty()) {
                Ok(maps) => return Some(maps),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => sleep(RETRY_DELAY),
                // It has exited.
                Err(_) => return Some(String::new()),
            }
        }
        None
    }

    /// Reads a file about the process: of a further thread if that of the first one is not
    /// complete, since a process goes on after its first thread has ended.
    fn read(self, name: &str, is_complete: impl Fn(&str) -> bool) -> io::Result<String> {
        let number = self.number;
        let first = fs::read(format!("/proc/{number}/{name}")).map(lossy);
        if first.as_deref().is_ok_and(&is_complete) {
            return first;
        }
        for thread in fs::read_dir(format!("/proc/{number}/task"))? {
            let text = fs::read(thread?.path().join(name)).map(lossy);
            if text.as_deref().is_ok_and(&is_complete) {
                return text;
            }
        }
        first
    }
}

/// Names of files need not be UTF-8.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
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
        // A thread that has ended since has no children.
        let text = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        let numbers = text.split_whitespace();
        children.extend(numbers.filter_map(|number| number.parse::<i32>().ok()));
    }
    Ok(children)
}

fn parse_status(status: &str) -> Option<MemoryOfProcess> {
    let field = |name| parse_field(status, name).unwrap_or(0);
    // `RssFile` is not added: those pages can be read again from the file and are shared.
    let private = parse_field(status, "RssAnon:")? + field("VmPTE:") + field("VmSwap:");
    Some(MemoryOfProcess {
        private: private << 10,
        shared: parse_field(status, "RssShmem:")? << 10,
    })
}

fn parse_rollup(rollup: &str, status: &str) -> Option<MemoryOfProcess> {
    let private = parse_field(rollup, "Pss_Anon:")?
        + parse_field(rollup, "SwapPss:").unwrap_or(0)
        + parse_field(status, "VmPTE:").unwrap_or(0);
    Some(MemoryOfProcess {
        private: private << 10,
        shared: parse_field(rollup, "Pss_Shmem:")? << 10,
    })
}

/// Returns the number in a line of a report, which is in KiB.
fn parse_field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_shared_memory_are_read() {
        let status = "Name:\tnode\nVmPTE:\t     100 kB\nVmSwap:\t       8 kB\nRssAnon:\t   44032 kB\n\
                      RssFile:\t   38400 kB\nRssShmem:\t      16 kB\n";
        let memory = parse_status(status).unwrap();
        assert_eq!((memory.private, memory.shared), (44_140 << 10, 16 << 10));
        let rollup = "Pss:  99 kB\nPss_Anon:  20 kB\nPss_Shmem:  3 kB\nSwapPss:  1 kB\n";
        let memory = parse_rollup(rollup, status).unwrap();
        assert_eq!((memory.private, memory.shared), (121 << 10, 3 << 10));
        // A zombie has no memory.
        assert!(parse_status("Name:\tnode\nState:\tZ (zombie)\n").is_none());
    }

    #[test]
    fn a_process_and_its_children_are_listed() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let processes = RunProcesses::new(own, IsolationLevel::Landlock);
        let listed = processes.with_orphans(&[own]);
        let are_listed = fs::exists("/proc/thread-self/children").unwrap();
        assert_eq!(processes.are_listed(), are_listed);
        let group = RunProcesses::new(group_of(own).unwrap(), IsolationLevel::Landlock);
        let members = group.orphans();
        let number = i32::try_from(child.id()).unwrap();
        let is_listed = listed.iter().any(|process| process.number == number);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(is_listed, are_listed);
        let of_own = listed.iter().filter(|process| process.number == own);
        assert_eq!(of_own.count(), 1);
        assert!(members.contains(&own) && members.contains(&number));
        assert!(listed[0].memory().unwrap().private > 0);
        assert!(listed[0].maps().unwrap().contains("rw-p"));
    }
}
