//! How much a run writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use skills_policy::Limits;

use super::refusal::Refusal;

/// What making an entry counts for: about what a file system takes for it.
const ENTRY_BYTES: u64 = 4_096;

/// Counts what a run writes, in all directories together. What is written twice counts twice, what is removed stays counted: the sum is
/// never less than what lies there.
pub(super) struct Quota {
    file_bytes: u64,
    total_bytes: u64,
    written: AtomicU64,
}

impl Quota {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self { file_bytes: limits.file_bytes, total_bytes: limits.scratch_bytes, written: AtomicU64::new(0) })
    }

    /// Counts one more entry.
    pub(super) fn entry(&self) -> io::Result<()> {
        self.take(ENTRY_BYTES)
    }

    /// Counts `length` bytes at `offset` of a file.
    pub(super) fn write(&self, offset: u64, length: u64) -> io::Result<()> {
        self.reaches(offset.saturating_add(length))?;
        self.take(length)
    }

    /// Refuses a file that is longer than files may be.
    fn reaches(&self, end: u64) -> io::Result<()> {
        if end > self.file_bytes { Err(Refusal::TooLarge.into()) } else { Ok(()) }
    }

    /// Counts that a file of `from` bytes is given `to` bytes.
    pub(super) fn resize(&self, from: u64, to: u64) -> io::Result<()> {
        self.reaches(to)?;
        self.take(to.saturating_sub(from))
    }

    /// What is refused does not count.
    fn take(&self, bytes: u64) -> io::Result<()> {
        let more = |written: u64| written.checked_add(bytes).filter(|total| *total <= self.total_bytes);
        match self.written.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::NoSpace.into()),
        }
    }
}
