//! Quotas of writable directories.

use std::fmt;
use std::path::{Path, PathBuf};

/// The limits of a directory during and after a run that writes to it: bytes,
/// [entries](Self::MAX_ENTRIES) and [levels](Self::MAX_DEPTH).
///
/// Bytes are those that the file system has allocated: a sparse file counts with the written part,
/// and a file with several hard links counts once.
///
/// ```
/// use skills_sandbox::Quota;
///
/// let quota = Quota::new("/workspace", 64 << 20);
/// assert_eq!((quota.max_bytes(), Quota::MAX_ENTRIES), (67_108_864, 20_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    directory: PathBuf,
    max_bytes: u64,
}

impl Quota {
    /// The maximum number of files, directories and other entries.
    pub const MAX_ENTRIES: u64 = 20_000;
    /// The maximum number of directory levels below the directory.
    pub const MAX_DEPTH: usize = 64;

    /// Sets the quota of a directory, in bytes.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self {
            directory: directory.into(),
            max_bytes,
        }
    }

    /// Describes a quota in bytes that is enforced by measuring, for the enforcement report.
    #[must_use]
    pub fn describe_limit(max_bytes: u64) -> String {
        format!(
            "{} MiB and {} entries, measured during the run, killed when exceeded",
            max_bytes >> 20,
            Self::MAX_ENTRIES
        )
    }

    /// Returns the directory that the quota applies to.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the maximum number of bytes.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}

/// A directory exceeds its quota, or its disk is almost full: the limit, and which part is
/// exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct QuotaExceeded {
    /// The quota, or the space that has to be left, in bytes.
    pub limit_bytes: u64,
    /// Which part of the quota was exceeded.
    pub part: QuotaPart,
}

/// The part of a [`Quota`] that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QuotaPart {
    /// Too many bytes are allocated.
    Bytes,
    /// There are too many entries.
    Entries,
    /// Directories are nested too deeply.
    Depth,
    /// A directory cannot be listed, or an open file cannot be examined, so it may hold anything.
    Unreadable,
    /// Not of a quota: the disk of a writable directory that a user named has less space left than
    /// the limit.
    DiskSpace,
    /// Not of a quota: such a disk has room for too few further files.
    DiskEntries,
    /// Not of a quota: the space left on such a disk cannot be read.
    DiskUnreadable,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.limit_bytes >> 20;
        match self.part {
            QuotaPart::DiskSpace => {
                let mib = self.limit_bytes.div_ceil(1 << 20);
                return write!(
                    f,
                    "the disk of a writable directory has less than {mib} MiB left"
                );
            }
            QuotaPart::DiskEntries => {
                return f.write_str("the disk of a writable directory is almost full of files");
            }
            QuotaPart::DiskUnreadable => {
                return f.write_str(
                    "cannot measure the space left on the disk of a writable directory",
                );
            }
            QuotaPart::Unreadable => {
                return write!(
                    f,
                    "cannot measure the usage of a directory with a quota of {mib} MiB"
                );
            }
            _ => write!(f, "private workspace exceeds its quota of {mib} MiB")?,
        }
        match self.part {
            QuotaPart::Bytes
            | QuotaPart::Unreadable
            | QuotaPart::DiskSpace
            | QuotaPart::DiskEntries
            | QuotaPart::DiskUnreadable => Ok(()),
            QuotaPart::Entries => {
                write!(f, " and {} entries: too many entries", Quota::MAX_ENTRIES)
            }
            QuotaPart::Depth => write!(
                f,
                " and {} levels: directories are nested too deeply",
                Quota::MAX_DEPTH
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_measurement_is_not_an_exceeded_quota() {
        let text = |part| {
            let limit_bytes = 4 << 20;
            QuotaExceeded { limit_bytes, part }.to_string()
        };
        assert_eq!(
            text(QuotaPart::Unreadable),
            "cannot measure the usage of a directory with a quota of 4 MiB"
        );
        assert_eq!(
            text(QuotaPart::DiskUnreadable),
            "cannot measure the space left on the disk of a writable directory"
        );
        assert_eq!(
            text(QuotaPart::Bytes),
            "private workspace exceeds its quota of 4 MiB"
        );
    }
}
