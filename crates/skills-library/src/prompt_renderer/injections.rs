//! The results of injecting skills.

use skills_prompt::{Activation, Injection};

/// Injections of the skills that a user mentioned.
///
/// Returned by [`PromptRenderer::inject_selected`](crate::PromptRenderer::inject_selected). Each selected skill is in exactly one of the
/// lists, except that a truncated one is additionally in the warnings. An unreadable skill does not
/// prevent the injection of the others.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Injections {
    /// One injection per skill that could be read, in the order of selection. Insert them before
    /// the user's message.
    pub injected: Vec<Injection>,
    /// Names of the skills with text that is already in the conversation.
    pub already_active: Vec<String>,
    /// Warnings for the user: skills that could not be read, and truncated texts. The wording is
    /// that of Codex.
    pub warnings: Vec<String>,
}

/// Result of activating a skill.
///
/// Returned by [`PromptRenderer::activate`](crate::PromptRenderer::activate). The text is always safe to add to the conversation:
/// for a skill that is already there it is a single line that says so, which saves context.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ActivationResult {
    /// Whether the text is new in the conversation, unchanged or updated.
    pub activation: Activation,
    /// Text for the model: the skill's text, or one line if it is already in the conversation.
    pub injected: Injection,
}
