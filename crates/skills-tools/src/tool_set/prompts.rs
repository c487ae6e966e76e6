//! Text for a model outside of tool calls: skills that a user invokes, and the guide to the tools.

use super::ToolSet;
use crate::builtin::BuiltinTool;
use crate::guide::ScriptTools;
use crate::{RenderedPrompt, SkillPrompt, ToolError, ToolGroup, guide, user_prompt};

impl ToolSet {
    /// Returns the skills that a user may invoke by name, in the order of the catalog: active,
    /// user-invocable and with a unique name. The catalog is refreshed. Performs blocking I/O.
    #[must_use]
    pub fn prompts(&self) -> Vec<SkillPrompt> {
        user_prompt::list_prompts(&self.inner.runtime, &self.catalog())
    }

    /// Renders the text for a model when a user invokes a skill: the skill and the user's request.
    /// `arguments` is the user input after the name; it is not substituted into the text of the
    /// skill. Performs blocking I/O.
    ///
    /// # Errors
    /// `skill_not_found` if a user cannot invoke the skill, or its text cannot be read.
    pub fn prompt(&self, name: &str, arguments: &str) -> Result<RenderedPrompt, ToolError> {
        user_prompt::render_prompt(&self.inner.catalog_tools, &self.catalog(), name, arguments)
    }

    /// Records that a session uses a skill because its user invoked it, so that its
    /// [hooks](crate::ToolSetBuilder::hooks) apply. A model does this with `load_skill`. Unknown
    /// names have no effect. Performs blocking I/O.
    pub fn activate(&self, session: &str, name: &str) {
        self.inner.activate(Some(session), name);
    }

    /// Returns a guide that tells a model how to find, load and run skills with the enabled tools:
    /// at most 2,500 bytes, without names of skills.
    #[must_use]
    pub fn guide(&self) -> String {
        let definitions: Vec<_> = self.builtin_tools().map(BuiltinTool::definition).collect();
        let script_tools = if self.has_group(ToolGroup::ScriptTools) {
            ScriptTools::Enabled
        } else {
            ScriptTools::Disabled
        };
        guide::write_guide(&definitions, script_tools)
    }
}
