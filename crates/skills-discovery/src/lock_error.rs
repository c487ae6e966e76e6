//! What is wrong with a lock file.

/// The version of lock files that this crate reads. A file of any other version is an error.
pub const LOCK_VERSION: i64 = 1;

/// A lock file that cannot be read, with the line if it is known.
///
/// The message starts with the line. [`is_newer`](Self::is_newer) tells a file of a newer program
/// from a broken one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line_prefix(*.line))]
pub struct LockError {
    line: Option<usize>,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error(
        "version {found} of the lock file is newer than version {LOCK_VERSION}, which this program reads"
    )]
    Newer { found: i64 },
    #[error("the lock file has no valid version")]
    Version,
    #[error("{0}")]
    Syntax(String),
    #[error("`{0}` is not a content digest (`sha256:` and 64 hexadecimal digits)")]
    Digest(String),
    #[error("`{0}` cannot be the name of an installed skill")]
    Name(String),
    #[error("`{0}` is locked twice")]
    Duplicate(String),
    #[error("the source contains {0:?}")]
    SourceCharacter(char),
    #[error("the source is empty")]
    EmptySource,
    #[error("cannot read the lock file: {0}")]
    Io(String),
}

impl LockError {
    /// Returns true if a newer version of this program has written the file.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self.problem, Problem::Newer { .. })
    }

    /// Creates an error about the text from a byte offset.
    pub(crate) fn at(text: &str, offset: usize, problem: Problem) -> Self {
        Self {
            line: Some(line_at(text, offset)),
            problem,
        }
    }

    /// Creates an error about the whole file.
    pub(crate) fn without_line(problem: Problem) -> Self {
        Self {
            line: None,
            problem,
        }
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    before.iter().filter(|b| **b == b'\n').count() + 1
}

fn line_prefix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}
