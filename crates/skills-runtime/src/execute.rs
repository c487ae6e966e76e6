//! Runs a skill or a host command: plans, authorizes, executes and records.

mod grants;
mod notes;

use std::path::Path;
use std::sync::Arc;

use skills_audit::Disposition as Recorded;
use skills_manifest::{Document, MAX_FILE_BYTES};
use skills_policy::{Authorization, Evaluation, Grants};
use skills_sandbox::{CancellationToken, RunOutput, Sandbox};
use tokio::time::timeout;

use self::grants::{check_canonical, create_missing_dirs, is_privileged, is_writable, used_tools};
use self::notes::{notes_before_run, report_unwritten_files};
use crate::error::{Repr, RuntimeError};
use crate::job::build_job;
use crate::run_plan::RunPlan;
use crate::run_record::RunRecord;
use crate::run_target::{HOST_COMMAND_NAME, RunTarget};
use crate::secrets::Redactor;
use crate::skill_copies::SkillCopy;
use crate::workspace::ActiveWorkspace;
use crate::{ExecutionArtifacts, ExecutionOptions, OnMissing, SkillRuntime, Workspace};

impl SkillRuntime {
    /// Runs a skill's program in a sandbox.
    ///
    /// A program that fails, is killed or is denied is returned as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called in a Tokio runtime with
    /// time and I/O enabled. Dropping the future kills the program. With an [audit
    /// log](crate::Builder::audit), each call writes exactly one record.
    ///
    /// The program of this example runs in a backend for tests, which returns its input. Without
    /// [`native_sandbox`](crate::Builder::native_sandbox) it runs in the backend of the system.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use serde_json::json;
    /// use skills_runtime::{ExecutionOptions, ExecutionStatus, HostCommand, Root, Scope, SkillRuntime};
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
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let runtime = SkillRuntime::builder()
    ///     .root(Root::new(directory.path(), Scope::User))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let options = ExecutionOptions::default().input(json!({"name": "Ada"}));
    /// let artifacts = runtime.execute_skill("greet", options.clone()).await?;
    /// assert!(artifacts.exit_status.is_success());
    /// assert_eq!(artifacts.output, json!({"name": "Ada"}));
    ///
    /// // Rules do not allow this command and there is no approver: the result is a denial, not an error.
    /// let mut options = options;
    /// options.command = Some(HostCommand::Program("git".to_owned()));
    /// let artifacts = runtime.execute_skill("greet", options).await?;
    /// assert!(matches!(artifacts.exit_status, ExecutionStatus::PermissionDenied { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the skill or its program is not found, if a declared restriction cannot be parsed,
    /// if requirements are missing, if no sandbox is available, or if the skill changed after it
    /// was authorized; then nothing ran. Also fails if the audit record cannot be written, in which
    /// case the error can have the [artifacts](RuntimeError::artifacts).
    pub async fn execute_skill(
        &self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.execute(name, options, None).await
    }

    /// Runs a [host command](ExecutionOptions::command) on a directory, without a skill. The
    /// command can read the directory unless a rule denies it, and write it if that is
    /// [requested](ExecutionOptions::writable_paths) and allowed. The directory is its default
    /// working directory. The workspace of `options` is ignored.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::{ApprovalResponse, ExecutionOptions, HostCommand, SkillRuntime};
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
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let runtime = SkillRuntime::builder()
    ///     .approver(Arc::new(ApprovalResponse::AllowOnce))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let mut options = ExecutionOptions::default();
    /// options.command = Some(HostCommand::Program("ls".to_owned()));
    /// options.args = vec!["-l".to_owned()];
    /// let artifacts = runtime.execute_command(directory.path(), options).await?;
    /// assert_eq!(artifacts.mode.program(), "ls");
    /// assert!(artifacts.exit_status.is_success());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the directory does not exist or `options` has no command; otherwise the same as
    /// [`execute_skill`](Self::execute_skill).
    pub async fn execute_command(
        &self,
        directory: &Path,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        // First: without a writable log nothing runs, and from here on every return leaves a
        // record.
        let mut record = self.shared.recorder.begin(HOST_COMMAND_NAME)?;
        let result = async {
            let directory = directory
                .canonicalize()
                .map_err(|source| Repr::OptionalPath {
                    path: directory.to_owned(),
                    source,
                })?;
            let options = options.resolve_paths()?;
            let workspace = ActiveWorkspace::new(
                &Workspace::Directory(directory.clone()),
                &self.shared.scratch,
            )?;
            let plan = self.plan_command(&directory, options)?;
            record.set_program(plan.mode.program());
            self.execute_plan(&mut record, plan, workspace).await
        };
        let result = result.await;
        record.close(result)
    }

    /// Runs a program, optionally as a hook.
    pub(crate) async fn execute(
        &self,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut record = self.shared.recorder.begin(name)?;
        let result = self
            .execute_recorded(&mut record, name, options, hook)
            .await;
        record.close(result)
    }

    /// Records an attempt that was rejected before it started. Returns the error if the record
    /// cannot be written.
    pub(crate) fn record_rejection(
        &self,
        name: &str,
        program: &str,
        reason: &'static str,
    ) -> Option<RuntimeError> {
        let mut record = match self.shared.recorder.begin(name) {
            Ok(record) => record,
            Err(error) => return Some(error),
        };
        record.set_program(program);
        record.close(Err(Repr::Hook { reason }.into())).err()
    }

    async fn execute_recorded(
        &self,
        record: &mut RunRecord,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let options = options.resolve_paths()?;
        // After the paths are resolved, since policy and sandbox compare canonical paths.
        let workspace = ActiveWorkspace::new(&options.workspace, &self.shared.scratch)?;
        let mut plan = self.plan(name, options, workspace.as_ref())?;
        if let Some(hook) = hook {
            plan.request = plan.request.hook(hook);
        }
        record.set_program(hook.unwrap_or_else(|| plan.mode.program()));
        self.execute_plan(record, plan, workspace).await
    }

    /// Authorizes and runs a plan, and collects its results.
    async fn execute_plan(
        &self,
        record: &mut RunRecord,
        plan: RunPlan,
        workspace: Option<ActiveWorkspace>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let plan = self.with_allowed_mounts(plan).await;
        let skill = plan.target.name().to_owned();
        let manifest = plan.target.skill().map(|skill| &skill.manifest);
        record.set_skill(&skill, None, manifest);
        let missing = self.missing_for_run(&plan);
        let sandbox = self.check_startable(&plan, &missing)?;
        // From here on the record is redacted, whether the run is denied, fails or succeeds.
        record.redactor = Redactor::new(
            plan.variables
                .iter()
                .map(|(name, value)| (name.as_str(), value.expose_secret())),
        );
        let (authorization, content) = self.authorize(&plan, record).await?;
        let grants = match authorization {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => {
                record.record_decision(Recorded::Denied, denial.decisions());
                return Ok(ExecutionArtifacts::denied(skill, plan.mode, denial));
            }
        };
        record.record_limits(grants.limits());
        record.record_decision(Recorded::Granted, grants.decisions());
        // Files in a workspace that the program cannot write are not its output.
        let mut workspace = workspace.filter(|workspace| is_writable(workspace, &grants));
        let permissions_used = manifest
            .map(|manifest| used_tools(&grants, manifest))
            .unwrap_or_default();
        let decisions = grants.decisions().to_vec();
        let notes = notes_before_run(&plan, &grants, &record.redactor, &missing);
        let output = self
            .run(
                &plan,
                grants,
                content.as_deref(),
                &mut workspace,
                record,
                sandbox.as_ref(),
            )
            .await?;
        let mut artifacts = ExecutionArtifacts::new(skill, plan.mode, output, &record.redactor);
        artifacts.output_files = workspace
            .map(|workspace| workspace.collect_output(&record.redactor))
            .unwrap_or_default();
        artifacts.decisions = decisions;
        artifacts.permissions_used = permissions_used;
        artifacts.notes.extend(notes);
        report_unwritten_files(&mut artifacts);
        Ok(artifacts)
    }

    /// Adds the optional mounts that are granted without approval.
    async fn with_allowed_mounts(&self, plan: RunPlan) -> RunPlan {
        // Stored approvals are valid for one content, so optional mounts depend on its digest.
        let digest = if plan.options.optional_mounts.is_empty() {
            None
        } else {
            self.content_digest(&plan.target).await
        };
        self.with_optional_mounts(plan, digest.as_deref())
    }

    /// Checks the requirements and returns the backend of the program. Called before authorization,
    /// so that no approver is asked for a run that cannot start.
    fn check_startable(
        &self,
        plan: &RunPlan,
        missing: &[String],
    ) -> Result<Arc<dyn Sandbox>, RuntimeError> {
        if !missing.is_empty() && self.shared.on_missing_requirements == OnMissing::Fail {
            return Err(Repr::MissingRequirements {
                skill: plan.target.name().to_owned(),
                missing: missing.to_vec(),
            }
            .into());
        }
        // There is no fallback to another backend.
        Ok(Arc::clone(self.shared.backends.for_mode(&plan.mode)?))
    }

    /// Authorizes the run by rules, stored approvals, then the approver. If the decision depends on
    /// the content, a private copy is created first; that copy is authorized and run.
    async fn authorize(
        &self,
        plan: &RunPlan,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        let permissions = &self.shared.permissions;
        // Without an audit log, which needs the digest, a decision by rules alone on an
        // unprivileged request spares the copy.
        if !self.shared.recorder.is_enabled()
            && let Evaluation::Decided(decision) = permissions.evaluate(&plan.request)
            && !matches!(&*decision, Authorization::Granted(grants) if is_privileged(grants))
        {
            return Ok((*decision, None));
        }
        let content = self.copy_content(&plan.target).await?;
        // Before the approver is asked, who must see a request that belongs to this content.
        self.check_manifest_unchanged(plan, content.as_deref())?;
        let digest = content.as_ref().map(|content| content.digest.clone());
        record.set_skill(
            plan.target.name(),
            digest,
            plan.target.skill().map(|skill| &skill.manifest),
        );
        let request = plan.request_for_content(content.as_deref());
        if let Evaluation::Decided(decision) = permissions.evaluate(&request) {
            return Ok((*decision, content));
        }
        // Requests to one approver are serialized. The second evaluation uses the response to an
        // earlier request, so that the approver is not asked twice for the same.
        let cancellation = plan.options.cancellation.as_ref();
        let lock = self.shared.approval_queue.lock_for(&plan.options);
        let _guard = unless_cancelled(cancellation, lock.lock()).await?;
        let pending = match permissions.evaluate(&request) {
            Evaluation::Decided(decision) => return Ok((*decision, content)),
            Evaluation::NeedsApproval(pending) => *pending,
        };
        let response = permissions.request_approval(pending, plan.options.approver.as_deref());
        let decision = match unless_cancelled(
            cancellation,
            timeout(self.shared.approval_timeout, response),
        )
        .await?
        {
            Ok(decision) => decision,
            // A late response is discarded.
            Err(_) => match permissions.evaluate(&request) {
                Evaluation::NeedsApproval(pending) => permissions.timed_out(*pending),
                Evaluation::Decided(decision) => *decision,
            },
        };
        Ok((decision, content))
    }

    /// Rejects content whose `SKILL.md` differs from the one that the request was built from.
    fn check_manifest_unchanged(
        &self,
        plan: &RunPlan,
        content: Option<&SkillCopy>,
    ) -> Result<(), RuntimeError> {
        let (Some(skill), Some(copy)) = (plan.target.skill(), content.and_then(SkillCopy::files))
        else {
            return Ok(());
        };
        let text = copy.and_then(|copy| copy.read(skill.files.file_name(), MAX_FILE_BYTES));
        // A `SKILL.md` outside the skill directory is not part of the copy.
        let text = text
            .or_else(|_| skill.files.read_skill_file())
            .map_err(|source| Repr::FileAccess {
                path: skill.entry.location(),
                source,
            })?;
        match Document::parse(&text) {
            Ok(document) if *document.manifest() == skill.manifest => Ok(()),
            _ => Err(self.content_changed(&plan.target)),
        }
    }

    /// Clears the cached digests and returns the error for changed content.
    fn content_changed(&self, target: &RunTarget) -> RuntimeError {
        self.shared.copies.clear_digests();
        Repr::ContentChanged {
            skill: target.name().to_owned(),
            path: target.location(),
        }
        .into()
    }

    /// Finds or creates the private copy of a skill on a blocking thread.
    async fn copy_content(
        &self,
        target: &RunTarget,
    ) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let Some(skill) = target.skill() else {
            return Ok(target
                .digest(&self.shared.copies)
                .map(SkillCopy::for_command));
        };
        let runtime = self.clone();
        let files = Arc::clone(&skill.files);
        // Copying and hashing read up to 256 MiB.
        tokio::task::spawn_blocking(move || {
            let shared = &runtime.shared;
            shared.copies.get_or_create(&files, &shared.scratch)
        })
        .await
        .unwrap_or(Ok(None))
    }

    /// Computes a content digest on a blocking thread, since it can read up to 256 MiB.
    async fn content_digest(&self, target: &RunTarget) -> Option<String> {
        let Some(skill) = target.skill() else {
            return target.digest(&self.shared.copies);
        };
        let runtime = self.clone();
        let files = Arc::clone(&skill.files);
        tokio::task::spawn_blocking(move || runtime.shared.copies.digest(&files))
            .await
            .ok()
            .flatten()
    }

    /// Rejects a granted directory that contains the scratch directory: the program could access
    /// private copies and workspaces of other runs.
    fn check_outside_scratch(&self, grants: &Grants) -> Result<(), RuntimeError> {
        // Granted paths are canonical, so the scratch directory is compared in that form.
        let scratch = self
            .shared
            .scratch
            .canonicalize()
            .unwrap_or_else(|_| self.shared.scratch.clone());
        match grants
            .files()
            .iter()
            .find(|file| scratch.starts_with(file.path()))
        {
            Some(file) => Err(Repr::ContainsScratch {
                path: file.path().to_owned(),
                scratch,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Acquires a run permit, verifies that paths and content digest are unchanged, then runs.
    async fn run(
        &self,
        plan: &RunPlan,
        grants: Grants,
        content: Option<&SkillCopy>,
        workspace: &mut Option<ActiveWorkspace>,
        record: &mut RunRecord,
        sandbox: &dyn Sandbox,
    ) -> Result<RunOutput, RuntimeError> {
        let cancellation = plan.options.cancellation.as_ref();
        // Before the job starts, so that the wait does not count as time of the run.
        let _permit = unless_cancelled(cancellation, self.shared.run_permits.acquire())
            .await?
            .map_err(|_| Repr::Closed)?;
        // Paths are checked after the wait for a permit, which can take minutes in which another
        // program may replace a directory by a symlink.
        create_missing_dirs(&grants, plan.workspace.as_deref())?;
        check_canonical(&grants)?;
        self.check_outside_scratch(&grants)?;
        let job = build_job(plan, content, grants)?;
        // The authorized copy would run in any case. This check reports that the skill changed
        // during the prompt or the wait, instead of running an outdated version silently.
        if let Some(content) = content
            && self.content_digest(&plan.target).await.as_ref() != Some(&content.digest)
        {
            return Err(self.content_changed(&plan.target));
        }
        // As late as possible: what others changed during the wait is not output of this program.
        if let Some(workspace) = workspace {
            workspace.snapshot();
        }
        // Only size and hash, since a record contains no content.
        record.update(|event| {
            event.input = Some(skills_audit::ContentHash::from_prefix(
                job.stdin_bytes(),
                job.stdin_bytes().len() as u64,
            ))
        });
        Ok(sandbox.run(job).await?)
    }
}

/// Awaits a future, unless the run is cancelled.
async fn unless_cancelled<T>(
    cancellation: Option<&CancellationToken>,
    wait: impl Future<Output = T>,
) -> Result<T, RuntimeError> {
    let Some(cancellation) = cancellation else {
        return Ok(wait.await);
    };
    // Biased, so that a run that was cancelled before this wait never starts.
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(Repr::Cancelled.into()),
        waited = wait => Ok(waited),
    }
}
