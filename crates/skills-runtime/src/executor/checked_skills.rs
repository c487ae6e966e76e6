//! Skills that passed the checks of a run that reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_policy::Request;

use super::artifacts::UnreadableSkill;
use super::run_subject::RunSubject;
use super::skill_copies::SkillCopy;

/// The readable skills of a run.
#[derive(Default)]
pub(crate) struct ReadableSkills {
    pub(super) checked: Vec<CheckedSkill>,
    pub(crate) unreadable: Vec<UnreadableSkill>,
}

/// A skill that passed the checks of a run.
pub(super) struct CheckedSkill {
    pub(super) directory: PathBuf,
    pub(super) subject: RunSubject,
    /// What the run gets; `None` for a skill without a digest, whose directory it gets.
    pub(super) content: Option<Arc<SkillCopy>>,
}

impl ReadableSkills {
    pub(super) fn contains(&self, directory: &Path) -> bool {
        self.checked
            .iter()
            .any(|skill| skill.directory == directory)
    }

    pub(super) fn reject(&mut self, directory: &Path, reason: String) {
        self.unreadable.push(UnreadableSkill {
            directory: directory.to_owned(),
            reason,
        });
    }
}

impl CheckedSkill {
    /// Requests to read the skill.
    pub(super) fn extend(&self, request: Request) -> Request {
        let copy = self.content.as_deref().and_then(SkillCopy::path);
        copy.into_iter()
            .fold(request.read(&self.directory), |request, copy| {
                request.copy_of(&self.directory, copy)
            })
    }
}
