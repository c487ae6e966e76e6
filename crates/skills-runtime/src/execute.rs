//! Runs a skill or a host command: plans, authorizes, executes and records.

use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_audit::Disposition as Recorded;
use skills_manifest::{Document, MAX_FILE_BYTES, Manifest};
use skills_policy::{Access, Authorization, Capability, Evaluation, Grants};
use skills_sandbox::{CancellationToken, RunOutput, Sandbox, Termination};
use tokio::time::timeout;

use crate::error::{Repr, RuntimeError};
use crate::job::{MAX_VARIABLE_INPUT_BYTES, build_job};
use crate::run_plan::RunPlan;
use crate::run_record::RunRecord;
use crate::run_target::{HOST_COMMAND_NAME, RunTarget};
use crate::secrets::Redactor;
use crate::skill_copies::SkillCopy;
use crate::workspace::ActiveWorkspace;
use crate::{
    ExecutionArtifacts, ExecutionOptions, ExecutionStatus, InputProtocol, OnMissing, SkillRuntime,
    Workspace,
};

impl SkillRuntime {
    /// Runs a skill's program in a sandbox.
    ///
    /// A program that fails, is killed or is denied is returned as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called in a Tokio runtime with
    /// time and I/O enabled. Dropping the future kills the program. With an [audit
    /// log](crate::Builder::audit), each call writes exactly one record.
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
    /// # Errors
    /// Fails if the directory does not exist or `options` has no command; otherwise the same as
    /// [`execute_skill`](Self::execute_skill).
    pub async fn execute_command(
        &self,
        directory: &Path,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut attempt = self.shared.recorder.begin(HOST_COMMAND_NAME)?;
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
            let planned = self.plan_command(&directory, options)?;
            attempt.set_program(planned.mode.program());
            self.execute_plan(&mut attempt, planned, workspace).await
        };
        let result = result.await;
        attempt.close(result)
    }

    /// Runs a program, optionally as a hook.
    pub(crate) async fn execute(
        &self,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut attempt = self.shared.recorder.begin(name)?;
        let result = self
            .execute_recorded(&mut attempt, name, options, hook)
            .await;
        attempt.close(result)
    }

    /// Records an attempt that was rejected before it started. Returns the error if the record
    /// cannot be written.
    pub(crate) fn record_rejection(
        &self,
        name: &str,
        program: &str,
        reason: &'static str,
    ) -> Option<RuntimeError> {
        let mut attempt = match self.shared.recorder.begin(name) {
            Ok(attempt) => attempt,
            Err(error) => return Some(error),
        };
        attempt.set_program(program);
        attempt.close(Err(Repr::Hook { reason }.into())).err()
    }

    async fn execute_recorded(
        &self,
        attempt: &mut RunRecord,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let options = options.resolve_paths()?;
        let workspace = ActiveWorkspace::new(&options.workspace, &self.shared.scratch)?;
        let mut planned = self.plan(name, options, workspace.as_ref())?;
        if let Some(hook) = hook {
            planned.request = planned.request.hook(hook);
        }
        attempt.set_program(hook.unwrap_or_else(|| planned.mode.program()));
        self.execute_plan(attempt, planned, workspace).await
    }

    /// Authorizes and runs a plan, and collects its results.
    async fn execute_plan(
        &self,
        attempt: &mut RunRecord,
        planned: RunPlan,
        workspace: Option<ActiveWorkspace>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let known = if planned.options.optional_mounts.is_empty() {
            None
        } else {
            self.content_digest(&planned.target).await
        };
        let planned = self.with_optional_mounts(planned, known.as_deref());
        let skill = planned.target.name().to_owned();
        attempt.set_skill(
            &skill,
            None,
            planned.target.skill().map(|skill| &skill.manifest),
        );
        let missing = self.missing_for_run(&planned);
        if !missing.is_empty() && self.shared.on_missing_requirements == OnMissing::Fail {
            return Err(Repr::MissingRequirements { skill, missing }.into());
        }
        let sandbox = Arc::clone(self.shared.backends.for_mode(&planned.mode)?);
        attempt.redactor = Redactor::new(
            planned
                .variables
                .iter()
                .map(|(name, value)| (name.as_str(), value.expose_secret())),
        );
        let (decision, content) = self.authorize(&planned, attempt).await?;
        let grants = match decision {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => {
                attempt.record_decision(Recorded::Denied, denial.decisions());
                return Ok(ExecutionArtifacts::denied(skill, planned.mode, denial));
            }
        };
        attempt.record_limits(grants.limits());
        attempt.record_decision(Recorded::Granted, grants.decisions());
        let mut workspace = workspace.filter(|workspace| is_writable(workspace, &grants));
        let used = planned
            .target
            .skill()
            .map(|skill| used_tools(&grants, &skill.manifest))
            .unwrap_or_default();
        let verdicts = grants.decisions().to_vec();
        let short = attempt
            .redactor
            .too_short()
            .iter()
            .filter(|name| grants.variables().contains(*name));
        let short: Vec<String> = short
            .map(|name| format!("the value of `{name}` is too short to be redacted in the output"))
            .collect();
        let has_protocol_input = planned.options.input_protocol == InputProtocol::OpenSkills
            && planned.options.stdin.is_none();
        let long =
            (has_protocol_input && planned.input.len() > MAX_VARIABLE_INPUT_BYTES).then(|| {
                "the input is too long for SKILL_INPUT; it was passed on standard input only"
                    .to_owned()
            });
        let outcome = self
            .run(
                &planned,
                grants,
                content.as_deref(),
                &mut workspace,
                attempt,
                sandbox.as_ref(),
            )
            .await?;
        let mut artifacts =
            ExecutionArtifacts::new(skill, planned.mode, outcome, &attempt.redactor);
        artifacts.output_files = workspace
            .map(|workspace| workspace.collect_output(&attempt.redactor))
            .unwrap_or_default();
        if let ExecutionStatus::Failed {
            termination: Termination::DiskLimit(exceeded),
        } = &artifacts.exit_status
        {
            artifacts.output_files.omitted.insert(
                0,
                format!("files not written before the run was stopped: {exceeded}"),
            );
        }
        (artifacts.decisions, artifacts.permissions_used) = (verdicts, used);
        artifacts.notes.extend(short.into_iter().chain(long));
        artifacts.notes.extend(
            missing
                .iter()
                .map(|missing| format!("missing requirement: {missing}")),
        );
        Ok(artifacts)
    }

    /// Authorizes the run by rules, stored approvals, then the approver. If the decision depends on
    /// the content, a private copy is created first; that copy is authorized and run.
    async fn authorize(
        &self,
        planned: &RunPlan,
        attempt: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        let permissions = &self.shared.permissions;
        if !self.shared.recorder.is_enabled()
            && let Evaluation::Decided(decision) = permissions.evaluate(&planned.request)
            && !matches!(&*decision, Authorization::Granted(grants) if is_privileged(grants))
        {
            return Ok((*decision, None));
        }
        let content = self.copy_content(&planned.target).await?;
        self.check_manifest_unchanged(planned, content.as_deref())?;
        let digest = content.as_ref().map(|content| content.digest.clone());
        attempt.set_skill(
            planned.target.name(),
            digest,
            planned.target.skill().map(|skill| &skill.manifest),
        );
        let request = planned.request_for_content(content.as_deref());
        if let Evaluation::Decided(decision) = permissions.evaluate(&request) {
            return Ok((*decision, content));
        }
        // Requests to one approver are serialized, and an earlier response is taken into account.
        let cancellation = planned.options.cancellation.as_ref();
        let lock = self.shared.approval_queue.lock_for(&planned.options);
        let _guard = unless_cancelled(cancellation, lock.lock()).await?;
        let pending = match permissions.evaluate(&request) {
            Evaluation::Decided(decision) => return Ok((*decision, content)),
            Evaluation::NeedsApproval(pending) => *pending,
        };
        let asking = permissions.request_approval(pending, planned.options.approver.as_deref());
        let decision =
            match unless_cancelled(cancellation, timeout(self.shared.approval_timeout, asking))
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
        planned: &RunPlan,
        content: Option<&SkillCopy>,
    ) -> Result<(), RuntimeError> {
        let (Some(skill), Some(copy)) =
            (planned.target.skill(), content.and_then(SkillCopy::files))
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
            _ => Err(self.content_changed(&planned.target)),
        }
    }

    /// Clears the cached digests and returns the error for changed content.
    fn content_changed(&self, subject: &RunTarget) -> RuntimeError {
        self.shared.copies.clear_digests();
        Repr::ContentChanged {
            skill: subject.name().to_owned(),
            path: subject.location(),
        }
        .into()
    }

    /// Finds or creates the private copy of a skill on a blocking thread.
    async fn copy_content(
        &self,
        subject: &RunTarget,
    ) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let Some(skill) = subject.skill() else {
            return Ok(subject.digest(self).map(SkillCopy::for_command));
        };
        let (runtime, files) = (self.clone(), Arc::clone(&skill.files));
        let work = move || {
            runtime
                .shared
                .copies
                .get_or_create(&files, &runtime.shared.scratch)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Ok(None))
    }

    /// Computes a content digest on a blocking thread, since it can read up to 256 MiB.
    async fn content_digest(&self, subject: &RunTarget) -> Option<String> {
        let Some(skill) = subject.skill() else {
            return subject.digest(self);
        };
        let (runtime, files) = (self.clone(), Arc::clone(&skill.files));
        tokio::task::spawn_blocking(move || runtime.shared.copies.digest(&files))
            .await
            .ok()
            .flatten()
    }

    /// Rejects a granted directory that contains the scratch directory: the program could access
    /// private copies and workspaces of other runs.
    fn check_outside_scratch(&self, grants: &Grants) -> Result<(), RuntimeError> {
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
        planned: &RunPlan,
        grants: Grants,
        content: Option<&SkillCopy>,
        workspace: &mut Option<ActiveWorkspace>,
        attempt: &mut RunRecord,
        sandbox: &dyn Sandbox,
    ) -> Result<RunOutput, RuntimeError> {
        let cancellation = planned.options.cancellation.as_ref();
        let _permit = unless_cancelled(cancellation, self.shared.run_permits.acquire())
            .await?
            .map_err(|_| Repr::Closed)?;
        create_missing_dirs(&grants, planned.workspace.as_deref())?;
        check_canonical(&grants)?;
        self.check_outside_scratch(&grants)?;
        let job = build_job(planned, content, grants)?;
        // The copy was authorized, but a run of an outdated version is reported as an error.
        if let Some(content) = content
            && self.content_digest(&planned.target).await.as_ref() != Some(&content.digest)
        {
            return Err(self.content_changed(&planned.target));
        }
        if let Some(workspace) = workspace {
            workspace.snapshot();
        }
        attempt.update(|event| {
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
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(Repr::Cancelled.into()),
        waited = wait => Ok(waited),
    }
}

/// Rejects a granted path that contains a symlink, such as `src/**` of a workspace whose `src` is a
/// symlink.
fn check_canonical(grants: &Grants) -> Result<(), RuntimeError> {
    for file in grants.files() {
        match file.path().canonicalize() {
            Ok(path) if path == file.path() => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            _ => {
                return Err(Repr::Symlink {
                    path: file.path().to_owned(),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Returns true if the grants exceed those of every program.
fn is_privileged(grants: &Grants) -> bool {
    grants
        .decisions()
        .iter()
        .any(|verdict| verdict.permission().capability().is_privileged())
}

/// Creates missing directories that are granted for writing, such as `out/**` of a workspace
/// without an `out`. Uses a directory handle, so that symlinks in the workspace cannot redirect it.
fn create_missing_dirs(grants: &Grants, workspace: Option<&Path>) -> Result<(), RuntimeError> {
    let Some(workspace) = workspace else {
        return Ok(());
    };
    let writable = grants
        .files()
        .iter()
        .filter(|file| file.access() == Access::ReadWrite);
    let below = writable.filter_map(|file| file.path().strip_prefix(workspace).ok());
    for path in below.filter(|path| workspace.join(path).symlink_metadata().is_err()) {
        let created = Dir::open_ambient_dir(workspace, ambient_authority())
            .and_then(|workspace| workspace.create_dir_all(path));
        created.map_err(|source| Repr::OptionalPath {
            path: workspace.join(path),
            source,
        })?;
    }
    Ok(())
}

fn is_writable(workspace: &ActiveWorkspace, grants: &Grants) -> bool {
    grants
        .files()
        .iter()
        .any(|file| file.path().starts_with(workspace.path()) && file.access() == Access::ReadWrite)
}

/// Returns the entries of `allowed-tools` whose capabilities were granted. A write permission
/// without a writable directory is not.
fn used_tools(grants: &Grants, manifest: &Manifest) -> Vec<String> {
    let is_granted = |tool: &str| {
        Capability::from_tool_name(tool).is_some_and(|capability| grants.includes(capability))
    };
    manifest
        .allowed_tools()
        .iter()
        .filter(|rule| is_granted(rule.tool()))
        .map(ToString::to_string)
        .collect()
}
