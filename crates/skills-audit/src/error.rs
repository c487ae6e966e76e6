//! The one error of this crate.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Says why a record could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AuditError(#[from] Repr);

impl AuditError {
    /// Makes the error of a sink that keeps records elsewhere.
    #[must_use]
    pub fn other(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Repr::Other(Box::new(source)).into()
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Repr::Io { .. } => ErrorKind::Io,
            Repr::Locked { .. } => ErrorKind::Locked,
            Repr::TooLarge { .. } => ErrorKind::TooLarge,
            Repr::Json(_) | Repr::Other(_) => ErrorKind::Other,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Repr::Io {
            path: path.to_owned(),
            source,
        }
        .into()
    }
}

/// The classes of [`AuditError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be used.
    Io,
    /// Another process held the lock of the log until the timeout.
    Locked,
    /// The record is longer than any may be.
    TooLarge,
    /// Something else.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("cannot use the audit log {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot lock the audit log: another process holds `{}` and did not release it within {timeout:?}", path.display())]
    Locked { path: PathBuf, timeout: Duration },
    #[error("the record has {bytes} bytes, at most {limit} are kept")]
    TooLarge { bytes: usize, limit: usize },
    #[error("the record cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    #[error("the record could not be kept")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}
