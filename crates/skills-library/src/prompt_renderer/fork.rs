//! The prompt of a skill that runs in a sub-agent.

use serde::Serialize;
use skills_manifest::{ContextMode, ToolPattern};

use super::InjectionFormat;
use super::PromptRenderer;
use crate::error::LibraryError;
use crate::opened_skill::{find_entry, open_files, read_error};

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

impl PromptRenderer {
    /// Renders the prompt of a skill for a sub-agent; `None` if the skill does not declare
    /// `context: fork`. The request of the user is not substituted into the text of the skill.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    /// use skills_library::{Library, LibraryConfig, PromptRenderer};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("review"))?;
    /// # std::fs::write(directory.path().join("review/SKILL.md"), "---\nname: review\ndescription: Reviews code.\ncontext: fork\nagent: Explore\n---\nRead the diff.\n")?;
    /// // The frontmatter of the skill: `context: fork` and `agent: Explore`
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let library = Library::new(discovery, LibraryConfig::default());
    /// let renderer = PromptRenderer::new(library);
    /// let fork = renderer.fork("review", "the last commit", None)?.expect("it is a fork");
    /// assert_eq!(fork.agent.as_deref(), Some("Explore"));
    /// assert!(fork.prompt.contains("Read the diff."));
    /// assert!(fork.prompt.ends_with("Use the skill review: the last commit"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`inject`](Self::inject) with the fenced format.
    pub fn fork(
        &self,
        name: &str,
        request: &str,
        max_bytes: Option<usize>,
    ) -> Result<Option<ForkPrompt>, LibraryError> {
        let injection = self.inject(name, InjectionFormat::Fenced, max_bytes)?;
        let catalog = self.library.catalog();
        let entry = find_entry(&catalog, name)?;
        // The file and not the catalog, which can be older than the text.
        let document = open_files(entry)?
            .document()
            .map_err(|source| read_error(entry, source))?;
        let manifest = document.manifest();
        let extensions = manifest.extensions();
        if extensions.context != Some(ContextMode::Fork) {
            return Ok(None);
        }
        let skill = entry.name().to_string();
        let request = match request.trim() {
            "" => format!("Use the skill {skill}."),
            request => format!("Use the skill {skill}: {request}"),
        };
        let texts = |tools: &[ToolPattern]| tools.iter().map(ToString::to_string).collect();
        Ok(Some(ForkPrompt {
            agent: extensions.agent.clone(),
            model: extensions.model.clone(),
            effort: extensions.effort.clone(),
            background: extensions.background,
            allowed_tools: texts(manifest.allowed_tools()),
            disallowed_tools: texts(&extensions.disallowed_tools),
            prompt: format!("{}\n\n{request}", injection.text.trim_end_matches('\n')),
            is_truncated: injection.omitted.is_some(),
            skill,
        }))
    }
}
