//! Keeps a record of every attempt to run something.
//!
//! ```text
//! Event --AuditSink::record--> {"sequence":7,"time":…,"previous":"…","hash":"…"}   one line of JSON
//! files --verify------------> Verified | what is cut, edited or torn, and where
//! ```
//!
//! [`AuditLog`] is the sink that writes files: append-only, for several writers at once, with
//! rotation. Each line carries the hash of the line before it, so a cut or an edit shows. Whoever
//! may write the file can write a whole new chain: against that, keep the last hash elsewhere.
//!
//! This crate must never know what a skill is, policies or sandboxes: it gets words, numbers and
//! hashes. It reads no clock.
//!
//! ```
//! use skills_audit::{AuditLog, AuditSink, Disposition, Event, verify};
//!
//! # let directory = tempfile::tempdir()?;
//! let log = AuditLog::open(directory.path().join("audit.jsonl"))?;
//! let mut event = Event::new("2026-11-22T08:00:00Z", "text-stats", Disposition::Denied);
//! event.rules.push("a rule of user forbids it".to_owned());
//! log.record(&event)?;
//! assert_eq!(verify(&log.files()?)?.records, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod log;
mod reader;
mod record;
mod verify;

pub use error::{AuditError, ErrorKind};
pub use event::{ContentHash, Disposition, Event, RestrictionStatus};
pub use log::{AuditLog, Rotation};
pub use reader::{Line, read, tail};
pub use verify::{Problem, VerifyReport, verify, verify_since};

/// Takes one record for each attempt, denied or not.
///
/// A host that wants its records elsewhere implements this. An attempt whose record cannot be kept
/// must not run: whoever runs something asks the sink first or treats its error as a failure of the
/// run.
pub trait AuditSink: Send + Sync {
    /// Says whether a record could be kept now; nothing is run when not. Default: yes.
    ///
    /// # Errors
    /// When it could not.
    fn check_writable(&self) -> Result<(), AuditError> {
        Ok(())
    }

    /// Keeps a record.
    ///
    /// # Errors
    /// When it could not be kept.
    fn record(&self, event: &Event) -> Result<(), AuditError>;
}
