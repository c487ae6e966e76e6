//! Errors of reading a published file.

use crate::virtual_path::escape_for_display;

/// Error of reading a published file.
///
/// Only [`Unstable`](PublicationErrorKind::Unstable) may succeed on a retry. The message names the
/// skill and the file and contains no host paths, so it can be returned to a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PublicationError {
    kind: PublicationErrorKind,
    message: String,
}

/// Classifies a [`PublicationError`].
///
/// Use it to choose an error code of a protocol. A skill that exists and is not published cannot be
/// distinguished from one that does not exist, so that clients learn nothing about such skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicationErrorKind {
    /// No published skill has the name.
    NotPublished,
    /// The published skill has no such file.
    FileNotFound,
    /// The file changes continuously; a retry may succeed.
    Unstable,
}

impl PublicationError {
    pub(super) fn not_published(name: &str) -> Self {
        Self {
            kind: PublicationErrorKind::NotPublished,
            message: format!("published skill `{}` not found", escape_for_display(name)),
        }
    }

    pub(super) fn file_not_found(name: &str, path: &str) -> Self {
        Self {
            kind: PublicationErrorKind::FileNotFound,
            message: format!(
                "skill `{}` has no file '{}'",
                escape_for_display(name),
                escape_for_display(path)
            ),
        }
    }

    pub(super) fn unstable(name: &str, path: &str) -> Self {
        let message = format!(
            "cannot read '{}' of skill `{}`: it changes continuously; retry later",
            escape_for_display(path),
            escape_for_display(name)
        );
        Self {
            kind: PublicationErrorKind::Unstable,
            message,
        }
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> PublicationErrorKind {
        self.kind
    }
}
