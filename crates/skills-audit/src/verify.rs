//! Verifies the hash chain of a log.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::AuditError;
use crate::reader::records;
use crate::record::{GENESIS_HASH, Record};

/// The result of verifying the hash chain of a log.
///
/// An intact log has no problems. Store [`last_hash`](Self::last_hash) elsewhere, out of reach of
/// the programs that write the log: a truncated or rewritten log can be a valid chain, and only a
/// stored hash detects that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of records.
    pub records: u64,
    /// Hash of the last record, `None` for an empty log.
    pub last_hash: Option<String>,
    /// Number of the first record; greater than 1 if older files were deleted.
    pub first_sequence: Option<u64>,
    /// Number of records after the one with the hash given to [`verify_since`]; `None` if it is not
    /// in the log, because the end was removed or rewritten, or its file was deleted.
    pub records_since: Option<u64>,
    /// Problems in the order of the log.
    pub problems: Vec<Problem>,
}

/// A problem in a log, with its file and line.
///
/// [`Display`](fmt::Display) writes one line for an operator. A single malformed line can be the
/// trace of a crash; mismatches and broken chains mean that the file was modified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file of the log.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// The kinds of [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The line is not a record; a crash leaves at most one.
    #[error("not a valid record: partially written or edited")]
    Malformed,
    /// The record with this number does not match its hash: it was edited.
    #[error("record {0} does not match its hash")]
    HashMismatch(u64),
    /// The record with this number does not follow the previous one.
    #[error("record {0} does not follow the previous one: records were removed, inserted or moved")]
    BrokenChain(u64),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.kind)
    }
}

/// Verifies the hash chain of the files of a log, oldest first, as [`AuditLog::files`] returns
/// them.
///
/// [`AuditLog::files`]: crate::AuditLog::files
///
/// # Errors
/// Fails if a file cannot be opened. Invalid content is not an error but a [`Problem`].
pub fn verify<P: AsRef<Path>>(files: &[P]) -> Result<VerifyReport, AuditError> {
    verify_since(files, None)
}

/// Verifies the hash chain as [`verify`] does, and counts the
/// [records](VerifyReport::records_since) after the one with the hash `since`, which the caller
/// stored elsewhere.
///
/// ```
/// use skills_audit::{AuditLog, AuditSink, Disposition, Event, verify, verify_since};
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("audit.jsonl");
/// let log = AuditLog::open(&path)?;
/// let event = Event::new("2026-11-22T08:00:00Z", "text-stats", Disposition::Granted);
/// log.record(&event)?;
/// let stored_hash = verify(&log.files()?)?.last_hash.expect("there is a record");
/// log.record(&event)?;
/// assert_eq!(verify_since(&log.files()?, Some(&stored_hash))?.records_since, Some(1));
///
/// // A log that was replaced is a valid chain, but without the stored hash.
/// std::fs::remove_file(&path)?;
/// log.record(&Event::new("2026-11-22T09:00:00Z", "other", Disposition::Granted))?;
/// let report = verify_since(&log.files()?, Some(&stored_hash))?;
/// assert!(report.problems.is_empty() && report.records_since.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`verify`].
pub fn verify_since<P: AsRef<Path>>(
    files: &[P],
    since: Option<&str>,
) -> Result<VerifyReport, AuditError> {
    let mut report = VerifyReport::default();
    let mut last: Option<(u64, String)> = None;
    for file in files {
        for (line, record) in records(file.as_ref())? {
            let mut add_problem = |kind| {
                report.problems.push(Problem {
                    file: file.as_ref().to_owned(),
                    line,
                    kind,
                });
            };
            let Some(record) = record else {
                // `last` stays: the record after a partial line follows the one before it.
                add_problem(ProblemKind::Malformed);
                continue;
            };
            let sequence = record.sequence;
            if !record.hash_matches {
                add_problem(ProblemKind::HashMismatch(sequence));
            }
            if !follows(&record, last.as_ref()) {
                add_problem(ProblemKind::BrokenChain(sequence));
            }
            report.records += 1;
            if since.is_some_and(|since| since == record.hash) {
                report.records_since = Some(0);
            } else if let Some(count) = &mut report.records_since {
                *count += 1;
            }
            report.first_sequence = report.first_sequence.or(Some(sequence));
            // Also after a problem, so that one edit is reported once.
            last = Some((sequence, record.hash));
        }
    }
    report.last_hash = last.map(|(_, hash)| hash);
    Ok(report)
}

/// Returns true if a record follows the previous one. The first record may refer to a predecessor
/// in a deleted file.
fn follows(record: &Record, last: Option<&(u64, String)>) -> bool {
    match last {
        Some((sequence, hash)) => {
            Some(record.sequence) == sequence.checked_add(1) && record.previous == *hash
        }
        None => record.sequence > 1 || record.previous == GENESIS_HASH,
    }
}
