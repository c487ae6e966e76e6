//! A skill that may run.

use skills_runtime::Entry;
use skills_runtime::discovery::SkillFiles;

use crate::{ToolError, ToolErrorCode};

/// A skill that may run, with its opened files.
pub(crate) struct RunnableSkill {
    pub(crate) entry: Entry,
    pub(crate) files: SkillFiles,
}

impl RunnableSkill {
    pub(crate) fn try_new(entry: Entry) -> Result<Self, ToolError> {
        match entry.open() {
            Ok(files) => Ok(Self { entry, files }),
            Err(error) => Err(ToolErrorCode::SkillNotFound.error(format!(
                "cannot open the files of skill `{}`: {error}",
                entry.name()
            ))),
        }
    }
}
