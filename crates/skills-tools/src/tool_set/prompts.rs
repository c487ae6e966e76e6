//! Text for a model outside of tool calls: skills that a user invokes, and the guide to the tools.

use skills_runtime::ledger::Activity;
use skills_runtime::prompt::{Budget, ListFormat, SkillListRenderer};
use skills_runtime::{Entry, ListPaths, ListRequest};

use super::ToolSet;
use crate::builtin::BuiltinTool;
use crate::guide::{EnabledTools, ScriptTools};
use crate::{RenderedPrompt, SkillPrompt, ToolError, guide, user_prompt};

/// Maximum length of a list of skills for a task, in characters.
const MAX_LIST_CHARS: usize = 8_000;

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

    /// Records uses of skills that only a transport knows of: lists and files that clients fetch
    /// without a tool. Unknown names have no effect, and neither has a runtime without a
    /// [ledger](skills_runtime::Builder::usage_ledger).
    pub fn record_use<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        activity: Activity,
        session: Option<&str>,
    ) {
        let library = self.inner.runtime.library();
        if library.usage().is_enabled() {
            let find = |name: &str| self.inner.files.find_cached_skill(name).ok();
            let entries: Vec<Entry> = names
                .into_iter()
                .filter_map(find)
                .filter_map(|(entry, is_draft)| (!is_draft).then_some(entry))
                .collect();
            library.usage().record(&entries, activity, session);
        }
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
        self.with_enabled_tools(guide::write_guide)
    }

    /// Returns the skills for a task as a Markdown list of at most 8,000 characters: those that the
    /// task names, then pinned, recently used and matching ones, complete at first, then by name, and
    /// how many more there are. Empty without skills. The catalog is refreshed. Performs blocking I/O.
    #[must_use]
    pub fn skill_list(&self, task: &str) -> String {
        let request = ListRequest {
            query: task,
            paths: ListPaths::Virtual,
            ..ListRequest::default()
        };
        let renderer = SkillListRenderer::new(Budget::Characters(MAX_LIST_CHARS))
            .format(ListFormat::Markdown)
            .search_hint("`search_skills`");
        let prompt = self.inner.runtime.prompt();
        let list = prompt.render_section_for(&renderer, &request);
        list.text()
    }

    /// Returns what a client should tell a model about the tools that it lists: at most 2,000 bytes
    /// plus the names of the mounts.
    #[must_use]
    pub fn instructions(&self) -> String {
        let mounts = self.inner.files.mount_names();
        self.with_enabled_tools(|tools| guide::write_instructions(tools, &mounts))
    }

    /// Returns the [instructions](Self::instructions) for a client that may name a
    /// [workspace](Self::with_workspace) later: they explain its paths although there is none yet.
    #[must_use]
    pub fn instructions_for_later_workspace(&self) -> String {
        let mut mounts = self.inner.files.mount_names();
        if self.workspace_directory().is_none() {
            mounts.push("workspace");
        }
        self.with_enabled_tools(|tools| guide::write_instructions(tools, &mounts))
    }

    fn with_enabled_tools(&self, write: impl FnOnce(&EnabledTools<'_>) -> String) -> String {
        let definitions: Vec<_> = self
            .builtin_tools()
            .into_iter()
            .map(BuiltinTool::definition)
            .collect();
        let scripts = if self.has_script_tools() {
            ScriptTools::Enabled
        } else {
            ScriptTools::Disabled
        };
        write(&EnabledTools {
            definitions: &definitions,
            scripts,
        })
    }
}
