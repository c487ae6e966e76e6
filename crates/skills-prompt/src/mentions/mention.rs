//! A mention and its resolution.

use std::fmt;
use std::ops::Range;

use skills_discovery::{Entry, InactiveEntry};

/// The mentions in user input, and the skills that they select.
///
/// [`selected`](Self::selected) is what a session should activate; [`all`](Self::all) explains each
/// mention, including suggestions that need a question to the user.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Mentions<'a> {
    /// The selected skills, each once: first those of structured input, then text by text those of
    /// links, of `$name` and of phrases; within one of these in the order of the catalog (Codex).
    pub selected: Vec<&'a Entry>,
    /// All mentions with their resolutions, in the order of the input.
    pub all: Vec<Mention<'a>>,
}

/// A mention of a skill in user input, with its resolution.
///
/// Mentions that select nothing are included, so that a client can show the user why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mention<'a> {
    /// The index of the input that contains it.
    pub input: usize,
    /// The byte range in the text; empty for structured input.
    pub span: Range<usize>,
    /// The name as written in the input.
    pub name: String,
    /// The syntax of the mention.
    pub kind: MentionKind,
    /// How likely it is that the user wants the skill to be used.
    pub confidence: Confidence,
    /// What the mention resolved to.
    pub resolution: Resolution<'a>,
}

/// The syntax of a mention.
///
/// The kind decides how a mention is resolved: structured input and links by path, the others by
/// name. It also bounds the confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MentionKind {
    /// Selected in a user interface.
    Structured,
    /// `[$name](path)`.
    Link,
    /// `$name`.
    Sigil,
    /// `/name` or `@name` at the start of a text.
    Command,
    /// A phrase: "use the X skill", 「用 X 技能」.
    Phrase,
}

/// How likely it is that the user wants a skill to be used, in ascending order.
///
/// [`MentionOptions::phrases`](crate::MentionOptions::phrases) sets the minimum at which a phrase
/// selects its skill; below it the skill is only suggested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// The text may be about something else.
    Low,
    /// A verb and a distinctive name (several words, or a digit), without the word "skill".
    Medium,
    /// A verb, the name and the word "skill"; or `$name`, `/name`.
    High,
    /// A selection in a user interface, or a link to the file.
    Certain,
}

/// How a mention was resolved.
///
/// Only [`Selected`](Self::Selected) is used without asking. `Display` describes the resolution
/// for users, [`code`](Self::code) for programs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Resolution<'a> {
    /// The skill is used.
    Selected(&'a Entry),
    /// The skill may be meant; it must not be used without asking the user.
    Suggested(&'a Entry, SuggestionReason),
    /// Several skills have the name; only a path selects one.
    Ambiguous(Vec<&'a Entry>),
    /// No skill has the name or the path; [`MentionIndex::nearest`](crate::MentionIndex::nearest)
    /// returns similar names.
    Unknown,
    /// The skill is inactive: disabled, untrusted, for other products, or shadowed.
    Inactive(&'a InactiveEntry),
    /// The listing mode of the skill is [`Off`](crate::ListingMode::Off).
    Off(&'a Entry),
    /// The skill sets `user-invocable: false`.
    NotUserInvocable(&'a Entry),
    /// A connector has the same name; only a path selects the skill.
    ConnectorConflict(&'a Entry),
    /// A structured choice or a link already determines what this name means.
    Superseded,
}

/// Why a phrase only suggests a skill.
///
/// If several reasons apply, negation and reported speech take precedence over common words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuggestionReason {
    /// The phrase is negated.
    Negated,
    /// The phrase is a question about the skill.
    Question,
    /// The phrase has a condition or another subject, so it does not ask for the skill now.
    Conditional,
    /// The phrase is inside a quotation or reported speech.
    Quoted,
    /// The name is a common word, and the word "skill" is missing.
    CommonWord,
    /// The name only looks like that of the skill: other scripts, invisible characters.
    Confusable,
}

impl<'a> Resolution<'a> {
    /// Returns the stable code of the resolution, as in JSON output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Selected(_) => "selected",
            Self::Suggested(..) => "suggested",
            Self::Ambiguous(_) => "ambiguous",
            Self::Unknown => "unknown",
            Self::Inactive(inactive) => inactive.reason().code(),
            Self::Off(_) => "off",
            Self::NotUserInvocable(_) => "not-user-invocable",
            Self::ConnectorConflict(_) => "connector-conflict",
            Self::Superseded => "superseded",
        }
    }

    /// Returns the skill if the mention selects it.
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
            Self::Suggested(entry, reason) => {
                write!(f, "suggested: {reason} (skill `{}`)", entry.name())
            }
            Self::Ambiguous(entries) => write!(
                f,
                "ambiguous: {} skills have this name; use a path",
                entries.len()
            ),
            Self::Unknown => f.write_str("unknown skill"),
            Self::Inactive(inactive) => write!(f, "inactive: {}", inactive.reason()),
            Self::Off(_) => f.write_str("disabled by its listing mode"),
            Self::NotUserInvocable(_) => {
                f.write_str("not user-invocable: `user-invocable` is false")
            }
            Self::ConnectorConflict(_) => {
                f.write_str("conflict: a connector has this name; use the path of the skill")
            }
            Self::Superseded => f.write_str("superseded by a link or selection of the same name"),
        }
    }
}

impl fmt::Display for SuggestionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Negated => "inside a negation",
            Self::Question => "inside a question",
            Self::Conditional => "not a direct request",
            Self::Quoted => "inside a quotation",
            Self::CommonWord => "may not mean a skill",
            Self::Confusable => "the name only looks the same",
        })
    }
}

impl SuggestionReason {
    /// Returns the reason as one lowercase word, which is stable.
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
    /// Returns the kind as one lowercase word, which is stable.
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
    /// Returns the confidence as one lowercase word, which is stable.
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
