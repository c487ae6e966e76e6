//! Why a file of a published skill is not given.

use crate::virtual_path::escape_for_display;

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
    FileNotFound,
    /// The file changes all the time; the same request may succeed later.
    Unstable,
}

impl PublicationError {
    pub(super) fn not_published(name: &str) -> Self {
        Self {
            kind: PublicationErrorKind::NotPublished,
            message: format!("no skill '{}' is published", escape_for_display(name)),
        }
    }

    pub(super) fn file_not_found(name: &str, path: &str) -> Self {
        Self {
            kind: PublicationErrorKind::FileNotFound,
            message: format!(
                "the skill '{}' has no file '{}'",
                escape_for_display(name),
                escape_for_display(path)
            ),
        }
    }

    pub(super) fn unstable(name: &str, path: &str) -> Self {
        let message = format!(
            "the file '{}' of the skill '{}' changes while it is read; try again",
            escape_for_display(path),
            escape_for_display(name)
        );
        Self {
            kind: PublicationErrorKind::Unstable,
            message,
        }
    }

    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> PublicationErrorKind {
        self.kind
    }
}
