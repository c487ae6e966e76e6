//! Where the files of a skill are.

use std::path::Path;
use std::sync::Arc;

use skills_manifest::ReadingRules;

use crate::SKILL_FILE;

/// Where a scan found the files of a skill, and how its root reads the skill file.
#[derive(Debug, Clone)]
pub(crate) struct SkillLocation {
    /// The canonical path of the skill directory.
    pub(crate) directory: Arc<Path>,
    /// The name of the skill file if it differs from `SKILL.md`.
    pub(crate) misspelled_name: Option<Box<str>>,
    /// The canonical path of the skill file if the `SKILL.md` is a symlink to it.
    pub(crate) linked_path: Option<Box<Path>>,
    pub(crate) reading: ReadingRules,
}

impl SkillLocation {
    pub(crate) fn file_name(&self) -> &str {
        self.misspelled_name.as_deref().unwrap_or(SKILL_FILE)
    }
}
