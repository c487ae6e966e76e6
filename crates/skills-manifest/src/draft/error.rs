//! Why a draft is not taken.

use super::name::NameRule;

/// Says what is wrong with a part of a [`Draft`](crate::Draft) and what to do about it.
///
/// The message is one short lower-case sentence; of what was refused it repeats at most a character
/// or the beginning of a key.
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
            Repr::Name { .. } => DraftErrorKind::Name,
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

    /// Returns the part of the draft that it is about: `name`, `description`, `license`,
    /// `metadata`, `instructions`, or `frontmatter` when all fields together are too long.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self.0 {
            Repr::Name { .. } => "name",
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

    /// Returns the nearest right name, where the name was refused and it is obvious what was meant.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        match &self.0 {
            Repr::Name { nearest, .. } => nearest.as_deref(),
            _ => None,
        }
    }
}

/// The classes of [`DraftError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DraftErrorKind {
    /// The name breaks a rule.
    Name,
    /// A text that must say something is empty or blank.
    Blank,
    /// A text has too many characters or bytes, or the metadata too many entries.
    TooLong,
    /// A text that must stand on one line holds a line end.
    MultiLine,
    /// A text holds a character that people do not see.
    Invisible,
    /// A key of the metadata stands twice, or clients read more than text from it.
    MetadataKey,
    /// The instructions begin like a frontmatter.
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
    #[error("`name` {rule}{}", hint(nearest.as_deref()))]
    Name {
        rule: NameRule,
        nearest: Option<String>,
    },
    #[error("{} is blank; {}", part(field), remedy(field))]
    Blank { field: &'static str },
    #[error("a key of `metadata` is blank; say what the value is")]
    BlankKey,
    #[error(
        "{} has {actual} characters, at most {limit} are allowed; shorten it",
        part(field)
    )]
    TooManyCharacters {
        field: &'static str,
        actual: usize,
        limit: usize,
    },
    #[error(
        "{} has {actual} bytes, at most {limit} are allowed; shorten it",
        part(field)
    )]
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
        "{} holds the invisible character U+{code_point:04X}; remove it",
        part(field)
    )]
    Invisible {
        field: &'static str,
        code_point: u32,
    },
    #[error("the key {key:?} of `metadata` stands twice; remove one")]
    DuplicateKey { key: String },
    #[error("clients read more than text from the key {key:?} of `metadata`; choose another")]
    ReservedKey { key: &'static str },
    #[error("`instructions` begins with `---`; leave the frontmatter out, it is written for you")]
    LeadingDelimiter,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; `{name}` would do"))
}

/// Says where the mistake is; of metadata it is a key or a value.
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
        _ => "leave it out or fill it in",
    }
}
