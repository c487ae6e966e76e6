//! How some files looked.

use std::path::{Path, PathBuf};

use crate::file_stamp::ScanStart;
use crate::{FileStamp, parallel};

/// How some files and directories looked, to be held against the disk later. Nothing is read, and
/// links are followed.
///
/// For what a catalogue is not made of; a catalogue knows [its own](crate::ScanStamps).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StampSet(Vec<(PathBuf, Option<FileStamp>)>);

impl StampSet {
    /// Looks at one more path; a missing one is noted as missing. Whoever reads a directory looks
    /// first, so that what changes in between is a change.
    pub fn add(&mut self, path: impl Into<PathBuf>) -> Option<FileStamp> {
        self.add_at(path.into(), ScanStart::now())
    }

    fn add_at(&mut self, path: PathBuf, moment: ScanStart) -> Option<FileStamp> {
        let stamp = FileStamp::from_path(&path).map(|stamp| stamp.with_scan_start(moment));
        self.0.push((path, stamp));
        stamp
    }

    /// Says whether all look as they did. What was written in the moment in which it was looked at
    /// first counts as changed, since it may have been written again.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let is_as_before =
            |(path, stamp): &(PathBuf, Option<FileStamp>)| is_stamp_current(path, *stamp);
        parallel::map(&self.0, parallel::default_threads(), is_as_before).all(|same| same)
    }
}

fn is_stamp_current(path: &Path, stamp: Option<FileStamp>) -> bool {
    let now = FileStamp::from_path(path);
    stamp.map_or(now.is_none(), |stamp| stamp.is_unchanged(now))
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What was written in the tick in which it was looked at may be written again unseen.
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
