//! Builds a sandbox job from a plan and its grants.

mod protocol_variables;
mod python_path;

use skills_library::LibraryError;
use skills_policy::{Grants, ResourceLimits};
use skills_sandbox::{Job, Program, Quota};

use super::program_detection::read_module;
use super::run_plan::RunPlan;
use super::run_subject::RunSubject;
use super::skill_copies::SkillCopy;
use crate::error::RuntimeError;
use crate::{ExecutionMode, HostCommand, Workspace};

pub(crate) use protocol_variables::MAX_VARIABLE_INPUT_BYTES;
use protocol_variables::set_protocol_env;

/// Builds the job for a program of the skill or of its private copy.
pub(crate) fn build_job(
    plan: &mut RunPlan,
    content: Option<&SkillCopy>,
    grants: Grants,
) -> Result<Job, RuntimeError> {
    // Moved, since it can be large.
    let stdin = std::mem::take(&mut plan.stdin);
    let RunPlan {
        mode,
        options,
        variables,
        ..
    } = &*plan;
    let granted = grants.variables().clone();
    let job = set_protocol_env(Job::new(grants, job_program(plan, content)?), plan, &stdin);
    let mut job = options
        .target
        .command()
        .into_iter()
        .flat_map(HostCommand::leading_args)
        .fold(job, Job::arg);
    // The host application may have values that policy denied to this run.
    for (name, value) in variables.iter().filter(|(name, _)| granted.contains(name)) {
        job = job.secret_env(name, value.expose_secret())?;
    }
    let job = job.stdin(stdin);
    // WebAssembly has no working directory; its paths start at the preopened directories.
    let job = match mode {
        ExecutionMode::Wasm { .. } => job,
        _ => options.current_dir.iter().fold(job, Job::current_dir),
    };
    let job = options
        .path_aliases
        .iter()
        .fold(job, |job, (alias, path)| job.path_alias(alias, path));
    let context = &options.context;
    let job = context
        .cancellation
        .iter()
        .cloned()
        .fold(job, Job::cancellation);
    // The WebAssembly backend limits compilation per caller, so that one client does not block the
    // others.
    let job = context.session.iter().cloned().fold(job, Job::caller);
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
    Ok(match (&plan.mode, &plan.subject) {
        (ExecutionMode::Wasm { wasm_module }, RunSubject::Skill(skill)) => {
            // The module is read from the authorized copy, not from the directory of the skill,
            // which another process may have changed since.
            let copy = content.and_then(SkillCopy::files).transpose();
            let failed = |source| LibraryError::file_access(skill.entry.location(), source);
            let copy = copy.map_err(failed)?;
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
            RunSubject::Skill(skill),
            // The path in the skill, not in the copy. The grants map it to where the copy is.
        ) => Program::script(*script_type, skill.entry.directory().join(script_path)),
        (mode, _) => Program::command(mode.program()),
    })
}
