//! The one path from a skill's name to an outcome.

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
    /// A program that fails, is stopped or is denied comes back as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called inside a Tokio runtime with
    /// time and I/O enabled. Dropping the future stops the program. Where [records are
    /// kept](crate::Builder::audit), there is exactly one of each call.
    ///
    /// # Errors
    /// When the skill or its program is not there, when the skill declares a restriction that
    /// cannot be read or needs what is not here, when no sandbox can be had, or when the skill
    /// changed after it was decided on: then nothing ran. And when no record of the run can be
    /// kept.
    pub async fn execute_skill(
        &self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.execute(name, options, None).await
    }

    /// Runs a [command](ExecutionOptions::command) of the machine that works on a directory and for
    /// no skill. It may read the directory where a rule does not forbid it, and write it where that
    /// is [asked for](ExecutionOptions::writable_paths) and allowed; it starts in it unless another
    /// one is chosen. The workspace of `options` is not looked at.
    ///
    /// # Errors
    /// When the directory is not there, when there is no command, and as
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

    /// Runs a program, perhaps as a hook.
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

    /// Records an attempt that comes to nothing before it begins; gives the error when that cannot
    /// be done.
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

    /// Decides, runs and collects.
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
        let missing = self.missing_requirements(&planned);
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
            .map(|name| {
                format!(
                    "the value of {name} is too short to be looked for in what the program wrote"
                )
            })
            .collect();
        let is_told = planned.options.input_protocol == InputProtocol::OpenSkills
            && planned.options.stdin.is_none();
        let long = (is_told && planned.input.len() > MAX_VARIABLE_INPUT_BYTES).then(|| {
            "the input is too long for SKILL_INPUT; the program got it on standard input alone"
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
                format!("what was not written before the stop: {exceeded}"),
            );
        }
        (artifacts.decisions, artifacts.permissions_used) = (verdicts, used);
        artifacts.notes.extend(short.into_iter().chain(long));
        artifacts.notes.extend(
            missing
                .iter()
                .map(|missing| format!("the skill needs what is not here: {missing}")),
        );
        Ok(artifacts)
    }

    /// Asks rules, approvals and people. Where it matters what the content is, a copy is made
    /// first: that is what is decided on, and what runs.
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
        // One question at a time for each who answers, and what the one before was answered with
        // counts.
        let cancellation = planned.options.cancellation.as_ref();
        let turns = self.shared.approval_queue.lock_for(&planned.options);
        let _turn = unless_cancelled(cancellation, turns.lock()).await?;
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
                // Whoever answers later has answered nobody.
                Err(_) => match permissions.evaluate(&request) {
                    Evaluation::NeedsApproval(pending) => permissions.timed_out(*pending),
                    Evaluation::Decided(decision) => *decision,
                },
            };
        Ok((decision, content))
    }

    /// Refuses content whose `SKILL.md` is not the one that the request was made from.
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

    /// Forgets what was known of the files of a skill, which is not what it was.
    fn content_changed(&self, subject: &RunTarget) -> RuntimeError {
        self.shared.copies.clear_digests();
        Repr::ContentChanged {
            skill: subject.name().to_owned(),
            path: subject.location(),
        }
        .into()
    }

    /// Finds or makes the copy of a skill on a thread that may block.
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

    /// Computes a digest aside, since it may have to read 256 MiB: nobody else waits for the disk.
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

    /// Refuses a granted directory around the one in which private copies and workspaces of runs
    /// are made: a program could read or change those of others.
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

    /// Waits for its turn, looks a last time whether all is as it was when it was decided on, and
    /// runs.
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
        let _turn = unless_cancelled(cancellation, self.shared.run_permits.acquire())
            .await?
            .map_err(|_| Repr::Closed)?;
        create_missing_dirs(&grants, planned.workspace.as_deref())?;
        check_canonical(&grants)?;
        self.check_outside_scratch(&grants)?;
        let job = build_job(planned, content, grants)?;
        // The copy is what was decided on; that the skill is another one now is still worth an
        // error instead of a result of yesterday.
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

/// Waits for something that comes before a run, unless that is cancelled.
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

/// Refuses a granted path that a symlink leads elsewhere: `src/**` of a workspace whose `src` is a
/// link.
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

/// Whether there is more than every program gets.
fn is_privileged(grants: &Grants) -> bool {
    grants
        .decisions()
        .iter()
        .any(|verdict| verdict.permission().capability().is_privileged())
}

/// Makes the directories that may be written and are not there yet: `out/**` of a workspace without
/// an `out`. Through a handle of the workspace, so that no symlink in it leads the making
/// elsewhere.
fn create_missing_dirs(grants: &Grants, workspace: Option<&Path>) -> Result<(), RuntimeError> {
    let Some(workspace) = workspace else {
        return Ok(());
    };
    let written = grants
        .files()
        .iter()
        .filter(|file| file.access() == Access::ReadWrite);
    let below = written.filter_map(|file| file.path().strip_prefix(workspace).ok());
    for path in below.filter(|path| workspace.join(path).symlink_metadata().is_err()) {
        let made = Dir::open_ambient_dir(workspace, ambient_authority())
            .and_then(|workspace| workspace.create_dir_all(path));
        made.map_err(|source| Repr::OptionalPath {
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

/// The entries of `allowed-tools` whose capabilities came to anything: a wish to write without a
/// directory to write to did not.
fn used_tools(grants: &Grants, manifest: &Manifest) -> Vec<String> {
    let is_given = |tool: &str| {
        Capability::from_tool_name(tool).is_some_and(|capability| grants.includes(capability))
    };
    manifest
        .allowed_tools()
        .iter()
        .filter(|rule| is_given(rule.tool()))
        .map(ToString::to_string)
        .collect()
}
