//! Preview and prior approval of a run.

use skills_policy::{ApprovalRequest, Authorization, Evaluation, Permission};

use super::Executor;
use super::run_plan::RunPlan;
use crate::error::{Repr, RuntimeError};
use crate::{ExecutionMode, ExecutionOptions};

/// Preview of a run: what would run, what it would be granted, and why.
///
/// Nothing runs and no approver is asked. Pass `approval_request` to
/// [`Executor::approve`] to store a permanent approval for exactly this request.
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
    /// The request that needs approval, if any. In [strict
    /// mode](skills_policy::ApprovalMode::Strict) a run does not prompt, but the request can still
    /// be approved here.
    pub approval_request: Option<ApprovalRequest>,
    /// What [`Executor::approve`] can approve in advance, if anything: in addition to
    /// `approval_request`, programs and hosts that the rules of the invocation allow and those that
    /// only standing rules request.
    pub request_in_advance: Option<ApprovalRequest>,
    /// What standing rules allow, but not to this content, which is not approved.
    pub withheld: Vec<Permission>,
    /// The entries of `allowed-tools` that have no effect for this run, and why.
    pub unused_tools: Vec<(String, &'static str)>,
    /// Missing requirements.
    pub missing_requirements: Vec<String>,
    /// Those without which the skill does not run, as
    /// [`on_missing_requirements`](crate::Builder::on_missing_requirements) says.
    pub blocking_requirements: Vec<String>,
    /// The backend that would run the program, or why none is available or cannot enforce the
    /// grants.
    pub backend: Result<&'static str, String>,
}

impl Executor {
    /// Previews a run without asking an approver or running anything.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::{Authorization, ExecutionOptions, FileApprovalStore, Root, Scope};
    /// use skills_runtime::{SkillRuntime, format_approval_request};
    ///
    /// # use skills_runtime::{CapturedOutput, EnforcementReport, Sandbox, Termination};
    /// # use skills_sandbox::{Job, RunFuture, RunOutput};
    /// # struct Echo;
    /// # impl Sandbox for Echo {
    /// #     fn name(&self) -> &'static str { "echo" }
    /// #     fn run(&self, job: Job) -> RunFuture<'_> {
    /// #         let mut stdout = CapturedOutput::default();
    /// #         stdout.push(job.stdin_bytes(), 1_000);
    /// #         let exited = Termination::Exited { code: 0 };
    /// #         let report = EnforcementReport::new("echo");
    /// #         let output = RunOutput::new(exited, stdout, CapturedOutput::default(), std::time::Duration::ZERO, report);
    /// #         Box::pin(std::future::ready(Ok(output)))
    /// #     }
    /// # }
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\nallowed-tools: Bash(git:*)\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// // The frontmatter of the skill: `allowed-tools: Bash(git:*)`
    /// let runtime = SkillRuntime::builder()
    ///     .root(Root::new(directory.path(), Scope::User))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .approval_store(Arc::new(FileApprovalStore::new(directory.path().join("approvals.json"))))
    ///     .build();
    /// let options = ExecutionOptions::default();
    /// let preview = runtime.executor().preview("greet", &options)?;
    /// assert!(matches!(preview.authorization, Authorization::Denied(_)));
    ///
    /// let request = preview.approval_request.expect("rules leave it open");
    /// println!("{}", format_approval_request(&request));
    /// let authorization = runtime.executor().approve("greet", &options, &request)?;
    /// assert!(matches!(authorization, Authorization::Granted(_)));
    /// assert!(runtime.executor().preview("greet", &options)?.approval_request.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`execute`](Self::execute) for errors before authorization, except that
    /// missing requirements are not an error.
    pub fn preview(&self, name: &str, options: &ExecutionOptions) -> Result<Preview, RuntimeError> {
        self.preview_as(name, options, None)
    }

    /// Previews a run, of a hook if its title is given.
    pub(crate) fn preview_as(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<Preview, RuntimeError> {
        let (plan, digest) = self.plan_preview(name, options, hook)?;
        let request = plan.request_for_digest(digest.as_deref());
        let approval_request = pending_request(&self.permissions.evaluate(&request));
        let request_in_advance = pending_request(&self.permissions.evaluate_in_advance(&request));
        let authorization = self.permissions.preview(&request);
        let withheld = match &authorization {
            Authorization::Granted(grants) => self
                .permissions
                .withheld_by_rules(&request, grants.decisions()),
            Authorization::Denied(_) => Vec::new(),
        };
        let backend = self
            .config()
            .backends
            .for_run(plan.subject.name(), &plan.mode, plan.options.sandbox)
            .and_then(|backend| {
                // Grants that cannot be enforced do not run.
                if let Authorization::Granted(grants) = &authorization {
                    backend.check_grants(grants)?;
                }
                Ok(backend.name())
            });
        let missing = self.missing_for_run(&plan);
        Ok(Preview {
            skill: plan.subject.name().to_owned(),
            digest,
            authorization,
            approval_request,
            request_in_advance,
            withheld,
            unused_tools: request.unused_tools(),
            missing_requirements: missing.to_lines(),
            blocking_requirements: self.blocking(&missing),
            backend: backend.map_err(|error| error.to_string()),
            mode: plan.mode,
        })
    }

    /// Stores a permanent approval for exactly the request of a [`Preview`] that was shown. Stores
    /// nothing if the request no longer needs approval.
    ///
    /// # Errors
    /// Same as [`preview`](Self::preview); also fails if the skill or its request
    /// changed since it was shown, or if the approval cannot be stored.
    pub fn approve(
        &self,
        name: &str,
        options: &ExecutionOptions,
        shown: &ApprovalRequest,
    ) -> Result<Authorization, RuntimeError> {
        self.approve_as(name, options, None, shown)
    }

    /// Stores a permanent approval for a run, of a hook if its title is given.
    pub(crate) fn approve_as(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: Option<&str>,
        shown: &ApprovalRequest,
    ) -> Result<Authorization, RuntimeError> {
        let (plan, digest) = self.plan_preview(name, options, hook)?;
        let request = plan.request_for_digest(digest.as_deref());
        let permissions = &self.permissions;
        let evaluations = [
            permissions.evaluate(&request),
            permissions.evaluate_in_advance(&request),
        ];
        let mut decided = None;
        for evaluation in evaluations {
            match evaluation {
                Evaluation::Decided(authorization) => decided = Some(authorization),
                // An answer allows only what the request showed, so the request must not have
                // changed since.
                Evaluation::NeedsApproval(pending) if pending.approval_request() == shown => {
                    return permissions
                        .approve_permanently(*pending)
                        .map_err(|source| Repr::Approval(source).into());
                }
                Evaluation::NeedsApproval(_) => {}
            }
        }
        match decided {
            Some(authorization) => Ok(*authorization),
            None => Err(Repr::ContentChanged {
                skill: plan.subject.name().to_owned(),
                path: plan.subject.location(),
            }
            .into()),
        }
    }

    /// Plans a run and returns the content digest, if it can be computed.
    fn plan_preview(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<(RunPlan, Option<String>), RuntimeError> {
        // Without a workspace: a preview creates no files.
        let mut plan = self.plan(name, options.clone().resolve_paths()?, None)?;
        if let Some(hook) = hook {
            plan.request = plan.request.hook(hook);
        }
        let digest = plan.subject.digest(&self.config().digests);
        let plan = self.with_optional_mounts(plan, digest.as_deref());
        let plan = self.with_programs(plan, digest.as_deref());
        Ok((plan, digest))
    }
}

fn pending_request(evaluation: &Evaluation) -> Option<ApprovalRequest> {
    match evaluation {
        Evaluation::NeedsApproval(pending) => Some(pending.approval_request().clone()),
        Evaluation::Decided(_) => None,
    }
}
