//! The error of the lenient parser: the file is not a usable `SKILL.md`.

use crate::invisible::escape_invisible;
use crate::{MAX_FRONTMATTER_BYTES, Position, Warning};

/// An error that prevents a `SKILL.md` from loading.
///
/// The message is one line in lowercase without the path, which the caller knows;
/// [`line`](Self::line) and [`column`](Self::column) give the position and [`kind`](Self::kind) the
/// class. [`warnings`](Self::warnings) are the problems found before the error.
#[derive(Debug, thiserror::Error)]
#[error("{repr}")]
pub struct ManifestError {
    // Boxed, so that the results of all parsers stay small.
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

    /// Returns the warnings that were collected before the error.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ManifestErrorKind {
        match &*self.repr {
            Repr::Empty => ManifestErrorKind::Empty,
            Repr::Utf16 | Repr::InvalidUtf8 { .. } => ManifestErrorKind::Encoding,
            Repr::MissingFrontmatter { .. }
            | Repr::SymlinkAsText { .. }
            | Repr::DelimiterRejected { .. } => ManifestErrorKind::FrontmatterMissing,
            Repr::UnclosedFrontmatter { .. } => ManifestErrorKind::FrontmatterUnclosed,
            Repr::Yaml { .. } => ManifestErrorKind::Yaml,
            Repr::KeyNotScalar { .. } => ManifestErrorKind::YamlKey,
            Repr::BudgetExceeded { .. } => ManifestErrorKind::YamlBudget,
            Repr::DuplicateKey { .. } => ManifestErrorKind::DuplicateKey,
            Repr::NulCharacter { .. } => ManifestErrorKind::Encoding,
            Repr::NotMapping { .. } => ManifestErrorKind::NotMapping,
            Repr::MissingDescription { .. } => ManifestErrorKind::DescriptionMissing,
            Repr::NameRejected { .. } => ManifestErrorKind::NameRejected,
        }
    }

    /// Returns the line of the file that the error refers to, counted from 1.
    ///
    /// It is `None` for errors about the whole file.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &*self.repr {
            Repr::Empty | Repr::Utf16 => None,
            Repr::InvalidUtf8 { line, .. }
            | Repr::MissingFrontmatter { line }
            | Repr::SymlinkAsText { line }
            | Repr::DelimiterRejected { line }
            | Repr::NameRejected { line, .. }
            | Repr::UnclosedFrontmatter { line }
            | Repr::NotMapping { line, .. }
            | Repr::BudgetExceeded { line, .. }
            | Repr::DuplicateKey { line, .. }
            | Repr::NulCharacter { line }
            | Repr::MissingDescription { line, .. } => Some(*line),
            Repr::Yaml { at, .. } | Repr::KeyNotScalar { at, .. } => Some(at.line),
        }
    }

    /// Returns the column, counted from 1 in characters, or `None` if it is not known.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match &*self.repr {
            Repr::Yaml { at, .. } | Repr::KeyNotScalar { at, .. } => Some(at.column),
            _ => None,
        }
    }
}

/// The classes of [`ManifestError`].
///
/// A caller can branch on them without parsing messages; [`code`](Self::code) is their stable name
/// in JSON output and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ManifestErrorKind {
    /// The file contains nothing but white space.
    Empty,
    /// The file is not UTF-8, or its frontmatter contains NUL.
    Encoding,
    /// The file starts neither with a `---` line nor with a field.
    FrontmatterMissing,
    /// No closing `---` line within [`MAX_FRONTMATTER_BYTES`].
    FrontmatterUnclosed,
    /// The frontmatter is not valid YAML, and no description could be recovered from it.
    Yaml,
    /// A key of a mapping is itself a mapping or a list, and no description could be recovered.
    YamlKey,
    /// The frontmatter exceeds the limits of nesting, brackets or aliases.
    YamlBudget,
    /// `name`, `description` or a restriction occurs twice, so that parsers would disagree.
    DuplicateKey,
    /// The frontmatter is YAML but not a mapping.
    NotMapping,
    /// `description` is missing or has no visible characters.
    DescriptionMissing,
    /// The rules of a client reject `name` ([`NameRule`](crate::NameRule)).
    NameRejected,
}

impl ManifestErrorKind {
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
            Self::NameRejected => "name-rejected",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("the file is empty; a skill starts with a `---` line, `name:` and `description:`")]
    Empty,
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("invalid UTF-8 at byte {offset}; save the file as UTF-8")]
    InvalidUtf8 { offset: usize, line: usize },
    #[error("missing frontmatter: the first line must be `---`")]
    MissingFrontmatter { line: usize },
    /// What git writes for a symlink on a system without symlinks.
    #[error("missing frontmatter: the file is the path of a symlink; replace it with its target")]
    SymlinkAsText { line: usize },
    #[error("the client accepts only `---` as delimiter, from the first line")]
    DelimiterRejected { line: usize },
    #[error("the client rejects `name`: {problem}")]
    NameRejected { problem: &'static str, line: usize },
    #[error("missing closing `---` in the first {MAX_FRONTMATTER_BYTES} bytes")]
    UnclosedFrontmatter { line: usize },
    #[error("invalid YAML in frontmatter: {message}")]
    Yaml { message: String, at: Position },
    #[error("invalid key in frontmatter: expected text, found {found}")]
    KeyNotScalar { found: &'static str, at: Position },
    #[error("the frontmatter exceeds a limit of the parser: {message}")]
    BudgetExceeded { message: String, line: usize },
    #[error("duplicate field `{}`; remove one", escape_invisible(key))]
    DuplicateKey { key: String, line: usize },
    #[error("the frontmatter contains the character NUL; save the file as text")]
    NulCharacter { line: usize },
    #[error("invalid type for the frontmatter: expected a mapping, found {found}")]
    NotMapping { found: &'static str, line: usize },
    #[error("{}: say what the skill does and when to use it", found.text())]
    MissingDescription {
        line: usize,
        found: FoundDescription,
    },
}

/// What a file has in place of a description.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FoundDescription {
    Nothing,
    /// `description: # text`: the text is a comment.
    Comment,
    /// The placeholder of a template, which tells its author what to write.
    Placeholder,
}

impl FoundDescription {
    fn text(self) -> &'static str {
        match self {
            Self::Nothing => "missing field `description`",
            Self::Comment => "`description` is only a comment, since `#` starts one",
            Self::Placeholder => "`description` is still the placeholder of a template",
        }
    }
}
