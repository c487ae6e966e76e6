//! What becomes of a mention.

use std::fmt;
use std::ops::Range;

use skills_discovery::{Entry, InactiveEntry, InactiveReason};

/// A place in the user's input that names a skill, and what becomes of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mention<'a> {
    /// Which of the inputs it stands in, counted from 0.
    pub input: usize,
    /// Where in the text, in bytes; empty for structured input.
    pub span: Range<usize>,
    /// The name as it is written.
    pub name: String,
    /// How the skill is named.
    pub kind: MentionKind,
    /// How sure it is that the user wants the skill used.
    pub confidence: Confidence,
    /// What becomes of it.
    pub resolution: Resolution<'a>,
}

/// How a skill is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MentionKind {
    /// Chosen in a user interface.
    Structured,
    /// `[$name](path)`.
    Link,
    /// `$name`.
    Sigil,
    /// `/name` at the start of a line, or `@name`.
    Command,
    /// In words: "use the X skill", 「用 X 技能」.
    Phrase,
}

/// How sure it is that the user wants a skill used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It may be about something else.
    Low,
    /// A verb and a name that is not said by chance, without the word "skill".
    Medium,
    /// A verb, the name and the word "skill"; or a sigil.
    High,
    /// A choice in a user interface, or a link to the file.
    Certain,
}

/// What becomes of a mention.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Resolution<'a> {
    /// The skill is to be used.
    Selected(&'a Entry),
    /// The skill may be meant; it is not to be used without asking.
    Suggested(&'a Entry, SuggestionReason),
    /// Several skills have the name; a path decides.
    Ambiguous(Vec<&'a Entry>),
    /// No skill has the name or lies at the path;
    /// [`MentionIndex::nearest`](crate::MentionIndex::nearest) has others to offer.
    Unknown,
    /// The skill is there and not used: disabled, untrusted, for other products, shadowed.
    Inactive(&'a InactiveEntry),
    /// The skill's mode is off.
    Disabled(&'a Entry),
    /// The skill says that users cannot call it (`user-invocable: false`).
    NotUserInvocable(&'a Entry),
    /// A connector has the same name; a path decides.
    ConnectorConflict(&'a Entry),
    /// Structured input or a link has decided already what this name means.
    Superseded,
}

/// Why a skill that is named in words is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuggestionReason {
    /// The user says not to.
    Negated,
    /// The user asks about it.
    Question,
    /// The sentence says when, or whether, or who.
    Conditional,
    /// Somebody else's words.
    Quoted,
    /// The name is an ordinary word, and nothing says that it is a skill.
    CommonWord,
    /// The name is written with characters that only look like its own.
    Confusable,
}

impl<'a> Resolution<'a> {
    /// Returns the stable code of the outcome, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Selected(_) => "selected",
            Self::Suggested(..) => "suggested",
            Self::Ambiguous(_) => "ambiguous",
            Self::Unknown => "unknown",
            Self::Inactive(inactive) => match inactive.reason() {
                InactiveReason::Untrusted => "blocked",
                reason => reason.code(),
            },
            Self::Disabled(_) => "off",
            Self::NotUserInvocable(_) => "not-for-users",
            Self::ConnectorConflict(_) => "connector-conflict",
            Self::Superseded => "settled",
        }
    }

    /// Returns the skill that is to be used.
    #[must_use]
    pub fn selected(&self) -> Option<&'a Entry> {
        match self {
            Self::Selected(entry) => Some(entry),
            _ => None,
        }
    }
}

impl fmt::Display for Resolution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selected(_) => f.write_str("selected"),
            Self::Suggested(entry, doubt) => {
                write!(f, "not used, {doubt}: the skill {}", entry.name())
            }
            Self::Ambiguous(entries) => write!(
                f,
                "ambiguous: {} skills have this name; name one by its path",
                entries.len()
            ),
            Self::Unknown => f.write_str("no skill has this name"),
            Self::Inactive(inactive) => write!(f, "not used: {}", inactive.reason()),
            Self::Disabled(_) => f.write_str("not used: its mode is off"),
            Self::NotUserInvocable(_) => {
                f.write_str("not used: the skill says that users cannot call it")
            }
            Self::ConnectorConflict(_) => {
                f.write_str("not used: a connector has the same name; name the skill by its path")
            }
            Self::Superseded => f.write_str("decided by a link or a choice of the same name"),
        }
    }
}

impl fmt::Display for SuggestionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Negated => "the text says not to",
            Self::Question => "the text asks about it",
            Self::Conditional => "the text speaks of when or who, not of now",
            Self::Quoted => "the text quotes it",
            Self::CommonWord => "nothing says that a skill is meant",
            Self::Confusable => "the name only looks like it",
        })
    }
}

impl SuggestionReason {
    /// Returns the doubt as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Negated => "negated",
            Self::Question => "question",
            Self::Conditional => "condition",
            Self::Quoted => "quoted",
            Self::CommonWord => "ordinary",
            Self::Confusable => "look-alike",
        }
    }
}

impl MentionKind {
    /// Returns the way as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Link => "link",
            Self::Sigil => "sigil",
            Self::Command => "command",
            Self::Phrase => "words",
        }
    }
}

impl Confidence {
    /// Returns the confidence as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Certain => "certain",
        }
    }
}
