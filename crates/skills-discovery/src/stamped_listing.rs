//! The files of a skill and how they look.

use crate::{FileStamp, Resource};

/// The files of a skill and how they looked when they were listed. Two are equal when nothing was
/// written in between, as far as [`FileStamp`] can tell.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StampedListing {
    /// The regular files, the skill file among them, ordered by path. What
    /// [`ResourceListing`](crate::ResourceListing) leaves out is left out.
    pub files: Vec<StampedFile>,
    /// Whether there are more, as in [`ResourceListing`](crate::ResourceListing).
    pub truncated: bool,
}

/// One file of a skill and how it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampedFile {
    /// Its path below the skill's directory, with `/` between the parts.
    pub path: String,
    /// How it looks.
    pub stamp: FileStamp,
}

impl From<StampedFile> for Resource {
    fn from(file: StampedFile) -> Self {
        Self {
            path: file.path,
            bytes: file.stamp.bytes(),
        }
    }
}
