//! The one error of this crate: a file of a skill that cannot be had.

use std::io;

use skills_manifest::ManifestError;

/// Says why a file or directory of a skill cannot be had. Callers know the path.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DiscoveryError(#[from] Repr);

impl DiscoveryError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Repr::NotFound => ErrorKind::NotFound,
            Repr::NotRegular => ErrorKind::NotRegular,
            Repr::TooLarge { .. } => ErrorKind::TooLarge,
            Repr::OutsideSkill => ErrorKind::OutsideSkill,
            Repr::Manifest(_) => ErrorKind::Manifest,
            Repr::TooManyEntries { .. } => ErrorKind::TooLarge,
            Repr::Io(_) => ErrorKind::Io,
        }
    }

    /// Returns the manifest's own error, when that is the reason.
    #[must_use]
    pub fn manifest(&self) -> Option<&ManifestError> {
        match &self.0 {
            Repr::Manifest(error) => Some(error),
            _ => None,
        }
    }

    /// Says whether a part of the path is no directory.
    pub(crate) fn is_not_a_directory(&self) -> bool {
        matches!(&self.0, Repr::Io(error) if error.kind() == io::ErrorKind::NotADirectory)
    }

    /// Sorts an error of the operating system; a handle answers an escape with "permission denied"
    /// or "too many links".
    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Repr::NotFound.into(),
            _ if is_escape(&error) => Repr::OutsideSkill.into(),
            _ => Repr::Io(error).into(),
        }
    }
}

/// The handle refuses a path that leaves it by an error of its own, which carries no number of the
/// operating system.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// The classes of [`DiscoveryError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such file.
    NotFound,
    /// It is a directory, FIFO, socket or device.
    NotRegular,
    /// It is longer than allowed, or the skill has more files than allowed; it was not read.
    TooLarge,
    /// The path, or a symlink on it, leaves the skill.
    OutsideSkill,
    /// The `SKILL.md` is no skill.
    Manifest,
    /// The operating system refused.
    Io,
}

impl ErrorKind {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "missing",
            Self::NotRegular => "not-regular-file",
            Self::TooLarge => "too-large",
            Self::OutsideSkill => "outside-skill",
            Self::Manifest => "manifest",
            Self::Io => "io",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("no such file")]
    NotFound,
    #[error("not a regular file")]
    NotRegular,
    #[error("the file has {bytes} bytes, at most {limit} are read")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("the skill has more than {limit} {what}")]
    TooManyEntries { what: &'static str, limit: u64 },
    #[error("the path leaves the skill")]
    OutsideSkill,
    #[error(transparent)]
    Manifest(ManifestError),
    #[error("the operating system refused: {0}")]
    Io(io::Error),
}
