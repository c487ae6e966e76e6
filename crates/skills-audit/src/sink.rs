//! The destination of audit records.

use crate::error::AuditError;
use crate::event::Event;

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
    /// leaves a trace of it. Its disposition is
    /// [`Disposition::Started`](crate::Disposition::Started). Returns the number of the record,
    /// which the record of the end gets as [`Event::start`]. Default: writes nothing.
    ///
    /// # Errors
    /// Fails if it could not be written; then the program must not start.
    fn record_start(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        let _ = event;
        Ok(None)
    }
}
