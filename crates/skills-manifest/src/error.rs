//! The one error of this crate: a file from which no skill can be had.

use crate::{MAX_FRONTMATTER_BYTES, Position, Warning};

/// Says why a `SKILL.md` is no skill.
///
/// The message is one lower-case sentence without the path, which the caller knows;
/// [`line`](Self::line) says where to look.
#[derive(Debug, thiserror::Error)]
#[error("{repr}")]
pub struct ManifestError {
    repr: Box<Repr>,
    warnings: Vec<Warning>,
}

impl From<Repr> for ManifestError {
    fn from(repr: Repr) -> Self {
        Self {
            repr: Box::new(repr),
            warnings: Vec::new(),
        }
    }
}

impl ManifestError {
    pub(crate) fn with_warnings(mut self, warnings: Vec<Warning>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Returns what else is wrong with the file, as far as it was read.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &*self.repr {
            Repr::Empty => ErrorKind::Empty,
            Repr::Utf16 | Repr::InvalidUtf8 { .. } => ErrorKind::Encoding,
            Repr::MissingFrontmatter { .. } => ErrorKind::FrontmatterMissing,
            Repr::UnclosedFrontmatter { .. } => ErrorKind::FrontmatterUnclosed,
            Repr::Yaml { .. } => ErrorKind::Yaml,
            Repr::KeyNotScalar { .. } => ErrorKind::YamlKey,
            Repr::BudgetExceeded { .. } => ErrorKind::YamlBudget,
            Repr::DuplicateKey { .. } => ErrorKind::DuplicateKey,
            Repr::NulCharacter { .. } => ErrorKind::Encoding,
            Repr::NotMapping { .. } => ErrorKind::NotMapping,
            Repr::MissingDescription { .. } => ErrorKind::DescriptionMissing,
        }
    }

    /// Returns the line of the file, counted from 1, that the error speaks of.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &*self.repr {
            Repr::Empty | Repr::Utf16 => None,
            Repr::InvalidUtf8 { line, .. }
            | Repr::MissingFrontmatter { line }
            | Repr::UnclosedFrontmatter { line }
            | Repr::NotMapping { line, .. }
            | Repr::BudgetExceeded { line, .. }
            | Repr::DuplicateKey { line, .. }
            | Repr::NulCharacter { line }
            | Repr::MissingDescription { line } => Some(*line),
            Repr::Yaml { at, .. } | Repr::KeyNotScalar { at, .. } => Some(at.line),
        }
    }

    /// Returns the column, counted from 1 in characters, where it is known.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match &*self.repr {
            Repr::Yaml { at, .. } | Repr::KeyNotScalar { at, .. } => Some(at.column),
            _ => None,
        }
    }
}

/// The classes of [`ManifestError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file holds nothing but white space.
    Empty,
    /// The file is not UTF-8, or its frontmatter holds NUL.
    Encoding,
    /// The file does not begin with a `---` line.
    FrontmatterMissing,
    /// No closing `---` line within [`MAX_FRONTMATTER_BYTES`].
    FrontmatterUnclosed,
    /// The frontmatter is not YAML, and no description can be made out in it.
    Yaml,
    /// A key of a mapping is itself a mapping or a list, and no description can be made out.
    YamlKey,
    /// The frontmatter exceeds the bounds of nesting, brackets and aliases.
    YamlBudget,
    /// A key that decides something (the name, the description, a restriction) stands twice.
    DuplicateKey,
    /// The frontmatter is YAML but not a mapping.
    NotMapping,
    /// There is no `description`, or it is blank.
    DescriptionMissing,
}

impl ErrorKind {
    /// Returns the stable code of this class, as JSON output and logs show it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Encoding => "encoding",
            Self::FrontmatterMissing => "frontmatter-missing",
            Self::FrontmatterUnclosed => "frontmatter-unclosed",
            Self::Yaml => "yaml",
            Self::YamlKey => "yaml-key",
            Self::YamlBudget => "yaml-budget",
            Self::DuplicateKey => "duplicate-key",
            Self::NotMapping => "frontmatter-not-mapping",
            Self::DescriptionMissing => "description-missing",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("the file is empty; a skill starts with a `---` line, `name:` and `description:`")]
    Empty,
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("byte {offset} is not UTF-8; save the file as UTF-8")]
    InvalidUtf8 { offset: usize, line: usize },
    #[error("no frontmatter: the first line must be `---`")]
    MissingFrontmatter { line: usize },
    #[error("the frontmatter is not closed: no `---` line within {MAX_FRONTMATTER_BYTES} bytes")]
    UnclosedFrontmatter { line: usize },
    #[error("the frontmatter is not valid YAML: {message}")]
    Yaml { message: String, at: Position },
    #[error("a key in the frontmatter is {found}; write keys as text")]
    KeyNotScalar { found: &'static str, at: Position },
    #[error("the frontmatter is beyond the bounds of YAML that is read: {message}")]
    BudgetExceeded { message: String, line: usize },
    #[error("the key {key:?} stands twice; remove one")]
    DuplicateKey { key: String, line: usize },
    #[error("the frontmatter holds the character NUL; save the file as text")]
    NulCharacter { line: usize },
    #[error("the frontmatter must be a YAML mapping, found {found}")]
    NotMapping { found: &'static str, line: usize },
    #[error("missing field `description`: say what the skill does and when to use it")]
    MissingDescription { line: usize },
}
