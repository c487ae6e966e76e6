//! Finds the skills that user input mentions.

mod index;
mod input;
mod mention;
mod normalize;
mod phrase;
mod select;
mod sigils;

pub use index::MentionIndex;
pub use input::{MentionOptions, UserInput};
pub use mention::{Confidence, Mention, MentionKind, Mentions, Resolution, SuggestionReason};
