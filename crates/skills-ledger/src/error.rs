//! The error of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// Error of reading or writing a usage ledger.
///
/// Branch on [`kind`](Self::kind); the message names the file, and the cause is the source of the
/// error. A ledger is never worth the failure of what it records: report the error, and go on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct LedgerError(#[from] Repr);

impl LedgerError {
    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> LedgerErrorKind {
        match &self.0 {
            Repr::Io { .. } => LedgerErrorKind::Io,
            Repr::Json(_) => LedgerErrorKind::Other,
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

/// The classes of [`LedgerError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LedgerErrorKind {
    /// A file or directory could not be created, opened, read, written or renamed.
    Io,
    /// An event could not be serialized.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("cannot access the usage ledger `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot serialize an event of the usage ledger")]
    Json(#[source] serde_json::Error),
}
