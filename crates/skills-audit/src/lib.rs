//! Writes and verifies an audit log: a record for every attempt to run a program.
//!
//! ```text
//! Event --AuditSink::record--> {"sequence":7,"time":…,"previous":"…","hash":"…"}   one line of JSON
//! files --verify------------> VerifyReport: records, last hash, problems with file and line
//! ```
//!
//! [`AuditLog`] is the sink that writes files: append-only, for several concurrent processes, with
//! rotation. Each record contains the hash of the previous one, and the first record of each file
//! names the oldest one that the log keeps, so edited records and those that were removed from the
//! beginning or the middle are detected. A log that was cut at its end, replaced by an older copy
//! or forged as a whole is a valid chain: store the last hash elsewhere to detect that
//! ([`verify_since`]). The space for the record of an end is reserved with the record of the start,
//! so that a program which fills the disk does not suppress it.
//!
//! This crate must not know skills, policies or sandboxes: it gets texts, numbers and hashes. It
//! reads no clock, so records are reproducible and the caller decides which clock is trusted.
//!
//! ```
//! use skills_audit::{AuditLog, AuditSink, Disposition, Event, verify};
//!
//! # let directory = tempfile::tempdir()?;
//! let log = AuditLog::open(directory.path().join("audit.jsonl"))?;
//! let mut event = Event::new("2026-11-22T08:00:00Z", "text-stats", Disposition::Denied);
//! event.rules.push("denied by rule `deny network (admin)`".to_owned());
//! log.record(&event)?;
//! assert_eq!(verify(&log.files()?)?.records, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod lock;
mod log;
mod reader;
mod record;
mod reservation;
mod tail;
mod verify;
mod writer;

use std::path::{Path, PathBuf};

pub use error::{AuditError, AuditErrorKind};
pub use event::{
    Caller, ChangedFiles, ContentHash, Disposition, Event, ReachedHost, RefusedAttempt,
    RestrictionStatus,
};
pub use log::{AuditLog, Rotation};
pub use reader::{Line, is_unfinished, read, tail};
pub use verify::{ChainStatus, Problem, ProblemKind, VerifyReport, verify, verify_since};

/// Destination of audit records: exactly one per attempt, including denied ones, and optionally one
/// for each start.
///
/// Implement it to store records elsewhere than in files. An attempt without a record must not
/// succeed: the runtime calls [`check_writable`](Self::check_writable) before a run starts, and
/// treats an error of [`record`](Self::record) as a failure of the run. Implementations are called
/// from several threads and may block.
///
/// ```
/// use skills_audit::{AuditError, AuditSink, Disposition, Event};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct MemorySink(Mutex<Vec<Event>>);
///
/// impl AuditSink for MemorySink {
///     fn record(&self, event: &Event) -> Result<(), AuditError> {
///         let mut events = self.0.lock().map_err(|_| AuditError::other(std::fmt::Error))?;
///         events.push(event.clone());
///         Ok(())
///     }
/// }
///
/// let sink = MemorySink::default();
/// sink.check_writable()?;
/// sink.record(&Event::new("2026-11-22T08:00:00Z", "text-stats", Disposition::Denied))?;
/// assert_eq!(sink.0.lock().unwrap().len(), 1);
/// # Ok::<(), AuditError>(())
/// ```
pub trait AuditSink: Send + Sync {
    /// Checks that a record could be written now, before anything runs. Default: `Ok`.
    ///
    /// # Errors
    /// Fails if it could not be written.
    fn check_writable(&self) -> Result<(), AuditError> {
        Ok(())
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Fails if it could not be written.
    fn record(&self, event: &Event) -> Result<(), AuditError>;

    /// Writes the record of an authorized program that is about to start, so that a killed host
    /// leaves a trace of it. Its disposition is [`Disposition::Started`]. Returns the number of the
    /// record, which the record of the end gets as [`Event::start`]. Default: writes nothing.
    ///
    /// # Errors
    /// Fails if it could not be written; then the program must not start.
    fn record_start(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        let _ = event;
        Ok(None)
    }
}

/// Returns the path of a file next to a log.
fn with_suffix(log: &Path, suffix: &str) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}
