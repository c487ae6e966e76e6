//! Metadata of directory entries, by which changes are recognized.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, Stat};

/// Bits of a mode, of `stat.h`.
const FILE_TYPE_BITS: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;
const EXECUTE_BITS: u32 = 0o111;

/// Metadata of an entry that changes when it is replaced or modified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryState {
    /// Device and inode number.
    identity: (u64, u64),
    /// `None` for directories: their entries have states.
    content: Option<ContentState>,
}

/// What changes with the content of an entry. The change time, since a program can set the
/// modification time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ContentState {
    bytes: u64,
    changed_at: (i64, i64),
    mode: u32,
}

/// Metadata of a directory that changes when an entry is added, removed or renamed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DirectoryState {
    /// Device and inode number.
    identity: (u64, u64),
    /// The change time, which a program cannot set on file systems with change times.
    changed_at: (i64, i64),
}

impl EntryState {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let content = ContentState {
            bytes: metadata.len(),
            changed_at: (metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
        };
        Self {
            identity: (metadata.dev(), metadata.ino()),
            content: (!metadata.is_dir()).then_some(content),
        }
    }

    pub(crate) fn from_stat(stat: &Stat) -> Self {
        let content = ContentState {
            bytes: stat.st_size.cast_unsigned(),
            changed_at: changed_at(stat),
            mode: mode(stat),
        };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Self {
            identity: identity(stat),
            content: (!is_directory).then_some(content),
        }
    }

    /// Returns the state of the content at a path, through symlinks; `None` if there is none.
    pub(crate) fn of_content(path: &Path) -> Option<Self> {
        let metadata = path.metadata().or_else(|_| path.symlink_metadata());
        metadata.ok().map(|metadata| Self::from_metadata(&metadata))
    }

    /// Returns the state of a file with another change time.
    #[cfg(test)]
    pub(crate) fn with_change_time(self, changed_at: (i64, i64)) -> Self {
        let content = ContentState {
            bytes: 0,
            changed_at,
            mode: REGULAR_FILE,
        };
        Self {
            content: Some(content),
            ..self
        }
    }

    pub(crate) fn device(&self) -> u64 {
        self.identity.0
    }

    pub(crate) fn inode(&self) -> u64 {
        self.identity.1
    }

    /// Returns the length in bytes; 0 for a directory.
    pub(crate) fn bytes(&self) -> u64 {
        self.content.as_ref().map_or(0, |content| content.bytes)
    }

    /// Returns the change time in seconds and nanoseconds; `None` for a directory.
    pub(crate) fn changed_at(&self) -> Option<(i64, i64)> {
        self.content.as_ref().map(|content| content.changed_at)
    }

    /// Returns true for a regular file.
    pub(crate) fn is_file(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|content| content.mode & FILE_TYPE_BITS == REGULAR_FILE)
    }

    /// Returns true for a regular file that may be executed by some user.
    pub(crate) fn is_executable(&self) -> bool {
        let content = self.content.as_ref();
        self.is_file() && content.is_some_and(|content| content.mode & EXECUTE_BITS != 0)
    }
}

impl DirectoryState {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            identity: (metadata.dev(), metadata.ino()),
            changed_at: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self {
            identity: identity(stat),
            changed_at: changed_at(stat),
        }
    }

    pub(crate) fn device(&self) -> u64 {
        self.identity.0
    }

    /// Returns the change time in seconds since 1970.
    pub(crate) fn changed_seconds(&self) -> i64 {
        self.changed_at.0
    }
}

#[cfg(target_os = "linux")]
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// As [`MetadataExt::dev`], which extends the sign.
#[cfg(not(target_os = "linux"))]
fn identity(stat: &Stat) -> (u64, u64) {
    (i64::from(stat.st_dev).cast_unsigned(), stat.st_ino)
}

#[cfg(target_os = "linux")]
fn mode(stat: &Stat) -> u32 {
    stat.st_mode
}

#[cfg(not(target_os = "linux"))]
fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode)
}

#[cfg(target_os = "linux")]
fn changed_at(stat: &Stat) -> (i64, i64) {
    (stat.st_ctime, stat.st_ctime_nsec.cast_signed())
}

#[cfg(not(target_os = "linux"))]
fn changed_at(stat: &Stat) -> (i64, i64) {
    (stat.st_ctime, stat.st_ctime_nsec)
}
