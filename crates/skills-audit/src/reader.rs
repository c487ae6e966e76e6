//! Reads records back.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::record::{MAX_LINE_BYTES, Record};
use crate::{AuditError, Event};

/// A line of a log.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Line {
    /// A record.
    Record {
        /// Its number, from 1.
        sequence: u64,
        /// Its own hash.
        hash: String,
        /// What it says.
        event: Box<Event>,
    },
    /// Something that is no record: torn by a crash, or edited.
    Malformed {
        /// The line of the file, counted from 1.
        line: usize,
    },
}

/// Reads the lines of a file, oldest first; empty ones are none.
///
/// # Errors
/// When the file cannot be opened. A part that cannot be read is a [`Line::Malformed`].
pub fn read(path: &Path) -> Result<impl Iterator<Item = Line>, AuditError> {
    Ok(records(path)?.map(|(line, link)| match link {
        Some(Record {
            sequence,
            event,
            hash,
            ..
        }) => Line::Record {
            sequence,
            hash,
            event: Box::new(event),
        },
        None => Line::Malformed { line },
    }))
}

/// Returns the last `count` lines of a log, oldest first; its files are given oldest first.
///
/// # Errors
/// As [`read`].
pub fn tail<P: AsRef<Path>>(files: &[P], count: usize) -> Result<Vec<Line>, AuditError> {
    let mut lines = Vec::new();
    for file in files.iter().rev() {
        let mut more: Vec<Line> = read(file.as_ref())?.collect();
        more.append(&mut lines);
        lines = more;
        if lines.len() >= count {
            break;
        }
    }
    lines.drain(..lines.len().saturating_sub(count));
    Ok(lines)
}

/// The lines of a file with their numbers.
#[expect(
    clippy::disallowed_methods,
    reason = "the log is the host's own file, not a skill's"
)]
pub(crate) fn records(
    path: &Path,
) -> Result<impl Iterator<Item = (usize, Option<Record>)> + use<>, AuditError> {
    let file = File::open(path).map_err(|error| AuditError::io(path, error))?;
    let mut reader = BufReader::new(file);
    let mut has_failed = false;
    let lines = std::iter::from_fn(move || {
        // What cannot be read once is not tried again and again.
        if has_failed {
            None
        } else {
            next_line(&mut reader, &mut has_failed)
        }
    });
    let numbered = (1..)
        .zip(lines)
        .filter(|(_, line)| !line.as_ref().is_some_and(Vec::is_empty));
    Ok(numbered.map(|(number, line)| (number, line.and_then(|line| Record::parse(&line)))))
}

/// The next line without its end; nothing inside for one that is too long or cannot be read.
fn next_line(reader: &mut BufReader<File>, has_failed: &mut bool) -> Option<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut is_long = false;
    loop {
        let Ok(buffer) = reader.fill_buf() else {
            *has_failed = true;
            return Some(None);
        };
        if buffer.is_empty() {
            return if line.is_empty() && !is_long {
                None
            } else {
                Some((!is_long).then_some(line))
            };
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let taken = end.unwrap_or(buffer.len());
        is_long |= line.len() + taken > MAX_LINE_BYTES;
        if !is_long {
            line.extend_from_slice(&buffer[..taken]);
        }
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Some((!is_long).then_some(line));
        }
    }
}
