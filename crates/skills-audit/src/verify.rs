//! Holds a log against its hashes.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::AuditError;
use crate::reader::records;
use crate::record::{GENESIS_HASH, Record};

/// What holding a log against its hashes came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// How many records there are.
    pub records: u64,
    /// The hash of the last one; kept elsewhere it also shows when the end was cut.
    pub last_hash: Option<String>,
    /// The number of the first record; more than 1 when older files were thrown away.
    pub first_sequence: Option<u64>,
    /// How many records follow the one whose hash was kept elsewhere; nothing when it is not there,
    /// because the end was cut or rewritten.
    pub records_since: Option<u64>,
    /// What is wrong, in the order of the log.
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A line that is no record; a crash leaves one, at most.
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// A record whose content is not what its hash says: it was edited.
    HashMismatch {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The record's number.
        sequence: u64,
    },
    /// A record that does not follow from the one before: something was cut, put in or moved.
    BrokenChain {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The record's number.
        sequence: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { file, line } => {
                write!(f, "{}:{line}: no record: torn or edited", file.display())
            }
            Self::HashMismatch {
                file,
                line,
                sequence,
            } => write!(f, "{}:{line}: record {sequence} was edited", file.display()),
            Self::BrokenChain {
                file,
                line,
                sequence,
            } => {
                write!(
                    f,
                    "{}:{line}: record {sequence} does not follow from the one before: something was cut or put in",
                    file.display()
                )
            }
        }
    }
}

/// Holds the files of a log, oldest first, against their hashes.
///
/// # Errors
/// When a file cannot be opened.
pub fn verify<P: AsRef<Path>>(files: &[P]) -> Result<VerifyReport, AuditError> {
    verify_since(files, None)
}

/// Holds the files of a log against their hashes, and counts the records
/// [`since`](VerifyReport::records_since) the one with a hash that was kept elsewhere.
///
/// # Errors
/// As [`verify`].
pub fn verify_since<P: AsRef<Path>>(
    files: &[P],
    since: Option<&str>,
) -> Result<VerifyReport, AuditError> {
    let mut verified = VerifyReport::default();
    let mut last: Option<(u64, String)> = None;
    for file in files {
        for (line, link) in records(file.as_ref())? {
            let file = file.as_ref().to_owned();
            let Some(link) = link else {
                verified.problems.push(Problem::Malformed { file, line });
                continue;
            };
            let sequence = link.sequence;
            if !link.hash_matches {
                verified.problems.push(Problem::HashMismatch {
                    file: file.clone(),
                    line,
                    sequence,
                });
            }
            if !follows(&link, last.as_ref()) {
                verified.problems.push(Problem::BrokenChain {
                    file,
                    line,
                    sequence,
                });
            }
            verified.records += 1;
            if since.is_some_and(|since| since == link.hash) {
                verified.records_since = Some(0);
            } else if let Some(count) = &mut verified.records_since {
                *count += 1;
            }
            verified.first_sequence = verified.first_sequence.or(Some(sequence));
            last = Some((sequence, link.hash));
        }
    }
    verified.last_hash = last.map(|(_, hash)| hash);
    Ok(verified)
}

/// The first record of the files may follow from one that was thrown away.
fn follows(link: &Record, last: Option<&(u64, String)>) -> bool {
    match last {
        Some((sequence, hash)) => {
            Some(link.sequence) == sequence.checked_add(1) && link.previous == *hash
        }
        None => link.sequence > 1 || link.previous == GENESIS_HASH,
    }
}
