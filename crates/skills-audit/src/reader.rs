//! Reads records from files.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use skills_store::trusted_file::open_untrusted;

use crate::error::AuditError;
use crate::event::{Disposition, Event};
use crate::record::{MAX_FILE_BYTES, MAX_LINE_BYTES, Record};

/// A line of a log: a record, or a line that is not one.
///
/// Reading does not verify the hash chain; use [`verify`](crate::verify) for that. Match with a
/// wildcard arm, since later versions can add variants.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Line {
    /// A record.
    Record {
        /// Its number in the log, from 1.
        sequence: u64,
        /// Its hash, in hexadecimal digits.
        hash: String,
        /// The recorded event.
        event: Box<Event>,
    },
    /// Not a valid record: partially written before a crash, or edited.
    Malformed {
        /// The line number in the file, from 1.
        line: usize,
    },
}

/// Reads the lines of a file, oldest first, without empty lines. The file is read while iterating.
///
/// # Errors
/// Fails if the file cannot be opened. A later read error yields [`Line::Malformed`] and ends the
/// iteration.
pub fn read(path: &Path) -> Result<impl Iterator<Item = Line>, AuditError> {
    Ok(records(path)?.filter_map(|(line, raw)| match raw {
        RawLine::Record(record) => Some(Line::Record {
            sequence: record.sequence,
            hash: record.hash,
            event: Box::new(record.event),
        }),
        RawLine::Empty => None,
        RawLine::Malformed | RawLine::Incomplete => Some(Line::Malformed { line }),
    }))
}

/// Returns the last `count` lines of a log, oldest first. `files` are those of
/// [`AuditLog::files`](crate::AuditLog::files), also oldest first; only as many as needed are read.
///
/// # Errors
/// As [`read`].
pub fn tail<P: AsRef<Path>>(files: &[P], count: usize) -> Result<Vec<Line>, AuditError> {
    let mut lines = Vec::new();
    for file in files.iter().rev() {
        let mut older: Vec<Line> = read(file.as_ref())?.collect();
        older.append(&mut lines);
        lines = older;
        if lines.len() >= count {
            break;
        }
    }
    lines.drain(..lines.len().saturating_sub(count));
    Ok(lines)
}

/// Returns true if `line` is the record of a start, and none of the `lines` after it is the record
/// of its end: the run continues, or its host was killed.
///
/// ```
/// use skills_audit::{AuditLog, AuditSink, Disposition, Event, is_unfinished, tail};
///
/// # let directory = tempfile::tempdir()?;
/// let log = AuditLog::open(directory.path().join("audit.jsonl"))?;
/// let start = log.record_start(&Event::new("2026-11-22T08:00:00Z", "a", Disposition::Started))?;
/// let lines = tail(&log.files()?, 10)?;
/// assert!(is_unfinished(&lines[0], &lines));
///
/// let mut end = Event::new("2026-11-22T08:00:00Z", "a", Disposition::Granted);
/// end.start = start;
/// log.record(&end)?;
/// let lines = tail(&log.files()?, 10)?;
/// assert!(!lines.iter().any(|line| is_unfinished(line, &lines)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn is_unfinished(line: &Line, lines: &[Line]) -> bool {
    let Line::Record {
        sequence, event, ..
    } = line
    else {
        return false;
    };
    let is_end =
        |line: &Line| matches!(line, Line::Record { event, .. } if event.start == Some(*sequence));
    event.disposition == Disposition::Started && !lines.iter().any(is_end)
}

/// A line of a file.
pub(crate) enum RawLine {
    Record(Box<Record>),
    Empty,
    /// Not a record, or it cannot be read.
    Malformed,
    /// Not a record, and without a newline: the end of the file.
    Incomplete,
}

impl RawLine {
    pub(crate) fn record(self) -> Option<Record> {
        match self {
            Self::Record(record) => Some(*record),
            _ => None,
        }
    }
}

/// Returns the lines of a file with their numbers.
pub(crate) fn records(
    path: &Path,
) -> Result<impl Iterator<Item = (usize, RawLine)> + use<>, AuditError> {
    // Its owner does not matter: a log is shown as it is, and verification is about its content.
    let file =
        open_untrusted(path, MAX_FILE_BYTES).map_err(|error| AuditError::io(path, error.into()))?;
    Ok((1..).zip(lines(file)))
}

fn lines(file: impl Read) -> impl Iterator<Item = RawLine> {
    let mut reader = BufReader::new(file);
    let mut has_failed = false;
    std::iter::from_fn(move || {
        // Without this, a directory or a broken disk would yield errors forever.
        if has_failed {
            return None;
        }
        next_line(&mut reader).unwrap_or_else(|_| {
            has_failed = true;
            Some(RawLine::Malformed)
        })
    })
}

/// Returns the first record of a file of any size, if it is within the size of the files that are read.
pub(crate) fn first_record(path: &Path) -> Result<Option<Record>, AuditError> {
    let file =
        open_untrusted(path, u64::MAX).map_err(|error| AuditError::io(path, error.into()))?;
    Ok(lines(file.take(MAX_FILE_BYTES)).find_map(RawLine::record))
}

/// Returns the next line. One that is too long is skipped without buffering it.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<RawLine>> {
    let mut line = Vec::new();
    let mut is_long = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            let has_bytes = is_long || !line.is_empty();
            return Ok(has_bytes.then(|| parse_unended(&line, is_long)));
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let taken = end.unwrap_or(buffer.len());
        // Checked before copying: memory is bounded for any file.
        is_long |= line.len() + taken > MAX_LINE_BYTES;
        if !is_long {
            line.extend_from_slice(&buffer[..taken]);
        }
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(parse_ended(&line, is_long)));
        }
    }
}

/// Parses a line that a newline ends.
fn parse_ended(line: &[u8], is_long: bool) -> RawLine {
    match Record::parse(line) {
        Some(record) if !is_long => RawLine::Record(Box::new(record)),
        _ if line.is_empty() && !is_long => RawLine::Empty,
        _ => RawLine::Malformed,
    }
}

/// Parses a line at the end of a file, without a newline. A record that only lacks the newline is
/// one; the next writer adds it.
fn parse_unended(line: &[u8], is_long: bool) -> RawLine {
    match Record::parse(line) {
        Some(record) if !is_long && record.hash_matches => RawLine::Record(Box::new(record)),
        _ => RawLine::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads its own file")]
    fn a_record_with_too_much_space_behind_it_is_malformed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = crate::AuditLog::open(&path).unwrap();
        let event = crate::Event::new("2026-11-22T08:00:00Z", "pdf", crate::Disposition::Granted);
        crate::AuditSink::record(&log, &event).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().next_back().unwrap();
        let read = |spaces: usize| {
            let text = format!("{line}{}\n", " ".repeat(spaces));
            lines(text.as_bytes()).next()
        };
        assert!(matches!(read(9), Some(RawLine::Record(_))));
        assert!(matches!(read(MAX_LINE_BYTES), Some(RawLine::Malformed)));
    }
}
