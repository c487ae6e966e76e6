//! Builds a sandbox job from a plan and its grants.

use std::sync::Arc;

use skills_discovery::{Entry, SkillFiles};
use skills_policy::{FileGrant, Grants, ResourceLimits};
use skills_sandbox::{Job, Program, Quota};

use crate::error::{Repr, RuntimeError};
use crate::run_plan::RunPlan;
use crate::run_target::RunTarget;
use crate::skill_copies::SkillCopy;
use crate::{ExecutionMode, ExecutionOptions, HostCommand, InputProtocol, Workspace};

/// Maximum size of a WebAssembly module, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;
/// Maximum length of `NAME=value` on Linux, with the final NUL. Longer input is passed on standard
/// input only.
const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// Maximum length of an input in `SKILL_INPUT`, in bytes.
pub(crate) const MAX_VARIABLE_INPUT_BYTES: usize = MAX_VARIABLE_BYTES - 1 - "SKILL_INPUT=".len();

/// Reads a WebAssembly module of a skill.
pub(crate) fn read_module(
    entry: &Entry,
    files: &SkillFiles,
    path: &str,
) -> Result<Arc<[u8]>, RuntimeError> {
    let bytes = files.read(path, MAX_MODULE_BYTES);
    Ok(Arc::from(bytes.map_err(|source| Repr::FileAccess {
        path: entry.directory().join(path),
        source,
    })?))
}

/// Builds the job for a program of the skill or of its private copy.
pub(crate) fn build_job(
    plan: &RunPlan,
    content: Option<&SkillCopy>,
    grants: Grants,
) -> Result<Job, RuntimeError> {
    let RunPlan {
        mode,
        options,
        variables,
        ..
    } = plan;
    let granted = grants.variables().clone();
    let job = set_protocol_env(Job::new(grants, job_program(plan, content)?), plan);
    let mut job = options
        .command
        .iter()
        .flat_map(HostCommand::leading_args)
        .fold(job, Job::arg);
    // The host application may have values that policy denied to this run.
    for (name, value) in variables.iter().filter(|(name, _)| granted.contains(name)) {
        job = job.secret_env(name, value.expose_secret())?;
    }
    let job = job.stdin(plan.input.clone());
    // WebAssembly has no working directory; its paths start at the preopened directories.
    let job = match mode {
        ExecutionMode::Wasm { .. } => job,
        _ => options.current_dir.iter().fold(job, Job::current_dir),
    };
    let job = options
        .path_aliases
        .iter()
        .fold(job, |job, (alias, path)| job.path_alias(alias, path));
    let job = options
        .cancellation
        .iter()
        .cloned()
        .fold(job, Job::cancellation);
    // The WebAssembly backend limits compilation per caller, so that one client does not block the
    // others.
    let job = options.session.iter().cloned().fold(job, Job::caller);
    let quota = workspace_quota(plan, job.grants().limits());
    let job = quota.into_iter().fold(job, Job::quota);
    Ok(options
        .args
        .iter()
        .fold(job, |job, argument| job.arg(argument.as_str())))
}

/// Returns the quota of a private or session workspace. Input files and files of earlier runs
/// count.
fn workspace_quota(plan: &RunPlan, limits: &ResourceLimits) -> Option<Quota> {
    let has_quota = matches!(
        plan.options.workspace,
        Workspace::Private(_) | Workspace::Session(_)
    );
    plan.workspace
        .as_ref()
        .filter(|_| has_quota)
        .map(|path| Quota::new(path, limits.scratch_bytes))
}

fn job_program(plan: &RunPlan, content: Option<&SkillCopy>) -> Result<Program, RuntimeError> {
    Ok(match (&plan.mode, &plan.target) {
        (ExecutionMode::Wasm { wasm_module }, RunTarget::Skill(skill)) => {
            // The module is read from the authorized copy, not from the directory of the skill,
            // which another process may have changed since.
            let copy = content.and_then(SkillCopy::files).transpose();
            let copy = copy.map_err(|source| Repr::FileAccess {
                path: skill.entry.location(),
                source,
            })?;
            Program::Wasm(read_module(
                &skill.entry,
                copy.as_ref().unwrap_or(&skill.files),
                wasm_module,
            )?)
        }
        (
            ExecutionMode::Native {
                script_path,
                script_type,
            },
            RunTarget::Skill(skill),
            // The path in the skill, not in the copy. The grants map it to where the copy is.
        ) => Program::script(*script_type, skill.entry.directory().join(script_path)),
        (mode, _) => Program::command(mode.program()),
    })
}

/// Sets the environment variables of the input protocol.
fn set_protocol_env(job: Job, plan: &RunPlan) -> Job {
    let RunPlan {
        mode,
        options,
        workspace,
        ..
    } = plan;
    let is_wasm = matches!(mode, ExecutionMode::Wasm { .. });
    let mut job = job;
    if let Some(skill) = plan.target.skill() {
        let name = skill.entry.name().as_str();
        let directory = skill.entry.directory();
        job = job.env("SKILL_NAME", name);
        if !is_wasm {
            job = job.env("SKILL_DIR", directory.to_string_lossy());
            job = job.env(
                "SKILL_ASSETS_DIR",
                directory.join("assets").to_string_lossy(),
            );
        }
        if options.input_protocol == InputProtocol::OpenSkills {
            let timeout_ms = job.grants().limits().wall_time.as_millis().to_string();
            job = job.env("SKILL_ID", name).env("TIMEOUT_MS", timeout_ms);
        }
    }
    let is_granted =
        job.grants().files().iter().any(is_in_workspace) && !is_workspace_current_dir(options);
    if let Some(path) = workspace.as_ref().filter(|_| is_granted) {
        let path = if is_wasm {
            // WebAssembly sees no paths of the host.
            "/workspace".into()
        } else {
            path.to_string_lossy().into_owned()
        };
        job = job.env("SKILL_WORKSPACE", path);
    }
    match std::str::from_utf8(&plan.input) {
        Ok(input)
            if options.stdin.is_none()
                && options.input_protocol == InputProtocol::OpenSkills
                // `execve` would fail with a longer value.
                && input.len() <= MAX_VARIABLE_INPUT_BYTES =>
        {
            job.env("SKILL_INPUT", input)
        }
        _ => job,
    }
}

fn is_in_workspace(file: &FileGrant) -> bool {
    // With the separator, so that `/workspaces` is another directory.
    file.guest_path() == "/workspace" || file.guest_path().starts_with("/workspace/")
}

/// Returns true for a script runner in a session directory: that directory is its working
/// directory, so `SKILL_WORKSPACE` is not set.
fn is_workspace_current_dir(options: &ExecutionOptions) -> bool {
    options.input_protocol == InputProtocol::ScriptRunner
        && matches!(options.workspace, Workspace::Session(_))
}
