//! Why a draft is not taken.

use super::name::NameRule;

/// Says what is wrong with a part of a [`Draft`](crate::Draft) and what to do about it.
///
/// The message is one short lower-case sentence; of what was refused it repeats at most a character or the
/// beginning of a key.
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
            Repr::Characters { .. } | Repr::Bytes { .. } | Repr::Entries { .. } => DraftErrorKind::TooLong,
            Repr::Lines { .. } => DraftErrorKind::ManyLines,
            Repr::Hidden { .. } => DraftErrorKind::Hidden,
            Repr::Repeated { .. } | Repr::Reserved { .. } => DraftErrorKind::Key,
            Repr::Fence => DraftErrorKind::Frontmatter,
        }
    }

    /// Returns the part of the draft that it is about: `name`, `description`, `license`, `metadata`, `instructions`, or `frontmatter` when all
    /// fields together are too long.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self.0 {
            Repr::Name { .. } => "name",
            Repr::Blank { field } | Repr::Characters { field, .. } | Repr::Bytes { field, .. } | Repr::Lines { field } => field,
            Repr::Hidden { field, .. } => field,
            Repr::BlankKey | Repr::Entries { .. } | Repr::Repeated { .. } | Repr::Reserved { .. } => "metadata",
            Repr::Fence => "instructions",
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
    ManyLines,
    /// A text holds a character that people do not see.
    Hidden,
    /// A key of the metadata stands twice, or clients read more than text from it.
    Key,
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
            Self::ManyLines => "many-lines",
            Self::Hidden => "hidden-unicode",
            Self::Key => "metadata-key",
            Self::Frontmatter => "frontmatter",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Repr {
    #[error("`name` {rule}{}", hint(nearest.as_deref()))]
    Name { rule: NameRule, nearest: Option<String> },
    #[error("{} is blank; {}", part(field), remedy(field))]
    Blank { field: &'static str },
    #[error("a key of `metadata` is blank; say what the value is")]
    BlankKey,
    #[error("{} has {actual} characters, at most {limit} are allowed; shorten it", part(field))]
    Characters { field: &'static str, actual: usize, limit: usize },
    #[error("{} has {actual} bytes, at most {limit} are allowed; shorten it", part(field))]
    Bytes { field: &'static str, actual: usize, limit: usize },
    #[error("`metadata` has more than {limit} entries; remove some")]
    Entries { limit: usize },
    #[error("{} has several lines; write it on one line", part(field))]
    Lines { field: &'static str },
    #[error("{} holds the invisible character U+{code_point:04X}; remove it", part(field))]
    Hidden { field: &'static str, code_point: u32 },
    #[error("the key {key:?} of `metadata` stands twice; remove one")]
    Repeated { key: String },
    #[error("clients read more than text from the key {key:?} of `metadata`; choose another")]
    Reserved { key: &'static str },
    #[error("`instructions` begins with `---`; leave the frontmatter out, it is written for you")]
    Fence,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; `{name}` would do"))
}

/// Says where the mistake is; of metadata it is a key or a value.
fn part(field: &str) -> String {
    if field == "metadata" { "a key or value of `metadata`".to_owned() } else { format!("`{field}`") }
}

fn remedy(field: &str) -> &'static str {
    match field {
        "description" => "say what the skill does and when to use it",
        _ => "leave it out or fill it in",
    }
}
