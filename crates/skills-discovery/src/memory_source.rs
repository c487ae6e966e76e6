//! Skills in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skills_threads::lock;

use crate::openai_file::OPENAI_FILE;
use crate::skill_source::ReceiveFile;
use crate::{
    ListedFile, ListedSkill, ListingProblem, SKILL_FILE, SkillSource, SourceFailure, SourceKind,
    SourceListing, TreePath,
};

/// Skills that the application has in memory, such as those that it was built with.
///
/// ```
/// use std::sync::Arc;
/// use skills_discovery::{Discovery, MemorySkill, MemorySource, Scope, SourceRoot, TreePath};
///
/// # let scratch = tempfile::tempdir()?;
/// let text = "---\nname: greet\ndescription: Says hello.\n---\nHi\n";
/// let skill = MemorySkill::new(TreePath::new("greet")?)
///     .file(TreePath::new("SKILL.md")?, text)
///     .executable(TreePath::new("scripts/hello.sh")?, "echo hello\n");
/// let source = Arc::new(MemorySource::new("app", [skill]));
/// let root = SourceRoot::new(source, Scope::System, scratch.path());
/// let catalog = Discovery::new([]).source(root).scan();
/// let entry = &catalog.entries()[0];
/// assert!(entry.location().ends_with("greet/SKILL.md"));
/// assert_eq!(entry.open()?.read("scripts/hello.sh", 100)?, b"echo hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemorySource {
    name: String,
    skills: Mutex<Arc<[MemorySkill]>>,
    revision: AtomicU64,
}

/// A skill in memory: its path, whose last name is that of its directory, and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct MemorySkill {
    path: TreePath,
    files: Vec<(ListedFile, Arc<[u8]>)>,
}

impl MemorySkill {
    /// Creates a skill without files. It needs a `SKILL.md` to be valid.
    pub fn new(path: TreePath) -> Self {
        Self {
            path,
            files: Vec::new(),
        }
    }

    /// Adds a file.
    pub fn file(self, path: TreePath, content: impl Into<Vec<u8>>) -> Self {
        self.add(path, content.into(), false)
    }

    /// Adds an executable file.
    pub fn executable(self, path: TreePath, content: impl Into<Vec<u8>>) -> Self {
        self.add(path, content.into(), true)
    }

    fn add(mut self, path: TreePath, content: Vec<u8>, is_executable: bool) -> Self {
        let file = ListedFile::of_content(path, &content).executable(is_executable);
        self.files.push((file, content.into()));
        self
    }

    fn list(&self) -> Result<ListedSkill, ListingProblem> {
        let content = |name: &str| {
            let mut files = self.files.iter();
            let (_, content) = files.find(|(file, _)| file.path().as_str() == name)?;
            Some(content.to_vec())
        };
        let files = self.files.iter().map(|(file, _)| file.clone()).collect();
        let skill_file = content(SKILL_FILE).ok_or(ListingProblem::NoSkillFile)?;
        ListedSkill::new(self.path.clone(), files, skill_file, content(OPENAI_FILE))
    }
}

impl MemorySource {
    /// Creates a source. `name` is unique among the memory sources of a scan; the name of the
    /// source is `memory:` and this name.
    pub fn new(name: &str, skills: impl IntoIterator<Item = MemorySkill>) -> Self {
        Self {
            name: format!("memory:{name}"),
            skills: Mutex::new(skills.into_iter().collect()),
            revision: AtomicU64::new(0),
        }
    }

    /// Replaces all skills. Catalogs that list the earlier ones are not current any more, and
    /// earlier skills that were not opened yet cannot be opened.
    pub fn replace(&self, skills: impl IntoIterator<Item = MemorySkill>) {
        *lock(&self.skills) = skills.into_iter().collect();
        // Last, so that a scan between both lists the skills once more.
        self.revision.fetch_add(1, Ordering::Release);
    }

    fn skills(&self) -> Arc<[MemorySkill]> {
        Arc::clone(&lock(&self.skills))
    }
}

impl SkillSource for MemorySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> SourceKind {
        SourceKind::Local
    }

    fn list(&self) -> Result<SourceListing, SourceFailure> {
        let skills = self.skills();
        let list = |skill: &MemorySkill| {
            let listed = skill.list();
            listed.map_err(|problem| (skill.path.clone(), problem.into()))
        };
        Ok(skills.iter().map(list).collect())
    }

    fn open(
        &self,
        skill: &ListedSkill,
        receive: &mut ReceiveFile<'_>,
    ) -> Result<(), SourceFailure> {
        let skills = self.skills();
        let known = skills.iter().find(|known| known.path == *skill.path());
        let known = known.ok_or("the skill was removed")?;
        let contents: HashMap<&TreePath, &Arc<[u8]>> = known
            .files
            .iter()
            .map(|(file, content)| (file.path(), content))
            .collect();
        for file in skill.files() {
            let content = contents.get(file.path()).ok_or("the skill was replaced")?;
            receive(file.path(), content)?;
        }
        Ok(())
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }
}
