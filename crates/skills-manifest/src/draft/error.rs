//! The error of a draft.

use super::name::NameViolation;

/// An error of a [`Draft`](crate::Draft): a part of it is invalid.
///
/// The message is one short line in lowercase with a remedy, written for the model or person that
/// wrote the draft. It repeats at most one character or the start of a key of the rejected text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DraftError(Repr);

impl From<Repr> for DraftError {
    fn from(repr: Repr) -> Self {
        Self(repr)
    }
}

impl DraftError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> DraftErrorKind {
        match self.0 {
            Repr::Name(_) => DraftErrorKind::Name,
            Repr::Blank { .. } | Repr::BlankKey => DraftErrorKind::Blank,
            Repr::TooManyCharacters { .. }
            | Repr::TooManyBytes { .. }
            | Repr::TooManyEntries { .. } => DraftErrorKind::TooLong,
            Repr::MultiLine { .. } => DraftErrorKind::MultiLine,
            Repr::Invisible { .. } => DraftErrorKind::Invisible,
            Repr::DuplicateKey { .. } | Repr::ReservedKey { .. } => DraftErrorKind::MetadataKey,
            Repr::LeadingDelimiter => DraftErrorKind::Frontmatter,
        }
    }

    /// Returns the invalid part of the draft: `name`, `description`, `license`, `metadata`,
    /// `instructions`, or `frontmatter` if all fields together are too long.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self.0 {
            Repr::Name(_) => "name",
            Repr::Blank { field }
            | Repr::TooManyCharacters { field, .. }
            | Repr::TooManyBytes { field, .. }
            | Repr::MultiLine { field } => field,
            Repr::Invisible { field, .. } => field,
            Repr::BlankKey
            | Repr::TooManyEntries { .. }
            | Repr::DuplicateKey { .. }
            | Repr::ReservedKey { .. } => "metadata",
            Repr::LeadingDelimiter => "instructions",
        }
    }

    /// Returns a valid name that is close to the rejected one, if there is an obvious one.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        match &self.0 {
            Repr::Name(violation) => violation.nearest.as_deref(),
            _ => None,
        }
    }
}

/// The classes of [`DraftError`].
///
/// A program can branch on them; [`code`](Self::code) is their stable name in JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DraftErrorKind {
    /// The name violates a rule.
    Name,
    /// A required text is empty or blank.
    Blank,
    /// A text has too many characters or bytes, or the metadata has too many entries.
    TooLong,
    /// A text of one line contains a line end.
    MultiLine,
    /// A text contains an invisible character.
    Invisible,
    /// A key of the metadata is a duplicate or reserved.
    MetadataKey,
    /// The instructions start with a frontmatter delimiter.
    Frontmatter,
}

impl DraftErrorKind {
    /// Returns the stable code of this class, as JSON output and logs show it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Blank => "blank",
            Self::TooLong => "too-long",
            Self::MultiLine => "many-lines",
            Self::Invisible => "hidden-unicode",
            Self::MetadataKey => "metadata-key",
            Self::Frontmatter => "frontmatter",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Repr {
    #[error("`name` {}{}", .0.rule, hint(.0.nearest.as_deref()))]
    Name(NameViolation),
    #[error("{} is blank; {}", part(field), remedy(field))]
    Blank { field: &'static str },
    #[error("a key of `metadata` is blank; name the value")]
    BlankKey,
    #[error("{} is {actual} characters, limit {limit}; shorten it", part(field))]
    TooManyCharacters {
        field: &'static str,
        actual: usize,
        limit: usize,
    },
    #[error("{} is {actual} bytes, limit {limit}; shorten it", part(field))]
    TooManyBytes {
        field: &'static str,
        actual: usize,
        limit: usize,
    },
    #[error("`metadata` has more than {limit} entries; remove some")]
    TooManyEntries { limit: usize },
    #[error("{} has several lines; write it on one line", part(field))]
    MultiLine { field: &'static str },
    #[error(
        "{} contains the invisible character U+{code_point:04X}; remove it",
        part(field)
    )]
    Invisible {
        field: &'static str,
        code_point: u32,
    },
    #[error("duplicate key `{key}` in `metadata`; remove one")]
    DuplicateKey { key: String },
    #[error("reserved metadata key `{key}`; choose another")]
    ReservedKey { key: &'static str },
    #[error("`instructions` starts with `---`; omit the frontmatter, it is generated")]
    LeadingDelimiter,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns the invalid part for a message; of metadata, this is a key or a value.
fn part(field: &str) -> String {
    if field == "metadata" {
        "a key or value of `metadata`".to_owned()
    } else {
        format!("`{field}`")
    }
}

fn remedy(field: &str) -> &'static str {
    match field {
        "description" => "say what the skill does and when to use it",
        _ => "omit it or fill it in",
    }
}
