//! Skills in a temporary directory.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// A temporary directory with skills and other files. It is removed when the value is dropped.
///
/// Its methods panic if a file cannot be written.
pub struct SkillTree {
    directory: TempDir,
    /// The directory of the skills: empty, or with a final `/`.
    skills: &'static str,
}

impl SkillTree {
    /// Creates the directory. Skills are in `skills` below it, which is empty or has a final `/`.
    #[must_use]
    pub fn new(skills: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join(skills)).unwrap();
        Self { directory, skills }
    }

    /// Returns the canonical path of a file or directory below it.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    /// Writes a file, and creates the directories above it.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Writes the `SKILL.md` of a skill, with `extra` lines in its frontmatter.
    pub fn skill(&self, name: &str, extra: &str) -> &Self {
        self.file(
            &format!("{}{name}/SKILL.md", self.skills),
            format!("---\nname: {name}\ndescription: About {name}.\n{extra}---\n# {name}\n"),
        )
    }

    /// Writes a script of a skill.
    pub fn script(&self, skill: &str, file: &str, source: &str) -> &Self {
        self.file(&format!("{}{skill}/scripts/{file}", self.skills), source)
    }
}
