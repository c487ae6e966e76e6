//! A listing of the files of a skill with their stamps.

use crate::FileStamp;

/// The files of a skill with their stamps at the time of listing.
///
/// Two listings of the same skill are equal if nothing was written in between, as far as
/// [`FileStamp`] can tell. No content is read; to identify content use
/// [`SkillFiles::digest`](crate::SkillFiles::digest).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StampedListing {
    /// The regular files including the skill file, ordered by path. What a
    /// [`ResourceListing`](crate::ResourceListing) omits is omitted here as well.
    pub files: Vec<StampedFile>,
    /// Whether files are missing because of a limit, as in
    /// [`ResourceListing`](crate::ResourceListing).
    pub truncated: bool,
}

/// One file of a [`StampedListing`]. Compare its stamp with a later one to notice that the file was
/// written; the stamp says nothing about the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampedFile {
    /// The path relative to the skill directory, with `/` as separator.
    pub path: String,
    /// The stamp of the file when it was listed.
    pub stamp: FileStamp,
}
