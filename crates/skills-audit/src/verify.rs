//! Holds a log against its hashes.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::AuditError;
use crate::chain::{Link, START};
use crate::read::links;

/// What holding a log against its hashes came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// The hash of the last one; kept elsewhere it also shows when the end was cut.
    pub last_hash: Option<String>,
    /// The number of the first record; more than 1 when older files were thrown away.
    pub first_sequence: Option<u64>,
    /// How many records follow the one whose hash was kept elsewhere; nothing when it is not there, because the end was cut or rewritten.
    pub since: Option<u64>,
    /// What is wrong, in the order of the log.
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A line that is no record; a crash leaves one, at most.
    Broken {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// A record whose content is not what its hash says: it was edited.
    Edited {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The record's number.
        sequence: u64,
    },
    /// A record that does not follow from the one before: something was cut, put in or moved.
    Unlinked {
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
            Self::Broken { file, line } => write!(f, "{}:{line}: no record: torn or edited", file.display()),
            Self::Edited { file, line, sequence } => write!(f, "{}:{line}: record {sequence} was edited", file.display()),
            Self::Unlinked { file, line, sequence } => {
                write!(f, "{}:{line}: record {sequence} does not follow from the one before: something was cut or put in", file.display())
            }
        }
    }
}

/// Holds the files of a log, oldest first, against their hashes.
///
/// # Errors
/// When a file cannot be opened.
pub fn verify<P: AsRef<Path>>(files: &[P]) -> Result<Verified, AuditError> {
    verify_since(files, None)
}

/// Holds the files of a log against their hashes, and counts the records [`since`](Verified::since) the one with a hash that was kept elsewhere.
///
/// # Errors
/// As [`verify`].
pub fn verify_since<P: AsRef<Path>>(files: &[P], since: Option<&str>) -> Result<Verified, AuditError> {
    let mut verified = Verified::default();
    let mut last: Option<(u64, String)> = None;
    for file in files {
        for (line, link) in links(file.as_ref())? {
            let file = file.as_ref().to_owned();
            let Some(link) = link else {
                verified.problems.push(Problem::Broken { file, line });
                continue;
            };
            let sequence = link.sequence;
            if !link.is_whole {
                verified.problems.push(Problem::Edited { file: file.clone(), line, sequence });
            }
            if !follows(&link, last.as_ref()) {
                verified.problems.push(Problem::Unlinked { file, line, sequence });
            }
            verified.records += 1;
            if since.is_some_and(|since| since == link.hash) {
                verified.since = Some(0);
            } else if let Some(count) = &mut verified.since {
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
fn follows(link: &Link, last: Option<&(u64, String)>) -> bool {
    match last {
        Some((sequence, hash)) => Some(link.sequence) == sequence.checked_add(1) && link.previous == *hash,
        None => link.sequence > 1 || link.previous == START,
    }
}
