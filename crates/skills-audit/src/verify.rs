//! Verifies the hash chain of a log.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::AuditError;
use crate::event::Disposition;
use crate::reader::{RawLine, records};
use crate::record::{GENESIS_HASH, Record};

/// The result of verifying the hash chain of a log.
///
/// An intact log has no problems. Store [`last_hash`](Self::last_hash) elsewhere, out of reach of
/// the programs that write the log: a log that was cut between two lines at its end, replaced by an
/// older copy or rewritten can be a valid chain, and only a stored hash detects that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of records.
    pub records: u64,
    /// Hash of the last record, `None` for an empty log.
    pub last_hash: Option<String>,
    /// Number of the first record; greater than 1 if rotation deleted older files.
    pub first_sequence: Option<u64>,
    /// Number of records after the one with the hash given to [`verify_since`]; `None` if it is not
    /// in the log, because the end was removed or rewritten, or its file was deleted.
    pub records_since: Option<u64>,
    /// Numbers of the start records without the record of an end: these runs continue, their host
    /// was killed, or the end of the log was removed.
    pub unfinished: Vec<u64>,
    /// Number of incomplete lines that writers removed, as records say.
    pub removed_lines: u64,
    /// Problems in the order of the log.
    pub problems: Vec<Problem>,
}

impl VerifyReport {
    /// Returns the worst status that the problems imply.
    #[must_use]
    pub fn status(&self) -> ChainStatus {
        let is_incomplete = |problem: &Problem| problem.kind == ProblemKind::Incomplete;
        if self.problems.is_empty() {
            ChainStatus::Intact
        } else if self.problems.iter().all(is_incomplete) {
            ChainStatus::Incomplete
        } else {
            ChainStatus::Broken
        }
    }
}

/// The status of the hash chain of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChainStatus {
    /// Each line is a record that follows the previous one.
    Intact,
    /// The log ends within a line, which a crash or a full disk left, and all before it is intact.
    /// The next writer removes the line.
    Incomplete,
    /// The log was modified.
    Broken,
}

/// A problem in a log, with its file and line.
///
/// [`Display`](fmt::Display) writes one line for an operator. An incomplete line is the trace of a
/// crash; all others mean that the log was modified.
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
    /// The line is not a record.
    #[error("not a valid record: edited")]
    Malformed,
    /// The last line of the log is not a record and has no newline.
    #[error(
        "incomplete record: a crash or a full disk interrupted a writer; the next one removes it"
    )]
    Incomplete,
    /// The line is empty, which no writer leaves.
    #[error("empty line: inserted, or left from a record that was removed")]
    Empty,
    /// The record with this number does not match its hash: it was edited.
    #[error("record {0} does not match its hash")]
    HashMismatch(u64),
    /// The record with this number does not follow the previous one.
    #[error("record {0} does not follow the previous one: records were removed, inserted or moved")]
    BrokenChain(u64),
    /// The record with this number begins the log, but not its file: it continues records that were
    /// there.
    #[error(
        "record {0} is not the first one of its file: records before it were removed, or an earlier \
         version wrote them"
    )]
    MissingBeginning(u64),
    /// The log begins with a later record than this one, which it still had at its last rotation.
    #[error("records from {0} on are missing before this one: older files were removed")]
    MissingFiles(u64),
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
    let mut verifier = Verifier::new(since);
    for (index, file) in files.iter().enumerate() {
        let file = file.as_ref();
        for (line, raw) in records(file)? {
            let kind = match raw {
                RawLine::Record(record) => verifier.add_record(&record, file, line),
                RawLine::Empty => Some(ProblemKind::Empty),
                // Only the current file can end within a line: writers complete it before rotation.
                RawLine::Incomplete if index + 1 == files.len() => Some(ProblemKind::Incomplete),
                RawLine::Malformed | RawLine::Incomplete => Some(ProblemKind::Malformed),
            };
            verifier.add_problem(kind, file, line);
        }
    }
    Ok(verifier.finish(files.first().map(AsRef::as_ref)))
}

/// The state of a verification between two lines.
struct Verifier<'a> {
    report: VerifyReport,
    since: Option<&'a str>,
    /// The number and hash of the last record.
    last: Option<(u64, String)>,
    /// The number of the oldest record, according to the last file that names it.
    oldest: u64,
    /// True if the first record begins the log or its file, so that only files can be missing.
    begins_file: bool,
    unfinished: BTreeSet<u64>,
}

impl<'a> Verifier<'a> {
    fn new(since: Option<&'a str>) -> Self {
        Self {
            report: VerifyReport::default(),
            since,
            last: None,
            oldest: 1,
            begins_file: false,
            unfinished: BTreeSet::new(),
        }
    }

    fn add_problem(&mut self, kind: Option<ProblemKind>, file: &Path, line: usize) {
        self.report.problems.extend(kind.map(|kind| Problem {
            file: file.to_owned(),
            line,
            kind,
        }));
    }

    /// Adds a record. Returns how it does not continue the log; an edit is added to the report.
    fn add_record(&mut self, record: &Record, file: &Path, line: usize) -> Option<ProblemKind> {
        let sequence = record.sequence;
        if !record.hash_matches {
            self.add_problem(Some(ProblemKind::HashMismatch(sequence)), file, line);
        }
        let is_first_of_log = self.last.is_none();
        let problem = if !follows(record, self.last.as_ref()) {
            Some(ProblemKind::BrokenChain(sequence))
        // Within the log the chain shows that nothing is missing, also where an earlier version began
        // a file without naming the oldest record.
        } else if is_first_of_log && sequence > 1 && record.oldest.is_none() {
            Some(ProblemKind::MissingBeginning(sequence))
        } else {
            None
        };
        self.begins_file |= self.report.records == 0 && problem.is_none();
        self.report.records += 1;
        if self.since.is_some_and(|since| since == record.hash) {
            self.report.records_since = Some(0);
        } else if let Some(count) = &mut self.report.records_since {
            *count += 1;
        }
        self.report.first_sequence = self.report.first_sequence.or(Some(sequence));
        self.report.removed_lines += u64::from(record.removed_bytes.is_some());
        self.oldest = record.oldest.unwrap_or(self.oldest);
        if record.event.disposition == Disposition::Started {
            self.unfinished.insert(sequence);
        }
        if let Some(start) = record.event.start {
            self.unfinished.remove(&start);
        }
        // Also after a problem, so that one edit is reported once.
        self.last = Some((sequence, record.hash.clone()));
        problem
    }

    fn finish(mut self, first_file: Option<&Path>) -> VerifyReport {
        let first = self.report.first_sequence;
        let lacks_files = self.begins_file && first.is_some_and(|first| first > self.oldest);
        if let Some(file) = first_file.filter(|_| lacks_files) {
            let problem = Problem {
                file: file.to_owned(),
                line: 1,
                kind: ProblemKind::MissingFiles(self.oldest),
            };
            self.report.problems.insert(0, problem);
        }
        self.report.unfinished = self.unfinished.into_iter().collect();
        self.report.last_hash = self.last.map(|(_, hash)| hash);
        self.report
    }
}

/// Returns true if a record follows the previous one. The first record of a log has the number 1 and
/// no previous one, or it follows records that rotation deleted.
fn follows(record: &Record, last: Option<&(u64, String)>) -> bool {
    match last {
        Some((sequence, hash)) => {
            Some(record.sequence) == sequence.checked_add(1) && record.previous == *hash
        }
        None => record.sequence > 0 && (record.sequence == 1) == (record.previous == GENESIS_HASH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditLog, AuditSink, Disposition, Event};

    #[test]
    fn the_first_record_of_a_log_has_the_number_1() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap();
        log.record(&Event::new(
            "2026-11-22T08:00:00Z",
            "pdf",
            Disposition::Granted,
        ))
        .unwrap();
        let mut record = crate::reader::first_record(&path).unwrap().unwrap();
        assert!(follows(&record, None));
        record.previous = "f".repeat(64);
        for (sequence, expected) in [(0, false), (1, false), (2, true)] {
            record.sequence = sequence;
            assert_eq!(follows(&record, None), expected, "{sequence}");
        }
    }
}
