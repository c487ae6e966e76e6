//! Skills whose files a run can read, in addition to those of its own skill.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_audit::ContentHash;
use skills_library::{OpenedSkill, read_requirements};
use skills_policy::{Access, Permission};

use super::Executor;
use super::authorization::check_locked_content;
use super::checked_skills::{CheckedSkill, ReadableSkills};
use super::run_plan::RunPlan;
use super::run_subject::{RunSubject, SkillSubject};
use crate::error::RuntimeError;

impl Executor {
    /// Adds the [readable skills](crate::ExecutionOptions::readable_skills) that pass the checks of
    /// a run, and that rules and stored approvals let the program read without a prompt.
    ///
    /// Together with the [optional mounts](crate::ExecutionOptions::optional_mounts).
    pub(super) async fn with_optional_files(&self, mut plan: RunPlan) -> RunPlan {
        let skills = self.check_readable_skills(&plan).await;
        plan.extend_command_digest(&skills);
        // Stored approvals are valid for one content, so optional files depend on its digest.
        let is_optional = !plan.options.optional_mounts.is_empty() || !skills.checked.is_empty();
        let digest = if is_optional {
            // Without a digest no optional file is mounted.
            self.content_digest(&plan.subject).await.unwrap_or(None)
        } else {
            None
        };
        let plan = self.with_optional_mounts(plan, digest.as_deref());
        self.with_checked_skills(plan, skills, digest.as_deref())
    }

    /// Rejects the run if a readable skill changed since it was copied.
    pub(super) async fn check_readable_unchanged(
        &self,
        skills: &ReadableSkills,
    ) -> Result<(), RuntimeError> {
        for skill in &skills.checked {
            let content = skill.content.as_deref();
            self.check_content_unchanged(&skill.subject, content)
                .await?;
        }
        Ok(())
    }

    async fn check_readable_skills(&self, plan: &RunPlan) -> ReadableSkills {
        let mut skills = ReadableSkills::default();
        let own = plan.subject.skill().map(|skill| skill.entry.directory());
        for directory in plan.options.readable_skills.iter().map(PathBuf::as_path) {
            if own == Some(directory) || skills.contains(directory) {
                continue;
            }
            match self.check_readable_skill(directory).await {
                Ok(checked) => skills.checked.push(checked),
                Err(error) => skills.reject(directory, error.message_with_sources()),
            }
        }
        skills
    }

    async fn check_readable_skill(&self, directory: &Path) -> Result<CheckedSkill, RuntimeError> {
        let subject = self.open_subject(&directory.to_string_lossy())?;
        // The program that reads them may run in a container.
        let directories = self.config().directories.without_memory();
        let content = self.copy_content(&subject, directories).await?;
        check_locked_content(&subject, content.as_deref())?;
        self.check_manifest_unchanged(&subject, content.as_deref())?;
        Ok(CheckedSkill {
            directory: directory.to_owned(),
            subject,
            content,
        })
    }

    /// Opens a skill with the checks of a run.
    fn open_subject(&self, name: &str) -> Result<RunSubject, RuntimeError> {
        let catalog = self.library().catalog();
        let skill = OpenedSkill::find_runnable(&catalog, name)?;
        let manifest = skill.document.manifest().clone();
        let requirements = read_requirements(&manifest, &skill.files);
        Ok(RunSubject::Skill(Box::new(SkillSubject {
            entry: skill.entry.clone(),
            files: Arc::new(skill.files),
            manifest,
            requirements,
        })))
    }

    fn with_checked_skills(
        &self,
        mut plan: RunPlan,
        mut skills: ReadableSkills,
        digest: Option<&str>,
    ) -> RunPlan {
        for skill in std::mem::take(&mut skills.checked) {
            let extended = skill.extend(plan.request.clone());
            let requested = Permission::Read(skill.directory.clone());
            if !plan.wants_any_directory(Access::ReadOnly) {
                let reason = format!(
                    "the `allowed-tools` of skill `{}` do not include reading other directories",
                    plan.subject.name()
                );
                skills.reject(&skill.directory, reason);
            } else if self.allows_extension(&plan.request, &extended, digest, &requested) {
                plan.request = extended;
                skills.checked.push(skill);
            } else {
                let reason = "the policy does not let the program read it".to_owned();
                skills.reject(&skill.directory, reason);
            }
        }
        // An alias would show that the directory exists, and where.
        let aliases = &mut plan.options.path_aliases;
        aliases.retain(|(_, path)| {
            !skills
                .unreadable
                .iter()
                .any(|skill| skill.directory == *path)
        });
        plan.readable_skills = skills;
        plan
    }
}

impl RunPlan {
    /// Makes the digest of a command depend on the content of the skills that it reads: the command
    /// can run their files, so that other content makes it another command.
    fn extend_command_digest(&mut self, skills: &ReadableSkills) {
        let Some(command) = self.command_digest.as_deref() else {
            return;
        };
        let digests = skills.checked.iter().flat_map(|skill| {
            let digest = skill
                .content
                .as_ref()
                .map(|content| content.digest.as_str());
            [
                skill.directory.to_string_lossy().into_owned(),
                digest.unwrap_or_default().to_owned(),
            ]
        });
        let parts: Vec<String> = std::iter::once(command.to_owned()).chain(digests).collect();
        if parts.len() == 1 {
            return;
        }
        // Paths cannot contain NUL, so the text is unambiguous.
        let hash = ContentHash::new(parts.join("\0").as_bytes()).sha256;
        let digest = format!("sha256:{hash}");
        self.request = self.request.clone().ad_hoc(digest.clone());
        if let RunSubject::Host(host) = &mut self.subject {
            host.digest = digest;
        }
    }
}
