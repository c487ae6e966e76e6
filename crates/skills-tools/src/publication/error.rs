//! Why a file of a published skill is not given.

use crate::path::shown;

/// Why a file of a published skill is not given. No path of this machine is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PublicationError {
    kind: PublicationErrorKind,
    message: String,
}

/// The classes of [`PublicationError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicationErrorKind {
    /// No skill of the name is published.
    NotPublished,
    /// The publication has no such file.
    NoSuchFile,
    /// The file changes all the time; the same request may succeed later.
    Changing,
}

impl PublicationError {
    pub(super) fn not_published(name: &str) -> Self {
        Self {
            kind: PublicationErrorKind::NotPublished,
            message: format!("no skill '{}' is published", shown(name)),
        }
    }

    pub(super) fn no_such_file(name: &str, path: &str) -> Self {
        Self {
            kind: PublicationErrorKind::NoSuchFile,
            message: format!("the skill '{}' has no file '{}'", shown(name), shown(path)),
        }
    }

    pub(super) fn changing(name: &str, path: &str) -> Self {
        let message = format!(
            "the file '{}' of the skill '{}' changes while it is read; try again",
            shown(path),
            shown(name)
        );
        Self {
            kind: PublicationErrorKind::Changing,
            message,
        }
    }

    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> PublicationErrorKind {
        self.kind
    }
}
