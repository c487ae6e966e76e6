//! The error type of this crate.

use std::path::{Path, PathBuf};

use skills_discovery::{DiscoveryError, InactiveReason};

/// A skill was not found, or cannot be read or used.
///
/// Branch on [`kind`](Self::kind); the message is for users and can change.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct LibraryError(Box<Repr>);

impl From<Repr> for LibraryError {
    fn from(repr: Repr) -> Self {
        // In a box, since results are moved often and errors are rare.
        Self(Box::new(repr))
    }
}

impl LibraryError {
    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> LibraryErrorKind {
        match &*self.0 {
            Repr::UnknownSkill { .. } => LibraryErrorKind::UnknownSkill,
            Repr::AmbiguousSkill { .. } => LibraryErrorKind::AmbiguousSkill,
            Repr::InactiveSkill { .. } => LibraryErrorKind::InactiveSkill,
            Repr::NotModelInvocable { .. } => LibraryErrorKind::NotModelInvocable,
            Repr::FileAccess { .. } => LibraryErrorKind::FileAccess,
            Repr::InvalidRestriction { .. } => LibraryErrorKind::InvalidRestriction,
            Repr::LockedContent { .. } => LibraryErrorKind::ContentChanged,
            Repr::Random(_) => LibraryErrorKind::Random,
        }
    }

    /// Returns suggestions: similar names, best first, for an unknown skill; directories for an
    /// ambiguous one.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        match &*self.0 {
            Repr::UnknownSkill { nearest, .. } => nearest,
            Repr::AmbiguousSkill { directories, .. } => directories,
            _ => &[],
        }
    }

    /// Returns the error for a skill that has other content than its lock file requires.
    #[must_use]
    pub fn locked_content(skill: String, path: PathBuf, locked: String) -> Self {
        Repr::LockedContent {
            skill,
            path,
            locked,
        }
        .into()
    }

    /// Returns the error for a file of a skill that cannot be read.
    #[must_use]
    pub fn file_access(path: PathBuf, source: DiscoveryError) -> Self {
        Repr::FileAccess { path, source }.into()
    }
}

/// The classes of [`LibraryError`]. New classes can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LibraryErrorKind {
    /// No skill has this name.
    UnknownSkill,
    /// Several skills have this name.
    AmbiguousSkill,
    /// The skill is inactive: untrusted, disabled, or for other products.
    InactiveSkill,
    /// The skill is not model-invocable; users can still name it.
    NotModelInvocable,
    /// A file of the skill cannot be read.
    FileAccess,
    /// The skill declares a restriction that cannot be parsed.
    InvalidRestriction,
    /// The content of the skill is not that of its lock file.
    ContentChanged,
    /// The system has no random bytes.
    Random,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("skill `{name}` not found")]
    UnknownSkill { name: String, nearest: Vec<String> },
    #[error("skill `{name}` ({}) is inactive: {reason}", path.display())]
    InactiveSkill {
        name: String,
        path: PathBuf,
        reason: InactiveReason,
    },
    #[error("skill `{name}` ({}) is not model-invocable: disabled by the skill or its mode", path.display())]
    NotModelInvocable { name: String, path: PathBuf },
    #[error("skill name `{name}` is ambiguous; pass the directory of the skill")]
    AmbiguousSkill {
        name: String,
        directories: Vec<String>,
    },
    #[error("cannot read {}", location_text(path, source))]
    FileAccess {
        path: PathBuf,
        source: DiscoveryError,
    },
    #[error("{}{}: cannot run skill `{skill}`: invalid `{}`", path.display(), line_suffix(*line), fields.join("`, `"))]
    InvalidRestriction {
        skill: String,
        path: PathBuf,
        /// The line of the first field, counted from 1.
        line: Option<usize>,
        fields: Vec<&'static str>,
    },
    #[error("skill `{skill}` ({}) changed: its content is not that of the lock file ({locked}); nothing ran", path.display())]
    LockedContent {
        skill: String,
        path: PathBuf,
        locked: String,
    },
    #[error("cannot draw random bytes")]
    Random(#[source] getrandom::Error),
}

/// Formats a path, with the line if it is known.
fn line_suffix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

fn location_text(path: &Path, source: &DiscoveryError) -> String {
    match source
        .manifest()
        .and_then(skills_manifest::ManifestError::line)
    {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}
