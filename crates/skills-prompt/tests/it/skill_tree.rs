//! A temporary directory tree with skills.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::{
    Catalog, ConfigRule, Discovery, MemorySkill, MemorySource, Root, Scope, SourceRoot, TreePath,
    Trust,
};
use tempfile::TempDir;

/// A temporary directory with roots of skills, deleted on drop.
pub(crate) struct SkillTree(TempDir);

impl SkillTree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn text(&self, below: &str) -> String {
        self.path(below).to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test creates its own files")]
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn skill(&self, directory: &str, name: &str) -> &Self {
        self.file(
            &format!("{directory}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: About {name}.\n---\nBody\n"),
        )
    }

    /// Returns a discovery of `repo` (scope Repo), `user` (scope User) and `foreign`, which is not
    /// trusted.
    pub(crate) fn discovery(&self) -> Discovery {
        let repo = Root::new(self.path("repo"), Scope::Repo);
        Discovery::new([
            repo,
            Root::new(self.path("user"), Scope::User),
            Root::new(self.path("foreign"), Scope::Repo).trust(Trust::Untrusted),
        ])
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::new(self.discovery().scan())
    }

    pub(crate) fn catalog_with(&self, rules: impl IntoIterator<Item = ConfigRule>) -> Arc<Catalog> {
        Arc::new(self.discovery().rules(rules).scan())
    }
}

/// Returns the catalog of the skill `deploy` of a source in memory, and its scratch directory.
pub(crate) fn catalog_of_source() -> (TempDir, Arc<Catalog>) {
    let scratch = tempfile::tempdir().unwrap();
    let path = |text| TreePath::new(text).unwrap();
    let skill = MemorySkill::new(path("ops/deploy"))
        .file(
            path("SKILL.md"),
            "---\nname: deploy\ndescription: Deploys.\n---\n",
        )
        .file(path("scripts/x.py"), "");
    let source = Arc::new(MemorySource::new("app", [skill]));
    let root = SourceRoot::new(source, Scope::User, scratch.path());
    let catalog = Discovery::new([]).source(root).scan();
    (scratch, Arc::new(catalog))
}
