//! The prompt of a skill that runs in a sub-agent.

use serde::Serialize;
use skills_manifest::{ContextMode, Manifest, ToolPattern};
use skills_prompt::Injection;

/// What a host application needs to run a skill with `context: fork` in a sub-agent.
///
/// The sub-agent starts with this prompt instead of the conversation, and only its final message
/// returns to the conversation. `agent` and `model` are wishes of the skill. The tools are its
/// declaration; a host application can restrict its agent by them, but must not extend it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ForkPrompt {
    /// The name of the skill.
    pub skill: String,
    /// `agent`: the kind of agent.
    pub agent: Option<String>,
    /// `model`: the preferred model, or `inherit`.
    pub model: Option<String>,
    /// `effort`: the reasoning effort of the model.
    pub effort: Option<String>,
    /// `background`: whether the conversation continues while the sub-agent runs.
    pub background: Option<bool>,
    /// `allowed-tools`, as written; empty for no restriction.
    pub allowed_tools: Vec<String>,
    /// `disallowed-tools`, as written.
    pub disallowed_tools: Vec<String>,
    /// The text of the skill, inside delimiters that it cannot close, and then the request.
    pub prompt: String,
    /// Whether the text of the skill is truncated; the text itself says what is omitted.
    pub is_truncated: bool,
}

impl ForkPrompt {
    /// Adds a request to the text of a skill; `None` if the skill does not declare `context: fork`.
    pub(super) fn new(
        skill: String,
        manifest: &Manifest,
        injection: &Injection,
        request: &str,
    ) -> Option<Self> {
        let extensions = manifest.extensions();
        if extensions.context != Some(ContextMode::Fork) {
            return None;
        }
        let request = match request.trim() {
            "" => format!("Use the skill {skill}."),
            request => format!("Use the skill {skill}: {request}"),
        };
        let texts = |tools: &[ToolPattern]| tools.iter().map(ToString::to_string).collect();
        Some(Self {
            agent: extensions.agent.clone(),
            model: extensions.model.clone(),
            effort: extensions.effort.clone(),
            background: extensions.background,
            allowed_tools: texts(manifest.allowed_tools()),
            disallowed_tools: texts(&extensions.disallowed_tools),
            prompt: format!("{}\n\n{request}", injection.text.trim_end_matches('\n')),
            is_truncated: injection.omitted.is_some(),
            skill,
        })
    }
}
