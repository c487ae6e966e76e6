//! What is wrong with a skill that loads all the same.

use std::fmt;

use crate::{NameError, NameProblem};

/// One thing that is wrong with a `SKILL.md` that loads all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    kind: WarningKind,
    line: Option<usize>,
}

impl Warning {
    pub(crate) fn new(kind: WarningKind, line: Option<usize>) -> Self {
        Self { kind, line }
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn kind(&self) -> &WarningKind {
        &self.kind
    }

    /// Returns the line of the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.kind.fmt(f)
    }
}

/// The classes of [`Warning`], with the facts of each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The file starts with a byte order mark, which was skipped.
    ByteOrderMark,
    /// Blank lines stand before the opening fence.
    BlankBeforeFence,
    /// `name` is no usable name; it was dropped and the directory's name serves.
    NameUnusable(NameError),
    /// `name` works but breaks a rule of the specification.
    NameRule(NameProblem),
    /// A value longer than the specification allows; kept whole.
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in characters.
        characters: usize,
        /// The most that the specification allows.
        limit: usize,
    },
    /// A field has a type that cannot be read; it was dropped, and its most restrictive reading holds.
    WrongType {
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A field should be text but is another scalar, which was read as text.
    NotText {
        /// The field.
        field: &'static str,
    },
    /// `context` has a value that no client knows; dropped.
    UnknownContext(String),
    /// An entry of `allowed-tools` could not be read; dropped, it grants nothing.
    ToolUnreadable(String),
}

impl WarningKind {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte-order-mark",
            Self::BlankBeforeFence => "blank-before-fence",
            Self::NameUnusable(_) => "name-unusable",
            Self::NameRule(_) => "name-rule",
            Self::TooLong { .. } => "too-long",
            Self::WrongType { .. } => "wrong-type",
            Self::NotText { .. } => "not-text",
            Self::UnknownContext(_) => "unknown-context",
            Self::ToolUnreadable(_) => "tool-unreadable",
        }
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("byte order mark skipped; save the file without one"),
            Self::BlankBeforeFence => f.write_str("blank lines before the first `---`; other clients refuse them"),
            Self::NameUnusable(error) => write!(f, "name dropped: {error}"),
            Self::NameRule(problem) => write!(f, "name {problem}"),
            Self::TooLong { field, characters, limit } => {
                write!(f, "`{field}` has {characters} characters, the specification allows {limit}")
            }
            Self::WrongType { field, expected, found } => {
                write!(f, "`{field}` dropped: expected {expected}, found {found}")
            }
            Self::NotText { field } => write!(f, "`{field}` is not text; put it in quotes"),
            Self::UnknownContext(value) => write!(f, "`context` dropped: {value:?} is not `fork`"),
            Self::ToolUnreadable(text) => write!(f, "`allowed-tools` entry dropped: {text:?}"),
        }
    }
}
