//! Publication of skills to clients that read them file by file.

use std::sync::Arc;

use super::ToolSet;
use crate::publication::{
    Completion, PublicationError, PublishedContent, PublishedSkill, PublishedSkills,
};

impl ToolSet {
    /// Returns the skills that can be published, and why the others are not.
    ///
    /// The catalog is refreshed. Unchanged files are not read again; only their metadata are
    /// compared. A skill is not published if it is not model-invocable, if its name is ambiguous or
    /// not accepted by every client, if its `SKILL.md` has a non-standard name, is a symlink or is
    /// ambiguous YAML, if a field of the Agent Skills specification is invalid there (a description
    /// over 1,024 characters, `compatibility` over 500, `metadata` that does not map text to text), if
    /// it has more than 512 files or 16 MiB or is nested deeper than 8
    /// directories, or if its files cannot be read or change continuously. Performs blocking I/O.
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
}
