//! What a run would be given, and approving it beforehand.

use skills_policy::{ApprovalRequest, Authorization, Evaluation};

use crate::error::{Repr, RuntimeError};
use crate::{ExecutionMode, ExecutionOptions, SkillRuntime};

/// What a run would be given, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The skill's name.
    pub skill: String,
    /// What would run.
    pub mode: ExecutionMode,
    /// The digest of the skill's files, when one can be had.
    pub digest: Option<String>,
    /// What the rules and stored approvals come to when nobody is asked.
    pub authorization: Authorization,
    /// What an answer is missing to. In [strict mode](skills_policy::Mode::Strict) nobody is asked
    /// at a run, but it can be approved.
    pub approval_request: Option<ApprovalRequest>,
    /// The entries of `allowed-tools` that ask for nothing that a program could be given here, and
    /// why.
    pub unused_tools: Vec<(String, &'static str)>,
    /// What the skill says it needs and is not here. A run would fail.
    pub missing_requirements: Vec<String>,
    /// The backend that would run it, or why there is none or it would refuse what was granted.
    pub backend: Result<&'static str, String>,
}

impl SkillRuntime {
    /// Says what a run would be given and why, without asking anybody or running anything.
    ///
    /// # Errors
    /// As [`execute_skill`](Self::execute_skill), for what is found before the decision; missing
    /// requirements are no error here.
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
                // What is granted and cannot be enforced does not run.
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
            missing_requirements: self.missing_requirements(&planned),
            backend: backend.map_err(|error| error.to_string()),
            mode: planned.mode,
        })
    }

    /// Approves for good, as [`Answer::Always`](skills_policy::Answer::Always) would, what somebody
    /// saw in the question of a [`Preview`]. Where nothing is open any more, nothing is approved.
    ///
    /// # Errors
    /// As [`preview_skill`](Self::preview_skill), when the skill or what it asks for is not what
    /// was shown any more, and when the approval cannot be kept.
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
