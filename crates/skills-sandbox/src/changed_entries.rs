//! What changed in the writable directories of a run.

use std::path::PathBuf;

/// What changed in the writable directories of a run, by its program or by another process.
///
/// Symlinks are not followed. Entries that changed and were restored count as changed, as far as
/// the file system shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedEntries {
    /// The regular files that were created or changed, ordered by path.
    pub files: Vec<ChangedFile>,
    /// New entries that are neither regular files nor directories, and what each is, ordered by
    /// path.
    pub special: Vec<(PathBuf, &'static str)>,
    /// Directories and files that could not be examined, each with the reason, ordered by path.
    pub unexamined: Vec<(PathBuf, String)>,
    /// Why further changes may be missing, one phrase each, such as a limit that was reached.
    pub limits: Vec<&'static str>,
    /// Whether entries were removed, directories created, or other entries than regular files
    /// created or changed. Also true if this is unknown.
    pub has_other_changes: bool,
}

/// A regular file that was created or changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The path on the host, absolute.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether it did not exist before the run.
    pub is_created: bool,
}

impl ChangedFile {
    /// Describes a file that did not exist before the run.
    pub fn created(path: impl Into<PathBuf>, bytes: u64) -> Self {
        Self {
            path: path.into(),
            bytes,
            is_created: true,
        }
    }

    /// Describes a file that existed before the run.
    pub fn changed(path: impl Into<PathBuf>, bytes: u64) -> Self {
        Self {
            is_created: false,
            ..Self::created(path, bytes)
        }
    }
}
