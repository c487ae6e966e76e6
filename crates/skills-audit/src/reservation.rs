//! Space for the records of the ends of runs that have started.
//!
//! A program that fills the disk must not suppress the record of its end. Each open run of a log
//! holds the lock of one file next to it, so that each writer knows how many records are still to
//! come, also after another process was killed. With each start, space for all of them is
//! allocated after the end of the log, where no other file can use it. File systems that cannot
//! allocate there, or only say so as ZFS does, get padding in the file of the run instead, which is
//! freed when the end is recorded.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::lock::{FileLock, with_suffix};
use crate::record::MAX_LINE_BYTES;

/// The space of one record and its newline.
const RECORD_BYTES: u64 = MAX_LINE_BYTES as u64 + 1;

/// A run between its start and its end.
#[derive(Debug)]
pub(crate) struct OpenRun {
    lock: FileLock,
    has_padding: bool,
}

impl OpenRun {
    /// Adds a run. Called with the lock of the log, as are all functions of this module.
    ///
    /// # Errors
    /// Fails if its file cannot be created or locked.
    pub(crate) fn begin(log: &Path) -> io::Result<Self> {
        let mut number = 1;
        loop {
            if let Some(lock) = FileLock::try_acquire(&run_path(log, number))? {
                // A process that was killed leaves its padding behind.
                lock.file().set_len(0)?;
                return Ok(Self {
                    lock,
                    has_padding: false,
                });
            }
            number += 1;
        }
    }

    /// Allocates the space of the record of the end in the file of this run.
    pub(crate) fn pad(&mut self) -> io::Result<()> {
        // Written and not only sized: a sparse file has no space. Random bytes take it also where the
        // file system compresses.
        let mut padding = vec![0; RECORD_BYTES as usize];
        getrandom::fill(&mut padding).map_err(io::Error::other)?;
        self.lock.file().write_all(&padding)?;
        self.has_padding = true;
        Ok(())
    }

    /// Frees the space of [`pad`](Self::pad). Returns true if there was any.
    pub(crate) fn free_padding(&mut self) -> bool {
        std::mem::take(&mut self.has_padding) && self.lock.file().set_len(0).is_ok()
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.free_padding();
    }
}

/// Returns the number of open runs of all processes.
///
/// # Errors
/// Fails if a file of a run cannot be opened or locked.
pub(crate) fn count_open_runs(log: &Path) -> io::Result<u64> {
    let mut count = 0;
    for path in (1..).map(|number| run_path(log, number)) {
        if !path.try_exists()? {
            break;
        }
        count += u64::from(FileLock::try_acquire(&path)?.is_none());
    }
    Ok(count)
}

/// Returns the file of a run. It is reused and never deleted, so that numbers have no gap.
fn run_path(log: &Path, number: u32) -> PathBuf {
    with_suffix(log, &format!("run{number}"))
}

/// The result of [`reserve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux can allocate after the end of a file")
)]
pub(crate) enum Reserved {
    /// The space is allocated.
    Allocated,
    /// The file system cannot allocate space after the end of a file.
    Unsupported,
}

/// Allocates space for a record, and for the records of the ends of `open_runs`, after the end of a
/// log file. Its length does not change.
///
/// # Errors
/// Fails if the disk or a quota is full, or if the file would exceed the limit of the size of files.
pub(crate) fn reserve(file: &File, end: u64, open_runs: u64) -> io::Result<Reserved> {
    let bytes = open_runs.saturating_add(1).saturating_mul(RECORD_BYTES);
    // Otherwise the kernel ends this process with a signal at the write that exceeds the limit.
    if exceeds(end.saturating_add(bytes), max_file_bytes()) {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    allocate(file, end, bytes)
}

/// Returns true if a file of this size is larger than the limit.
fn exceeds(bytes: u64, max_bytes: Option<u64>) -> bool {
    max_bytes.is_some_and(|max_bytes| bytes > max_bytes)
}

/// Returns the limit of the size of files of this process.
#[cfg(unix)]
fn max_file_bytes() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(unix))]
fn max_file_bytes() -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, end: u64, bytes: u64) -> io::Result<Reserved> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::{Errno, retry_on_intr};
    use std::os::unix::fs::MetadataExt;

    match retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes)) {
        Ok(()) if is_allocated(file.metadata()?.blocks(), end, bytes) => Ok(Reserved::Allocated),
        // ZFS answers with success, and reserves nothing.
        Ok(()) => Ok(Reserved::Unsupported),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Reserved::Unsupported),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File, _end: u64, _bytes: u64) -> io::Result<Reserved> {
    Ok(Reserved::Unsupported)
}

/// Returns true if the blocks of a file hold its content and the bytes after its end.
#[cfg(target_os = "linux")]
fn is_allocated(blocks: u64, end: u64, bytes: u64) -> bool {
    // In units of 512 bytes, whatever the file system uses.
    blocks.saturating_mul(512) >= end.saturating_add(bytes)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_the_size_of_the_limit() {
        assert!(!exceeds(100, Some(100)));
        assert!(exceeds(101, Some(100)));
        assert!(!exceeds(u64::MAX, None));
    }

    #[test]
    fn space_is_reserved_where_the_file_system_can() {
        use rustix::fs::{FallocateFlags, fallocate};
        use std::os::unix::fs::MetadataExt;

        let (own, ours) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let is_possible = fallocate(&own, FallocateFlags::KEEP_SIZE, 0, 1 << 20).is_ok()
            && own.metadata().unwrap().blocks() >= 2_048;
        if !is_possible {
            skills_test_support::skip("the file system reserves no space");
            return;
        }
        assert_eq!(reserve(&ours, 0, 2).unwrap(), Reserved::Allocated);
        assert!(ours.metadata().unwrap().blocks() * 512 >= 3 * RECORD_BYTES);
        assert_eq!(ours.metadata().unwrap().len(), 0);
    }

    #[test]
    fn space_is_allocated_only_where_the_blocks_of_the_file_show_it() {
        assert!(is_allocated(129, 1_000, 65_000));
        assert!(is_allocated(137, 4_096, 66_048));
        // Only the content, and a content that is compressed.
        assert!(!is_allocated(8, 4_096, 65_537));
        assert!(!is_allocated(1, 1 << 20, 65_537));
    }
}
