//! Skills outside of tool calls: those that a user invokes, lists for a model, and publication to
//! clients that read them file by file.

use std::sync::Arc;

use skills_runtime::ledger::Activity;
use skills_runtime::prompt::{Budget, ListFormat, SkillListRenderer};
use skills_runtime::{Entry, ListPaths, ListRequest};

use super::ToolSet;
use crate::guide::{EnabledTools, ScriptTools};
use crate::publication::{
    Completion, PublicationError, PublishedContent, PublishedSkill, PublishedSkills,
};
use crate::waiting_skills::{Waiting, WaitingSkills};
use crate::{RenderedPrompt, SkillPrompt, ToolError, guide, user_prompt};

/// Maximum length of a list of skills for a task, in characters.
const MAX_LIST_CHARS: usize = 8_000;

impl ToolSet {
    /// Returns the skills that a user may invoke by name, in the order of the catalog: active,
    /// user-invocable and with a unique name. The catalog is refreshed. Performs blocking I/O.
    #[must_use]
    pub fn prompts(&self) -> Vec<SkillPrompt> {
        user_prompt::list_prompts(self.inner.runtime(), &self.catalog())
    }

    /// Renders the text for a model when a user invokes a skill: the skill and the user's request.
    /// `arguments` is the user input after the name; it is not substituted into the text of the
    /// skill. Performs blocking I/O.
    ///
    /// # Errors
    /// `skill_not_found` if a user cannot invoke the skill, or its text cannot be read.
    pub fn prompt(&self, name: &str, arguments: &str) -> Result<RenderedPrompt, ToolError> {
        user_prompt::render_prompt(self.inner.runtime(), &self.catalog(), name, arguments)
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
        let library = self.inner.runtime().library();
        if library.usage().is_enabled() {
            let find = |name: &str| self.inner.files().find_active(name);
            let entries: Vec<Entry> = names.into_iter().filter_map(find).collect();
            library.usage().record(&entries, activity, session);
        }
    }

    /// Records that a session uses a skill because its user invoked it, so that its
    /// [hooks](crate::ToolSetBuilder::hooks) apply. A model does this with `load_skill`. Unknown
    /// names have no effect. Performs blocking I/O.
    pub fn activate(&self, session: &str, name: &str) {
        let inner = &self.inner;
        inner
            .active_skills
            .activate(inner.files(), Some(session), name);
    }

    /// Returns a guide that tells a model how to find, load and run skills with the enabled tools:
    /// at most 2,500 bytes, without names of skills.
    #[must_use]
    pub fn guide(&self) -> String {
        guide::write_guide(&self.enabled_tools())
    }

    /// Returns the skills for a task as a Markdown list of at most 8,000 characters: those that the
    /// task names, then pinned, recently used and matching ones, complete at first, then by name,
    /// and how many more there are. Empty without skills. The catalog is refreshed. Performs
    /// blocking I/O.
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
        let prompt = self.inner.runtime().prompt();
        let list = prompt.render_section_for(&renderer, &request);
        list.text()
    }

    /// Returns what a client should tell a model about the tools that it lists, and how many skills of
    /// the project wait for trust: at most 2,200 bytes plus the names of the mounts. Scans the roots
    /// on first use.
    #[must_use]
    pub fn instructions(&self) -> String {
        self.write_instructions(&self.inner.files().mounts.names())
    }

    /// Returns the [instructions](Self::instructions) for a client that may name a
    /// [workspace](Self::with_workspace) later: they explain its paths although there is none yet.
    #[must_use]
    pub fn instructions_for_later_workspace(&self) -> String {
        let mut mounts = self.inner.files().mounts.names();
        if self.workspace_directory().is_none() {
            mounts.push("workspace");
        }
        self.write_instructions(&mounts)
    }

    /// Reads the skills of the project that wait for its trust, for a [question](WaitingSkills::question)
    /// to the user; `None` if none with a plain name do. The catalog is refreshed. Performs blocking I/O, and reads all
    /// files of up to ten skills.
    #[must_use]
    pub fn waiting_skills(&self) -> Option<WaitingSkills> {
        WaitingSkills::read(&self.catalog(), self.inner.files())
    }

    /// Activates skills of the project after its user has agreed, while they have this content. It holds
    /// for all tool sets that share the skills, and is not stored.
    pub fn trust_skills(&self, waiting: &WaitingSkills) {
        let library = self.inner.runtime().library();
        let trusted = library.discovery().trusted_skills();
        trusted.add(waiting.skills().iter().cloned());
        library.generations().record_change();
    }

    fn write_instructions(&self, mounts: &[&str]) -> String {
        let instructions = guide::write_instructions(&self.enabled_tools(), mounts);
        let catalog = self.inner.runtime().library().catalog();
        match Waiting::new(&catalog).sentence() {
            Some(waiting) => format!("{instructions}\n{waiting}\n"),
            None => instructions,
        }
    }

    /// Returns the skills that can be published, and why the others are not.
    ///
    /// The catalog is refreshed. Unchanged files are not read again; only their metadata are
    /// compared. A skill is not published if it is not model-invocable, if its name is ambiguous or
    /// not accepted by every client, if its `SKILL.md` has a non-standard name, is a symlink or is
    /// ambiguous YAML, if a field of the Agent Skills specification is invalid there (a description
    /// over 1,024 characters, `compatibility` over 500, `metadata` that does not map text to text),
    /// if it has more than 512 files or 16 MiB or is nested deeper than 8 directories, or if its
    /// files cannot be read or change continuously. Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::ToolSet;
    /// use skills_tools::runtime::{Root, Scope, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
    /// let root = Root::new(directory.path(), Scope::Custom);
    /// let runtime = SkillRuntime::builder().root(root).build();
    /// let tools = ToolSet::builder(runtime).build()?;
    /// let published = tools.published_skills();
    /// let skill = &published.skills[0];
    /// assert_eq!((skill.name.as_str(), skill.files.len()), ("greet", 2));
    /// let content = tools.published_file("greet", "SKILL.md")?;
    /// assert_eq!(content.file, skill.files[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn published_skills(&self) -> PublishedSkills {
        self.published_skills_where(|_| true, usize::MAX)
    }

    /// Returns the first `limit` of the [published skills](Self::published_skills) with the wanted
    /// names. Only those are read, and the unpublished ones between them. Performs blocking I/O.
    #[must_use]
    pub fn published_skills_where(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        limit: usize,
    ) -> PublishedSkills {
        let catalog = self.catalog();
        self.inner
            .publisher
            .publish_where(&catalog, is_wanted, limit)
    }

    /// Returns one published skill, as [`published_skills`](Self::published_skills) does, or
    /// `None`. Performs blocking I/O.
    #[must_use]
    pub fn published_skill(&self, name: &str) -> Option<Arc<PublishedSkill>> {
        self.inner.publisher.publish_one(&self.catalog(), name).ok()
    }

    /// Reads one file of a published skill; `path` is exactly one that the skill lists. Performs
    /// blocking I/O.
    ///
    /// The content matches the last snapshot of the skill. If the file has changed since then, the
    /// skill is captured again, and [`PublishedContent::skill`] is the new snapshot. Content that
    /// no snapshot lists is never returned.
    ///
    /// # Errors
    /// Fails if the skill is not published, if the file is not part of it, and if the file changes
    /// continuously.
    pub fn published_file(
        &self,
        name: &str,
        path: &str,
    ) -> Result<PublishedContent, PublicationError> {
        self.inner.publisher.read_file(&self.catalog(), name, path)
    }

    /// Completes the name of a published skill, case-sensitively and in byte order; an empty prefix
    /// lists all names. Performs blocking I/O.
    #[must_use]
    pub fn complete_skill(&self, prefix: &str) -> Completion {
        self.inner.publisher.complete_skill(&self.catalog(), prefix)
    }

    /// Completes the path of a file of a published skill, case-sensitively and in byte order.
    /// Returns no values for other skills. Performs blocking I/O.
    #[must_use]
    pub fn complete_path(&self, skill: &str, prefix: &str) -> Completion {
        self.inner
            .publisher
            .complete_path(&self.catalog(), skill, prefix)
    }

    fn enabled_tools(&self) -> EnabledTools {
        let builtin = self.inner.builtin_tools().into_iter();
        EnabledTools {
            builtin: builtin.map(|builtin| &builtin.tool).collect(),
            scripts: if self.inner.has_script_tools() {
                ScriptTools::Enabled
            } else {
                ScriptTools::Disabled
            },
        }
    }
}
