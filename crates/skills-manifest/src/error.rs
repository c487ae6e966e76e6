//! The one error of this crate: a file from which no skill can be had.

use crate::MAX_FRONTMATTER_BYTES;

/// Says why a `SKILL.md` is no skill.
///
/// The message is one lower-case sentence without the path, which the caller knows; [`line`](Self::line) says where to look.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ManifestError(#[from] Repr);

impl ManifestError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Repr::Empty => ErrorKind::Empty,
            Repr::Utf16 | Repr::Utf8 { .. } => ErrorKind::Encoding,
            Repr::Missing { .. } => ErrorKind::FrontmatterMissing,
            Repr::Unclosed { .. } => ErrorKind::FrontmatterUnclosed,
            Repr::Yaml { .. } => ErrorKind::Yaml,
            Repr::NotMapping { .. } => ErrorKind::NotMapping,
            Repr::Description { .. } => ErrorKind::DescriptionMissing,
        }
    }

    /// Returns the line of the file, counted from 1, that the error speaks of.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &self.0 {
            Repr::Empty | Repr::Utf16 => None,
            Repr::Utf8 { line, .. }
            | Repr::Missing { line }
            | Repr::Unclosed { line }
            | Repr::NotMapping { line, .. }
            | Repr::Description { line } => Some(*line),
            Repr::Yaml { line, .. } => *line,
        }
    }
}

/// The classes of [`ManifestError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file holds nothing but white space.
    Empty,
    /// The file is not UTF-8.
    Encoding,
    /// The file does not begin with a `---` line.
    FrontmatterMissing,
    /// No closing `---` line within [`MAX_FRONTMATTER_BYTES`].
    FrontmatterUnclosed,
    /// The frontmatter is not YAML, or repeats a key, or exceeds the parser's nesting and alias bounds.
    Yaml,
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
    Utf8 { offset: usize, line: usize },
    #[error("no frontmatter: the first line must be `---`")]
    Missing { line: usize },
    #[error("the frontmatter is not closed: no `---` line within {MAX_FRONTMATTER_BYTES} bytes")]
    Unclosed { line: usize },
    #[error("the frontmatter is not valid YAML: {message}")]
    Yaml { message: String, line: Option<usize> },
    #[error("the frontmatter must be a YAML mapping, found {found}")]
    NotMapping { found: &'static str, line: usize },
    #[error("missing field `description`: say what the skill does and when to use it")]
    Description { line: usize },
}
