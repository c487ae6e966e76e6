//! The error of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// Error of reading or writing a usage ledger.
///
/// The message names the file, and the cause is the source of the error. A ledger is never worth
/// the failure of what it records: report the error, and go on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct LedgerError(#[from] Repr);

impl LedgerError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Repr::Io {
            path: path.to_owned(),
            source,
        }
        .into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("cannot access the usage ledger `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot serialize an event of the usage ledger")]
    Json(#[source] serde_json::Error),
}
