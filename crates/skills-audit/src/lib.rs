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
mod sink;
mod tail;
mod verify;
mod writer;

pub use error::{AuditError, AuditErrorKind};
pub use event::{
    Caller, ChangedFiles, ContentHash, Disposition, Event, ReachedHost, RefusedAttempt,
    RestrictionStatus,
};
pub use log::{AuditLog, Rotation};
pub use reader::{Line, is_unfinished, read, tail};
pub use sink::AuditSink;
pub use verify::{ChainStatus, Problem, ProblemKind, VerifyReport, verify, verify_since};
