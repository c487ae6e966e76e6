//! Bounds the memory that processes of a run share without a file, where no cgroup counts it.
//!
//! Such memory is in use as long as any process has a part of its mapping, and also where no
//! process has its pages: after an unmap of the rest, `MADV_DONTNEED`, or the end of the process
//! that wrote them. The kernel has no figure for it that is of one run. But its size is given when
//! it is created, as an argument in a register, and never grows. So the host process is notified of
//! each creation, and the memory counts with its full length.
//!
//! Nothing tells which of them are still in use, only how many. So the longest count, as many as
//! there are.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use skills_threads::run_blocking;
use tokio::time::timeout;

use crate::run_processes::RunProcesses;

/// Maximum mappings of a run that exist at the same time. With huge pages for shared memory, which
/// is not the default of any kernel, each takes 2 MiB at least.
const MAX_MAPPINGS: usize = 1_024;
/// What a mapping takes at least: the largest page of all systems.
const MIN_BYTES: u64 = 64 << 10;
/// How long counting may take. A process can keep the kernel from reading its mappings.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);

/// The shared mappings that processes of one run created.
#[derive(Debug)]
pub(crate) struct SharedMappings {
    processes: RunProcesses,
    limit_bytes: u64,
    created: Mutex<Created>,
}

#[derive(Debug, Default)]
struct Created {
    /// The longest of all that were created, in descending order.
    lengths: Vec<u64>,
    /// How many exist at most.
    existing: usize,
    /// How many were created.
    count: u64,
}

impl SharedMappings {
    /// Creates the state of a run with a memory limit.
    pub(crate) fn new(processes: RunProcesses, limit_bytes: u64) -> Self {
        Self {
            processes,
            limit_bytes,
            created: Mutex::default(),
        }
    }

    /// Returns true if a mapping may be created, which then counts.
    pub(crate) async fn admit(self: &Arc<Self>, length: u64) -> bool {
        let fits = self.created().admit(length, self.limit_bytes);
        // Mappings may have been removed since they were counted.
        fits || self.count_in_time().await && self.created().admit(length, self.limit_bytes)
    }

    /// Returns the most bytes that existing mappings use.
    pub(crate) fn bytes(&self) -> u64 {
        self.created().bytes()
    }

    /// Returns true if mappings that were created do not count, since they were not found.
    pub(crate) fn has_removed(&self) -> bool {
        let created = self.created();
        created.existing < created.lengths.len()
    }

    /// Counts the existing mappings. Returns false if that is not known.
    pub(crate) async fn count_in_time(self: &Arc<Self>) -> bool {
        let mappings = Arc::clone(self);
        let count = run_blocking(move || mappings.count());
        matches!(timeout(COUNT_TIMEOUT, count).await, Ok(Ok(true)))
    }

    /// Counts the existing mappings. Returns false if that is not known, as of processes that keep
    /// others from inspecting them. Blocks.
    ///
    /// A program can move a mapping while it is counted. So a count is not final: it is repeated
    /// while it matters.
    pub(crate) fn count(&self) -> bool {
        let before = self.created().count;
        let mut inodes = BTreeSet::new();
        for process in self.processes.all() {
            let Some(maps) = process.maps() else {
                return false;
            };
            inodes.extend(maps.lines().filter_map(shared_inode).map(str::to_owned));
        }
        self.created().set_existing(inodes.len(), before);
        true
    }

    fn created(&self) -> MutexGuard<'_, Created> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Created {
    fn admit(&mut self, length: u64, limit_bytes: u64) -> bool {
        let length = length.max(MIN_BYTES);
        if self.existing >= MAX_MAPPINGS || self.bytes().saturating_add(length) > limit_bytes {
            return false;
        }
        let index = self.lengths.partition_point(|other| *other >= length);
        self.lengths.insert(index, length);
        self.lengths.truncate(MAX_MAPPINGS);
        self.existing += 1;
        self.count += 1;
        true
    }

    fn bytes(&self) -> u64 {
        let existing = self.lengths.iter().take(self.existing);
        existing.fold(0, |sum, length| sum.saturating_add(*length))
    }

    /// Sets how many existed when `before` had been created. Those that were created since exist
    /// too.
    fn set_existing(&mut self, existing: usize, before: u64) {
        let since = usize::try_from(self.count - before).unwrap_or(usize::MAX);
        self.existing = existing.saturating_add(since);
    }
}

/// Returns the number of the memory behind a mapping, if it is shared without a file.
fn shared_inode(line: &str) -> Option<&str> {
    // Addresses, permissions, offset, device, inode and name, which a program can choose.
    let mut words = line.splitn(6, ' ');
    let is_shared = words.nth(1)?.ends_with('s');
    let inode = words.nth(2)?;
    let name = words.next()?.trim_start();
    let is_anonymous = name == "/dev/zero (deleted)" || name.starts_with("[anon_shmem:");
    (is_shared && is_anonymous).then_some(inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_longest_mappings_count_as_many_as_exist() {
        let mut created = Created::default();
        for length in [2, 5, 1] {
            assert!(created.admit(length * MIB, 10 * MIB));
        }
        assert_eq!(created.bytes(), 8 * MIB);
        assert!(!created.admit(3 * MIB, 10 * MIB));
        // One was removed, and it is not known which one.
        created.set_existing(2, 3);
        assert_eq!(created.bytes(), 7 * MIB);
        assert!(created.admit(3 * MIB, 10 * MIB));
        assert_eq!(created.bytes(), 10 * MIB);
        // Another was created while these were counted.
        created.set_existing(0, 3);
        assert_eq!(created.bytes(), 5 * MIB);
        assert!(!created.admit(u64::MAX, 10 * MIB));
    }

    #[test]
    fn the_number_of_mappings_is_limited() {
        let mut created = Created::default();
        let admitted = (0..2 * MAX_MAPPINGS).filter(|_| created.admit(1, u64::MAX));
        assert_eq!(admitted.count(), MAX_MAPPINGS);
        assert_eq!(created.bytes(), MAX_MAPPINGS as u64 * MIN_BYTES);
    }

    #[test]
    fn mappings_are_recognized_by_any_name() {
        for (line, inode) in [
            (
                "7f00-7f01 rw-s 00000000 00:01 1039                       /dev/zero (deleted)",
                Some("1039"),
            ),
            (
                "7f00-7f01 r--s 00001000 00:01 7                          [anon_shmem:a b]",
                Some("7"),
            ),
            (
                "7f00-7f01 rw-p 00000000 00:01 1039                       /dev/zero (deleted)",
                None,
            ),
            (
                "7f00-7f01 rw-s 00000000 00:01 1039                       /memfd:x (deleted)",
                None,
            ),
            ("7f00-7f01 rw-p 00000000 00:00 0 ", None),
        ] {
            assert_eq!(shared_inode(line), inode, "{line}");
        }
    }
}
