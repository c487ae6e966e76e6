//! Mentions of a turn, as data that outlives the catalog.

use std::ops::Range;
use std::path::PathBuf;

use skills_discovery::Entry;
use skills_prompt::{Confidence, Mention, MentionKind, Resolution};

/// A mention of a skill in the input of a turn, with what was decided about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnMention {
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
    /// What happens with the skill in this turn.
    pub decision: MentionDecision,
    /// The stable code of the resolution: [`Resolution::code`].
    pub resolution: &'static str,
    /// The resolution in words.
    pub message: String,
    /// The paths of the `SKILL.md` files that can be meant: one, several for an ambiguous mention,
    /// none for an unknown one.
    pub paths: Vec<PathBuf>,
}

/// What happens with a mentioned skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MentionDecision {
    /// Its text is injected.
    Selected,
    /// It may be meant; it is not used before the user was asked.
    Suggested,
    /// Nothing happens.
    Ignored,
}

impl TurnMention {
    pub(super) fn new(mention: &Mention<'_>) -> Self {
        let resolution = &mention.resolution;
        Self {
            input: mention.input,
            span: mention.span.clone(),
            name: mention.name.clone(),
            kind: mention.kind,
            confidence: mention.confidence,
            decision: match resolution {
                Resolution::Selected(_) => MentionDecision::Selected,
                Resolution::Suggested(..) => MentionDecision::Suggested,
                _ => MentionDecision::Ignored,
            },
            resolution: resolution.code(),
            message: resolution.to_string(),
            paths: candidates(resolution),
        }
    }
}

impl MentionDecision {
    /// Returns the decision as one lowercase word, which is stable.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::Suggested => "suggested",
            Self::Ignored => "ignored",
        }
    }
}

fn candidates(resolution: &Resolution<'_>) -> Vec<PathBuf> {
    match resolution {
        Resolution::Selected(entry)
        | Resolution::Suggested(entry, _)
        | Resolution::Off(entry)
        | Resolution::NotUserInvocable(entry)
        | Resolution::ConnectorConflict(entry) => vec![entry.location()],
        Resolution::Ambiguous(entries) => entries.iter().map(|entry| entry.location()).collect(),
        Resolution::Inactive(inactive) => vec![Entry::location(inactive.entry())],
        _ => Vec::new(),
    }
}
