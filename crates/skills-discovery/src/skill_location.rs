//! Where the files of a skill are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_manifest::ReadingRules;

use crate::SKILL_FILE;
use crate::openai_file::OpenAiFile;
#[cfg(feature = "fs")]
use crate::source_skill::SourceSkill;

/// Where a scan found the files of a skill, and how its root reads the skill file.
#[derive(Debug, Clone)]
pub(crate) struct SkillLocation {
    /// The canonical path of the skill directory; of a listed skill, a path that does not exist.
    pub(crate) directory: Arc<Path>,
    /// The name of the skill file if it differs from `SKILL.md`.
    pub(crate) misspelled_name: Option<Box<str>>,
    /// The canonical path of the skill file if the `SKILL.md` is a symlink to it.
    pub(crate) linked_path: Option<Box<Path>>,
    pub(crate) reading: ReadingRules,
    /// The skill of a source, which is not in `directory`.
    #[cfg(feature = "fs")]
    pub(crate) source: Option<Arc<SourceSkill>>,
}

impl SkillLocation {
    pub(crate) fn file_name(&self) -> &str {
        self.misspelled_name.as_deref().unwrap_or(SKILL_FILE)
    }

    /// Returns the path of the skill file, for display.
    pub(crate) fn skill_file(&self) -> PathBuf {
        self.directory.join(self.file_name())
    }

    pub(crate) fn read_openai_file(&self, below_plugin: Option<&str>) -> OpenAiFile {
        #[cfg(feature = "fs")]
        if let Some(source) = &self.source {
            let content = source.listed().openai_file();
            return OpenAiFile::of_content(content, below_plugin);
        }
        OpenAiFile::read(&self.directory, below_plugin)
    }
}
