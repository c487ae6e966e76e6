//! Files that a listing of a skill does not contain, and why.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use crate::slash_path::to_slash_path;

/// A file that a [`ResourceListing`](crate::ResourceListing) omits although it has no hidden name, so
/// that neither a model nor a run can use it.
///
/// [`Display`](fmt::Display) writes path and reason as one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[non_exhaustive]
pub struct OmittedFile {
    /// The path relative to the skill directory, with `/` as separator. Bytes that are not UTF-8 are
    /// replaced, so it cannot be opened.
    pub path: String,
    /// Why it is omitted.
    pub reason: OmissionReason,
}

/// The reason why a listing omits a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// The name is not UTF-8 or contains invisible characters.
    Unprintable,
    /// The file is a symlink, which could lead out of the skill.
    Symlink,
    /// The file is a FIFO, socket or device.
    NotRegular,
}

impl OmittedFile {
    pub(crate) fn new(directory: &Path, name: &OsStr, reason: OmissionReason) -> Self {
        Self {
            path: to_slash_path(&directory.join(name)),
            reason,
        }
    }
}

impl fmt::Display for OmittedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not used: {}", self.path, self.reason)
    }
}

impl fmt::Display for OmissionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unprintable => "its name is not UTF-8 or contains invisible characters",
            Self::Symlink => "it is a symlink",
            Self::NotRegular => "it is not a regular file",
        })
    }
}
