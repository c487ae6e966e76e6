//! Skills whose files a run can read, in addition to those of its own skill.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_audit::ContentHash;
use skills_policy::{Access, Permission, Request};
use skills_sandbox::SandboxError;

use crate::artifacts::UnreadableSkill;
use crate::content::{check_content_unchanged, copy_content};
use crate::error::RuntimeError;
use crate::optional_mounts::{allows_extension, wants_any_directory};
use crate::plan::Planned;
use crate::run_subject::{RunSubject, SkillSubject};
use crate::services::Services;
use crate::skill_copies::SkillCopy;

/// The readable skills of a run.
#[derive(Default)]
pub(crate) struct ReadableSkills {
    checked: Vec<CheckedSkill>,
    unreadable: Vec<UnreadableSkill>,
}

/// A skill that passed the checks of a run.
struct CheckedSkill {
    directory: PathBuf,
    subject: RunSubject,
    /// What the run gets; `None` for a skill without a digest, whose directory it gets.
    content: Option<Arc<SkillCopy>>,
}

/// Finds the [readable skills](crate::ExecutionOptions::readable_skills) that pass the checks of a run.
pub(crate) async fn check_readable_skills(planned: &Planned) -> ReadableSkills {
    let mut skills = ReadableSkills::default();
    let own = planned.skill().map(|skill| skill.entry.directory());
    let directories = &planned.options().readable_skills;
    for directory in directories.iter().map(PathBuf::as_path) {
        if own == Some(directory) || skills.contains(directory) {
            continue;
        }
        match CheckedSkill::open(planned.services(), directory).await {
            Ok(checked) => skills.checked.push(checked),
            Err(error) => skills.reject(directory, error.message_with_sources()),
        }
    }
    skills
}

impl ReadableSkills {
    /// Returns true if none passed the checks.
    pub(crate) fn is_empty(&self) -> bool {
        self.checked.is_empty()
    }

    pub(crate) fn unreadable(&self) -> &[UnreadableSkill] {
        &self.unreadable
    }

    /// Returns true for a directory that the program does not get. An alias of it would show that it
    /// exists, and where.
    pub(crate) fn is_unreadable(&self, directory: &Path) -> bool {
        self.unreadable
            .iter()
            .any(|skill| skill.directory == directory)
    }

    /// Returns the digest of the command of the caller, if it runs one. It depends on the content of
    /// the skills that the command reads: it can run their files, so that other content makes it
    /// another command.
    pub(crate) fn command_digest(&self, planned: &Planned) -> Option<String> {
        let command = planned.command_digest()?;
        let digests = self.checked.iter().flat_map(|skill| {
            let digest = skill.content.as_ref();
            let digest = digest.map(|content| content.digest.as_str());
            [
                skill.directory.to_string_lossy().into_owned(),
                digest.unwrap_or_default().to_owned(),
            ]
        });
        let parts: Vec<String> = std::iter::once(command.to_owned()).chain(digests).collect();
        if parts.len() == 1 {
            return Some(command.to_owned());
        }
        // Paths cannot contain NUL, so the text is unambiguous.
        let hash = ContentHash::new(parts.join("\0").as_bytes()).sha256;
        Some(format!("sha256:{hash}"))
    }

    /// Requests the skills that rules and stored approvals let the program read without a prompt, and
    /// rejects the others.
    pub(crate) fn request_allowed(
        &mut self,
        planned: &Planned,
        mut request: Request,
        digest: Option<&str>,
    ) -> Request {
        for skill in std::mem::take(&mut self.checked) {
            let extended = skill.extend(request.clone());
            let requested = Permission::Read(skill.directory.clone());
            if !wants_any_directory(planned, Access::ReadOnly) {
                let reason = format!(
                    "the `allowed-tools` of skill `{}` do not include reading other directories",
                    planned.name()
                );
                self.reject(&skill.directory, reason);
            } else if allows_extension(planned.services(), &request, &extended, digest, &requested)
            {
                request = extended;
                self.checked.push(skill);
            } else {
                let reason = "the policy does not let the program read it".to_owned();
                self.reject(&skill.directory, reason);
            }
        }
        request
    }

    /// Rejects the run if a readable skill changed since it was copied.
    pub(crate) async fn check_unchanged(&self, services: &Services) -> Result<(), RuntimeError> {
        for skill in &self.checked {
            let content = skill.content.as_deref();
            check_content_unchanged(services, &skill.subject, content).await?;
        }
        Ok(())
    }

    fn contains(&self, directory: &Path) -> bool {
        self.checked
            .iter()
            .any(|skill| skill.directory == directory)
    }

    fn reject(&mut self, directory: &Path, reason: String) {
        self.unreadable.push(UnreadableSkill {
            directory: directory.to_owned(),
            reason,
        });
    }
}

impl CheckedSkill {
    async fn open(services: &Services, directory: &Path) -> Result<Self, RuntimeError> {
        let library = services.library().clone();
        let name = directory.to_string_lossy().into_owned();
        // That of a source can wait for a server.
        let skill = skills_threads::run_blocking(move || SkillSubject::open(&library, &name)).await;
        let skill = skill.map_err(|error| SandboxError::setup("reading the skill", error))??;
        let subject = RunSubject::Skill(Box::new(skill));
        // The program that reads them may run in a container.
        let directories = services.config().directories.without_memory();
        let content = copy_content(services, &subject, directories).await?;
        Ok(Self {
            directory: directory.to_owned(),
            subject,
            content,
        })
    }

    /// Requests to read the skill.
    fn extend(&self, request: Request) -> Request {
        let copy = self.content.as_deref().and_then(SkillCopy::path);
        copy.into_iter()
            .fold(request.read(&self.directory), |request, copy| {
                request.copy_of(&self.directory, copy)
            })
    }
}
