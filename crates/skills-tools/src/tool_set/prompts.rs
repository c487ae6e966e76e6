//! What is said to a model without a call: the skill that a user calls, and how to use the tools.

use super::{ToolGroup, ToolSet};
use crate::builtin::BuiltinTool;
use crate::{RenderedPrompt, SkillPrompt, ToolError, guide, user_prompt};

impl ToolSet {
    /// Lists the skills that a user may call by name, in the order of the catalogue: those that are
    /// used, and that neither the skill nor the host keeps from users. One whose name others have
    /// is none. Skills are looked for anew. Blocks on the disk.
    #[must_use]
    pub fn prompts(&self) -> Vec<SkillPrompt> {
        user_prompt::list_prompts(&self.inner.runtime, &self.catalog())
    }

    /// Gives what a model is given when a user calls a skill: its text and the user's request.
    /// `arguments` is what the user typed behind the name; nothing in the skill's text is replaced
    /// by it. Blocks on the disk.
    ///
    /// # Errors
    /// `skill_not_found` when a user cannot call the skill, and when its text cannot be read (any
    /// more).
    pub fn prompt(&self, name: &str, arguments: &str) -> Result<RenderedPrompt, ToolError> {
        user_prompt::render_prompt(&self.inner.catalog_tools, &self.catalog(), name, arguments)
    }

    /// Writes how to find, load and run skills with the tools that are on, and what each of them
    /// does: at most 2,500 bytes, without the name of any skill.
    #[must_use]
    pub fn guide(&self) -> String {
        let definitions: Vec<_> = self.builtin_tools().map(BuiltinTool::definition).collect();
        guide::write_guide(&definitions, self.has_group(ToolGroup::ScriptTools))
    }
}
