//! The error of this crate.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error of reading or writing an audit log.
///
/// Branch on [`kind`](Self::kind); the message names the file, and the cause is the source of the
/// error. A failed write leaves no bytes or a partial line, which the next writer skips.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AuditError(#[from] Repr);

impl AuditError {
    /// Creates the error of an [`AuditSink`](crate::AuditSink) that writes records elsewhere. Its
    /// kind is [`AuditErrorKind::Other`].
    #[must_use]
    pub fn other(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Repr::Other(Box::new(source)).into()
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> AuditErrorKind {
        match &self.0 {
            Repr::Io { .. } => AuditErrorKind::Io,
            Repr::Locked { .. } => AuditErrorKind::Locked,
            Repr::TooLarge { .. } => AuditErrorKind::TooLarge,
            Repr::Json(_) | Repr::Other(_) => AuditErrorKind::Other,
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

/// The classes of [`AuditError`]. A caller can retry after [`Locked`](Self::Locked); the others
/// need an operator or another record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuditErrorKind {
    /// A file could not be opened, read, written or renamed.
    Io,
    /// Another process held the lock of the log until the timeout.
    Locked,
    /// The record exceeds 64 KiB even without its long fields.
    TooLarge,
    /// The record could not be serialized, or the error comes from another sink.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("cannot access the audit log `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot lock the audit log: another process holds `{}` and did not release it within {timeout:?}", path.display())]
    Locked { path: PathBuf, timeout: Duration },
    #[error("audit record is {bytes} bytes, limit {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("cannot serialize the audit record")]
    Json(#[source] serde_json::Error),
    #[error("cannot write to the audit sink")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}
