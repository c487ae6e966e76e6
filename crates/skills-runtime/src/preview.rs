//! Preview and prior approval of a run.

use skills_policy::{ApprovalRequest, Authorization, Evaluation};

use crate::error::{Repr, RuntimeError};
use crate::{ExecutionMode, ExecutionOptions, SkillRuntime};

/// Preview of a run: what would run, what it would be granted, and why.
///
/// Nothing runs and no approver is asked. Pass `approval_request` to
/// [`SkillRuntime::approve_skill`] to store a permanent approval for exactly this request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The skill's name.
    pub skill: String,
    /// The program that would run.
    pub mode: ExecutionMode,
    /// Content digest of the skill, if it can be computed.
    pub digest: Option<String>,
    /// Result of rules and stored approvals, without asking an approver.
    pub authorization: Authorization,
    /// The request that needs approval, if any. In [strict mode](skills_policy::ApprovalMode::Strict) a run
    /// does not prompt, but the request can still be approved here.
    pub approval_request: Option<ApprovalRequest>,
    /// The entries of `allowed-tools` that have no effect for this run, and why.
    pub unused_tools: Vec<(String, &'static str)>,
    /// Missing requirements. If there are any, a run fails by default.
    pub missing_requirements: Vec<String>,
    /// The backend that would run the program, or why none is available or cannot enforce the
    /// grants.
    pub backend: Result<&'static str, String>,
}

impl SkillRuntime {
    /// Previews a run without asking an approver or running anything.
    ///
    /// # Errors
    /// Same as [`execute_skill`](Self::execute_skill) for errors before authorization, except that
    /// missing requirements are not an error.
    pub fn preview_skill(
        &self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Preview, RuntimeError> {
        let planned = self.plan(name, options.resolve_paths()?, None)?;
        let digest = planned.target.digest(self);
        let planned = self.with_optional_mounts(planned, digest.as_deref());
        let request = planned.request_for_digest(digest.as_deref());
        let question = match self.shared.permissions.evaluate(&request) {
            Evaluation::NeedsApproval(pending) => Some(pending.approval_request().clone()),
            Evaluation::Decided(_) => None,
        };
        let decision = self.shared.permissions.preview(&request);
        let backend = self
            .shared
            .backends
            .for_mode(&planned.mode)
            .and_then(|backend| {
                // Grants that cannot be enforced do not run.
                if let Authorization::Granted(grants) = &decision {
                    backend.check_grants(grants)?;
                }
                Ok(backend.name())
            });
        Ok(Preview {
            skill: planned.target.name().to_owned(),
            digest,
            authorization: decision,
            approval_request: question,
            unused_tools: request.unused_tools(),
            missing_requirements: self.missing_for_run(&planned),
            backend: backend.map_err(|error| error.to_string()),
            mode: planned.mode,
        })
    }

    /// Stores a permanent approval for exactly the request of a [`Preview`] that was shown. Stores
    /// nothing if the request no longer needs approval.
    ///
    /// # Errors
    /// Same as [`preview_skill`](Self::preview_skill); also fails if the skill or its request
    /// changed since it was shown, or if the approval cannot be stored.
    pub fn approve_skill(
        &self,
        name: &str,
        options: &ExecutionOptions,
        shown: &ApprovalRequest,
    ) -> Result<Authorization, RuntimeError> {
        let planned = self.plan(name, options.resolve_paths()?, None)?;
        let digest = planned.target.digest(self);
        let planned = self.with_optional_mounts(planned, digest.as_deref());
        let request = planned.request_for_digest(digest.as_deref());
        match self.shared.permissions.evaluate(&request) {
            Evaluation::Decided(decision) => Ok(*decision),
            Evaluation::NeedsApproval(pending) if pending.approval_request() == shown => self
                .shared
                .permissions
                .approve_permanently(*pending)
                .map_err(|source| Repr::Approval(source).into()),
            Evaluation::NeedsApproval(_) => {
                let (skill, path) = (planned.target.name().to_owned(), planned.target.location());
                Err(Repr::ContentChanged { skill, path }.into())
            }
        }
    }
}
