//! Authorization of a run: the private copy of its content, then rules, approvals and the approver.

use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::DigestedContent;
use skills_library::LibraryError;
use skills_manifest::MAX_FILE_BYTES;
use skills_policy::{ApprovalMode, Authorization, Evaluation, Request};
use skills_sandbox::{Sandbox, SandboxError};
use tokio::time::timeout;

use super::cancellation::unless_cancelled;
use super::grant_checks::is_privileged;
use super::run_plan::RunPlan;
use super::run_record::RunRecord;
use super::run_subject::{RunSubject, SkillSubject};
use super::skill_copies::{CopyDirectories, SkillCopy};
use super::{CallContext, Executor};
use crate::error::{Repr, RuntimeError};

/// Maximum files with keys that a question names because the sandbox cannot withhold them.
const MAX_REQUIRED_KEYS: usize = 16;

impl Executor {
    /// Returns true if an approver can be asked during a run.
    pub(super) fn can_ask(&self, context: &CallContext) -> bool {
        let is_strict = self.permissions.policy().mode() == ApprovalMode::Strict;
        !is_strict && self.permissions.has_approver(context.approver.as_deref())
    }

    /// Requests the files with keys that the sandbox cannot withhold from a run that nothing else is
    /// asked about. Without an approver, or with more than 16 such files, the sandbox rejects the run.
    pub(super) async fn request_required_keys(
        &self,
        plan: &mut RunPlan,
        sandbox: &Arc<dyn Sandbox>,
    ) -> Result<(), RuntimeError> {
        if plan.workspace.is_none() || !self.can_ask(&plan.options.context) {
            return Ok(());
        }
        let Authorization::Granted(grants) = self.permissions.preview(&plan.request) else {
            return Ok(());
        };
        let sandbox = Arc::clone(sandbox);
        // Large directories are searched.
        let checked = skills_threads::run_blocking(move || sandbox.check_grants(&grants)).await;
        let checked =
            checked.map_err(|error| SandboxError::setup("searching for files with keys", error))?;
        if let Err(error) = checked
            && error.required_keys().len() <= MAX_REQUIRED_KEYS
        {
            let keys = error.required_keys().iter();
            plan.request = keys.fold(plan.request.clone(), Request::read_keys);
        }
        Ok(())
    }

    /// Authorizes a run with the programs that its skill requires. If nothing grants these, the run
    /// is authorized without them: many scripts need them only for a part of what they do.
    pub(super) async fn authorize_with_programs(
        &self,
        plan: &mut RunPlan,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        let without = plan.request.clone();
        let programs = self.request_programs(plan);
        if programs.is_empty() {
            return self.authorize(plan, record).await;
        }
        match self.authorize(plan, record).await? {
            (Authorization::Denied(denial), _) if !denial.was_asked() => {
                plan.request = without;
                plan.dropped_programs = programs;
                self.authorize(plan, record).await
            }
            decided => Ok(decided),
        }
    }

    /// Authorizes the run by rules, stored approvals, then the approver. If the decision depends on
    /// the content, a private copy is created first; that copy is authorized and run.
    async fn authorize(
        &self,
        plan: &RunPlan,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        if let Some(decision) = self.decide_without_content(plan) {
            return Ok((decision, None));
        }
        let directories = &self.config().directories;
        let directories = if !plan.uses_programs_of_host() {
            directories.without_memory()
        } else {
            directories.clone()
        };
        let content = self.copy_content(&plan.subject, directories).await?;
        check_locked_content(&plan.subject, content.as_deref())?;
        // Before the approver is asked, who must see a request that belongs to this content.
        self.check_manifest_unchanged(&plan.subject, content.as_deref())?;
        let digest = content.as_ref().map(|content| content.digest.clone());
        let manifest = plan.subject.skill().map(|skill| &skill.manifest);
        record.set_skill(plan.subject.name(), digest, manifest);
        let request = plan.request_for_content(content.as_deref());
        let decision = match self.permissions.evaluate(&request) {
            Evaluation::Decided(decision) => *decision,
            Evaluation::NeedsApproval(_) => {
                self.request_approval(&request, &plan.options.context)
                    .await?
            }
        };
        Ok((decision, content))
    }

    /// Returns the decision by rules alone on an unprivileged request, which spares the copy. `None`
    /// if the digest can matter: an audit log records it, a lock file requires it, or an approval is
    /// stored.
    fn decide_without_content(&self, plan: &RunPlan) -> Option<Authorization> {
        let is_locked = plan.subject.locked_digest().is_some();
        let has_approval = || self.permissions.has_stored_approval(&plan.request);
        if self.config().recorder.is_enabled() || is_locked || has_approval() {
            return None;
        }
        match self.permissions.evaluate(&plan.request) {
            Evaluation::Decided(decision) => match *decision {
                Authorization::Granted(grants) if is_privileged(&grants) => None,
                decision => Some(decision),
            },
            Evaluation::NeedsApproval(_) => None,
        }
    }

    /// Asks the approver, unless its response to an earlier request decides this one as well.
    async fn request_approval(
        &self,
        request: &Request,
        context: &CallContext,
    ) -> Result<Authorization, RuntimeError> {
        let permissions = &self.permissions;
        // Requests to one approver are serialized. The second evaluation uses the response to an
        // earlier request, so that the approver is not asked twice for the same.
        let cancellation = context.cancellation.as_ref();
        let lock = self.shared.approval_queue.lock_for(context);
        let _guard = unless_cancelled(cancellation, lock.lock()).await?;
        let pending = match permissions.evaluate(request) {
            Evaluation::Decided(decision) => return Ok(*decision),
            Evaluation::NeedsApproval(pending) => *pending,
        };
        let response = permissions.request_approval(pending, context.approver.as_deref());
        let response = timeout(self.config().approval_timeout, response);
        let Ok(decision) = unless_cancelled(cancellation, response).await? else {
            // A late response is discarded.
            return Ok(match permissions.evaluate(request) {
                Evaluation::NeedsApproval(pending) => permissions.timed_out(*pending),
                Evaluation::Decided(decision) => *decision,
            });
        };
        Ok(decision)
    }

    /// Rejects content whose `SKILL.md` differs from the one that the request was built from.
    pub(super) fn check_manifest_unchanged(
        &self,
        subject: &RunSubject,
        content: Option<&SkillCopy>,
    ) -> Result<(), RuntimeError> {
        let (Some(skill), Some(copy)) = (subject.skill(), content.and_then(SkillCopy::files))
        else {
            return Ok(());
        };
        let text = copy.and_then(|copy| copy.read(skill.files.file_name(), MAX_FILE_BYTES));
        // A `SKILL.md` outside the skill directory is not part of the copy.
        let text = text
            .or_else(|_| skill.files.read_skill_file())
            .map_err(|source| LibraryError::file_access(skill.entry.location(), source))?;
        match skill.files.parse(&text) {
            Ok(document) if *document.manifest() == skill.manifest => Ok(()),
            _ => Err(self.content_changed(subject)),
        }
    }

    /// Rejects a skill that changed since it was authorized. The authorized copy would run in any
    /// case; an error is better than to run an outdated version silently.
    ///
    /// Returns the directories that the authorization does not cover, which the run must not see. The
    /// copy does not contain them, but another grant, such as that of a project around the skill, can
    /// lead to the skill directory itself.
    pub(super) async fn check_content_unchanged(
        &self,
        subject: &RunSubject,
        content: Option<&SkillCopy>,
    ) -> Result<Vec<PathBuf>, RuntimeError> {
        // The digest of a command covers no files.
        let (Some(content), Some(skill)) = (content, subject.skill()) else {
            return Ok(Vec::new());
        };
        match self.digested_content(skill).await? {
            Some(current) if current.digest.to_string() == content.digest => {
                let directories = current.generated_directories.iter();
                Ok(directories
                    .map(|directory| skill.entry.directory().join(directory))
                    .collect())
            }
            _ => Err(self.content_changed(subject)),
        }
    }

    /// Clears the cached digests and returns the error for changed content.
    fn content_changed(&self, subject: &RunSubject) -> RuntimeError {
        self.config().digests.lock().clear();
        Repr::ContentChanged {
            skill: subject.name().to_owned(),
            path: subject.location(),
        }
        .into()
    }

    /// Finds or creates the private copy of a skill on a blocking thread.
    pub(super) async fn copy_content(
        &self,
        subject: &RunSubject,
        directories: CopyDirectories,
    ) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let Some(skill) = subject.skill() else {
            return Ok(subject
                .digest(&self.config().digests)
                .map(SkillCopy::for_command));
        };
        let executor = self.clone();
        let files = Arc::clone(&skill.files);
        // Copying and hashing read up to 256 MiB.
        skills_threads::run_blocking(move || {
            executor.shared.copies.get_or_create(&files, &directories)
        })
        .await
        .map_err(|error| SandboxError::setup("copying the skill", error))?
    }

    /// Computes a content digest on a blocking thread, since it can read up to 256 MiB.
    pub(super) async fn content_digest(
        &self,
        subject: &RunSubject,
    ) -> Result<Option<String>, RuntimeError> {
        let Some(skill) = subject.skill() else {
            return Ok(subject.digest(&self.config().digests));
        };
        let content = self.digested_content(skill).await?;
        Ok(content.map(|content| content.digest.to_string()))
    }

    async fn digested_content(
        &self,
        skill: &SkillSubject,
    ) -> Result<Option<DigestedContent>, RuntimeError> {
        let digests = Arc::clone(&self.config().digests);
        let files = Arc::clone(&skill.files);
        let content = skills_threads::run_blocking(move || digests.digested_content(&files)).await;
        let content = content.map_err(|error| SandboxError::setup("reading the skill", error))?;
        Ok(content.ok())
    }
}

/// Rejects a locked skill with other content than its lock file requires. It can have changed since
/// the scan, which compares the same digests.
pub(super) fn check_locked_content(
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
