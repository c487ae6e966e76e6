//! How a skill differs from its lock file.

use std::path::PathBuf;

use crate::ContentDigest;

/// How a skill differs from what a lock file requires.
// Paths may contain anything, so control characters in them are escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockDifference {
    /// Its content has this digest.
    #[error("its content is not that of the lock file ({0})")]
    Content(ContentDigest),
    /// Its content has no digest, for example because a file cannot be read.
    #[error("its content cannot be read")]
    Unreadable,
    /// Its content is the same, but the mode of these files differs.
    #[error("the executable files are not those of the lock file ({0:?} differ)")]
    Executable(Vec<String>),
    /// The lock file lists a directory, and the scan found the skill through this symlink in its
    /// place.
    #[error("{0:?} is locked and leads elsewhere")]
    Symlink(PathBuf),
    /// Its directory is not locked, but its name is that of a locked skill.
    #[error("its name is that of a locked skill")]
    Name,
    /// It is below this directory, which is locked and is not the skill of the lock file.
    #[error("{0:?} is locked and has other content")]
    Outer(PathBuf),
}
