//! The error type of this crate: a file or directory of a skill cannot be opened or read.

use std::io;

use skills_manifest::ManifestError;

use crate::LockDifference;

/// The reason why a file or directory of a skill cannot be opened, read or listed.
///
/// The message is a cause without the path, since callers know the path and put it in front:
/// `cannot read scripts/run.py: not a regular file`. Branch on [`kind`](Self::kind), which is
/// stable, not on the message.
///
/// ```
/// use skills_discovery::{DiscoveryErrorKind, SkillFiles};
///
/// # let directory = tempfile::tempdir()?;
/// let error = SkillFiles::open_directory(directory.path()).unwrap_err();
/// assert_eq!(error.kind(), DiscoveryErrorKind::NotFound);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DiscoveryError(#[from] pub(crate) Repr);

impl DiscoveryError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> DiscoveryErrorKind {
        match &self.0 {
            Repr::NotFound => DiscoveryErrorKind::NotFound,
            Repr::NotRegular => DiscoveryErrorKind::NotRegular,
            Repr::TooLarge { .. } => DiscoveryErrorKind::TooLarge,
            Repr::OutsideSkill => DiscoveryErrorKind::OutsideSkill,
            Repr::Manifest(_) => DiscoveryErrorKind::Manifest,
            Repr::Changed(_) | Repr::NotListed(_) => DiscoveryErrorKind::Changed,
            Repr::Source(_)
            | Repr::SourceFailing
            | Repr::SourcesDirectory(_)
            | Repr::SourceName => DiscoveryErrorKind::Source,
            Repr::TooManyEntries { .. } => DiscoveryErrorKind::TooLarge,
            Repr::Io(_) => DiscoveryErrorKind::Io,
        }
    }

    /// Returns the error of the manifest, with its line, if the `SKILL.md` was read but is invalid;
    /// otherwise `None`.
    #[must_use]
    pub fn manifest(&self) -> Option<&ManifestError> {
        match &self.0 {
            Repr::Manifest(error) => Some(error),
            _ => None,
        }
    }

    /// Returns true if a parent in the path is not a directory.
    pub(crate) fn is_not_a_directory(&self) -> bool {
        matches!(&self.0, Repr::Io(error) if error.kind() == io::ErrorKind::NotADirectory)
    }
}

impl From<io::Error> for DiscoveryError {
    fn from(error: io::Error) -> Self {
        // The classes that callers branch on must not depend on the operating system; all others
        // keep its error.
        match error.kind() {
            io::ErrorKind::NotFound => Repr::NotFound.into(),
            _ if is_escape(&error) => Repr::OutsideSkill.into(),
            _ => Repr::Io(error).into(),
        }
    }
}

/// Returns true if a directory handle rejected a path that leads out of it.
fn is_escape(error: &io::Error) -> bool {
    // cap-std makes this error itself, so it has no error number. A real `EACCES` has one and must
    // stay an I/O error: it says nothing about where the path leads.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// The class of a [`DiscoveryError`].
///
/// It says what a caller can do: correct the path, raise a limit, report an attempt to leave the
/// skill, show the problem of the manifest, or retry after an I/O error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiscoveryErrorKind {
    /// The file or directory does not exist, or a directory has no skill file.
    NotFound,
    /// It is a directory, FIFO, socket or device where a regular file is expected.
    NotRegular,
    /// It is larger than the limit of the call, or the skill has more files, bytes or directory
    /// levels than the limit. Nothing of it is returned.
    TooLarge,
    /// The path, or a symlink on it, leads outside of the skill directory.
    OutsideSkill,
    /// The `SKILL.md` is not valid; see [`DiscoveryError::manifest`].
    Manifest,
    /// The skill is locked, and its content is not that of its lock file any more, or a source has
    /// another content than it listed. Nothing of it is read.
    Changed,
    /// A [source](crate::SkillSource) cannot be read, or lists what is not a skill.
    Source,
    /// Any other error of the operating system, such as a missing permission.
    Io,
}

impl DiscoveryErrorKind {
    /// Returns the stable code of the class, as in JSON output.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "missing",
            Self::NotRegular => "not-regular-file",
            Self::TooLarge => "too-large",
            Self::OutsideSkill => "outside-skill",
            Self::Manifest => "manifest",
            Self::Changed => "changed",
            Self::Source => "source",
            Self::Io => "io",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("no such file or directory")]
    NotFound,
    #[error("not a regular file")]
    NotRegular,
    #[error("file is {bytes} bytes, limit {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("skill has more than {limit} {what}")]
    TooManyEntries { what: &'static str, limit: u64 },
    #[error("path leads outside of the skill directory")]
    OutsideSkill,
    #[error(transparent)]
    Manifest(ManifestError),
    #[error("changed: {0}")]
    Changed(LockDifference),
    #[error("changed: `{0}` is not what its source listed")]
    NotListed(String),
    #[error("{0}")]
    Source(Box<dyn std::error::Error + Send + Sync>),
    #[error("skills of the source failed to open for 30 seconds; try again in a minute")]
    SourceFailing,
    #[error("the name of a source must not be empty, absolute or have a part `..`")]
    SourceName,
    #[error("sources have no skills while `{0}` exists")]
    SourcesDirectory(&'static str),
    #[error("I/O error: {0}")]
    Io(io::Error),
}
