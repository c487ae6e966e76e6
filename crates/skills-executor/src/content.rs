//! The content of a skill that runs: its private copy, and whether it is still current.

use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::DigestedContent;
use skills_library::{LibraryError, read_requirements};
use skills_manifest::MAX_FILE_BYTES;
use skills_sandbox::SandboxError;

use crate::error::{Repr, RuntimeError};
use crate::run_subject::{RunSubject, SkillSubject};
use crate::services::Services;
use crate::skill_copies::{CopyDirectories, SkillCopy};

/// Rejects a skill with other frontmatter or requirements than those that the request was built from.
fn check_request_unchanged(
    services: &Services,
    subject: &RunSubject,
    skill: &SkillSubject,
    copy: Option<&SkillCopy>,
) -> Result<(), RuntimeError> {
    let of_copy = copy.and_then(SkillCopy::files).and_then(|copy| {
        let text = copy.and_then(|copy| copy.read(skill.files.file_name(), MAX_FILE_BYTES));
        text.ok()
    });
    // A `SKILL.md` outside the skill directory is not part of the copy.
    let text = of_copy.map_or_else(|| skill.files.read_skill_file(), Ok);
    let text = text.map_err(|source| LibraryError::file_access(skill.entry.location(), source))?;
    match skill.files.parse(&text) {
        Ok(document)
            if *document.manifest() == skill.manifest
                && read_requirements(&skill.manifest, &skill.files) == skill.requirements =>
        {
            Ok(())
        }
        _ => Err(content_changed(services, subject)),
    }
}

/// Rejects a skill that changed since it was authorized, or with a request that changed since it was planned
/// if the authorization did not depend on the content. The authorized copy would run in any case; an
/// error is better than to run an outdated version silently.
///
/// Returns the directories that the authorization does not cover, which the run must not see. The
/// copy does not contain them, but another grant, such as that of a project around the skill, can
/// lead to the skill directory itself.
pub(crate) async fn check_content_unchanged(
    services: &Services,
    subject: &RunSubject,
    content: Option<&SkillCopy>,
) -> Result<Vec<PathBuf>, RuntimeError> {
    // The digest of a command covers no files.
    let Some(skill) = subject.skill() else {
        return Ok(Vec::new());
    };
    let Some(content) = content else {
        check_request_unchanged(services, subject, skill, None)?;
        return Ok(Vec::new());
    };
    match digested_content(services, skill).await? {
        Some(current) if current.digest.to_string() == content.digest => {
            let directories = current.generated_directories.iter();
            Ok(directories
                .map(|directory| skill.entry.directory().join(directory))
                .collect())
        }
        _ => Err(content_changed(services, subject)),
    }
}

/// Clears the cached digests and returns the error for changed content.
fn content_changed(services: &Services, subject: &RunSubject) -> RuntimeError {
    services.config().digests.lock().clear();
    Repr::ContentChanged {
        skill: subject.name().to_owned(),
        path: subject.location(),
    }
    .into()
}

/// Finds or creates the private copy of a skill, with the content that its lock file requires and the
/// `SKILL.md` that was read. `None` if it has no digest.
pub(crate) async fn copy_content(
    services: &Services,
    subject: &RunSubject,
    directories: CopyDirectories,
) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
    let Some(skill) = subject.skill() else {
        let digest = subject.digest(&services.config().digests);
        return Ok(digest.map(SkillCopy::for_command));
    };
    let of_thread = services.clone();
    let files = Arc::clone(&skill.files);
    // Copying and hashing read up to 256 MiB.
    let copied = skills_threads::run_blocking(move || {
        of_thread.copies().get_or_create(&files, &directories)
    });
    let copied = copied
        .await
        .map_err(|error| SandboxError::setup("copying the skill", error))??;
    check_locked_content(subject, copied.as_deref())?;
    // Before an approver is asked, who must see a request that belongs to this content.
    if let Some(copy) = &copied {
        check_request_unchanged(services, subject, skill, Some(copy))?;
    }
    Ok(copied)
}

/// Computes a content digest on a blocking thread, since it can read up to 256 MiB. `None` without
/// one.
pub(crate) async fn content_digest(services: &Services, skill: &SkillSubject) -> Option<String> {
    let content = digested_content(services, skill).await.ok()??;
    Some(content.digest.to_string())
}

async fn digested_content(
    services: &Services,
    skill: &SkillSubject,
) -> Result<Option<DigestedContent>, RuntimeError> {
    let digests = Arc::clone(&services.config().digests);
    let files = Arc::clone(&skill.files);
    let content = skills_threads::run_blocking(move || digests.digested_content(&files)).await;
    let content = content.map_err(|error| SandboxError::setup("reading the skill", error))?;
    Ok(content.ok())
}

/// Rejects a locked skill with other content than its lock file requires. It can have changed since
/// the scan, which compares the same digests.
fn check_locked_content(
    subject: &RunSubject,
    content: Option<&SkillCopy>,
) -> Result<(), RuntimeError> {
    let Some(locked) = subject.locked_digest() else {
        return Ok(());
    };
    if content.is_some_and(|content| content.digest == locked.to_string()) {
        return Ok(());
    }
    let skill = subject.name().to_owned();
    Err(LibraryError::locked_content(skill, subject.location(), locked.to_string()).into())
}
