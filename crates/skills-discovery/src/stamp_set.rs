//! Stamps of several files.

use std::path::{Path, PathBuf};

use crate::FileStamp;
use crate::file_stamp::ScanStart;
use crate::parallel;
use crate::thread_count::ThreadCount;

/// The stamps of a set of files and directories, to check later whether they changed.
///
/// Only metadata is read, and symlinks are followed. It is meant for files that a catalog is not
/// built from, such as scripts; a catalog has [its own](crate::Catalog::is_current).
///
/// ```
/// use skills_discovery::StampSet;
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("state");
/// let mut stamps = StampSet::default();
/// assert!(stamps.add(&path).is_none());
/// assert!(stamps.is_current());
/// std::fs::write(&path, "new")?;
/// assert!(!stamps.is_current());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StampSet(Vec<(PathBuf, Option<FileStamp>)>);

impl StampSet {
    /// Adds the current stamp of a path and returns it; `None` if the file does not exist, which is
    /// recorded as well. Call it before reading the file, so that a change between the two calls is
    /// noticed.
    pub fn add(&mut self, path: impl Into<PathBuf>) -> Option<FileStamp> {
        self.add_at(path, ScanStart::now())
    }

    /// Adds the current stamp of a path, for a scan that began at `scan_start`.
    pub(crate) fn add_at(
        &mut self,
        path: impl Into<PathBuf>,
        scan_start: ScanStart,
    ) -> Option<FileStamp> {
        let path = path.into();
        let stamp = FileStamp::from_path(&path).map(|stamp| stamp.with_scan_start(scan_start));
        self.push(path, stamp);
        stamp
    }

    /// Adds a stamp that was made earlier; `None` if the file did not exist.
    pub(crate) fn push(&mut self, path: impl Into<PathBuf>, stamp: Option<FileStamp>) {
        self.0.push((path.into(), stamp));
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Returns true if no path has changed since it was added. A file that was written in the clock
    /// tick in which it was added counts as changed, since it may have been written again.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_current_on(ThreadCount::default())
    }

    pub(crate) fn is_current_on(&self, threads: ThreadCount) -> bool {
        parallel::map(&self.0, threads, |(path, stamp)| {
            is_stamp_current(path, *stamp)
        })
        .all(|is_current| is_current)
    }
}

/// Returns true if a file still has its stamp, or is still missing if it had none.
pub(crate) fn is_stamp_current(path: &Path, stamp: Option<FileStamp>) -> bool {
    // A file that appears is a change, too.
    let now = FileStamp::from_path(path);
    stamp.map_or(now.is_none(), |stamp| stamp.is_unchanged(now))
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A file that is written again in the tick in which it was added keeps its stamp.
    #[test]
    fn only_files_that_were_written_before_the_last_tick_are_current() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "one").unwrap();
        for (age, is_current) in [(Duration::ZERO, false), (Duration::from_secs(4), true)] {
            let mut stamps = StampSet::default();
            let stamp = stamps.add_at(path.clone(), ScanStart::after_writing(&path, age));
            assert_eq!(stamp.map(|stamp| stamp.bytes()), Some(3));
            assert_eq!(stamps.add(directory.path().join("b")), None);
            assert_eq!(stamps.is_current(), is_current, "{age:?}");
        }
    }
}
