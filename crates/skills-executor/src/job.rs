//! Builds the sandbox job of an authorized run.

mod protocol_variables;

use bytes::Bytes;
use skills_library::LibraryError;
use skills_sandbox::{Job, Program, Quota};

use crate::authorize::Authorized;
use crate::error::RuntimeError;
use crate::execution_mode::ExecutionMode;
use crate::host_command::HostCommand;
use crate::options::{ExecutionOptions, Workspace};
use crate::plan::Planned;
use crate::program_detection::read_module;
use crate::run_subject::RunSubject;
use crate::skill_copies::SkillCopy;

pub(crate) use protocol_variables::MAX_VARIABLE_INPUT_BYTES;
use protocol_variables::set_protocol_env;

/// Builds the job for a program of the skill or of its private copy.
pub(crate) fn build_job(run: &Authorized, stdin: Bytes) -> Result<Job, RuntimeError> {
    let planned = run.planned();
    let options = planned.options();
    let granted = run.grants().variables();
    let mut grants = run.grants().clone();
    if let Some(earlier) = run.request().earlier_attempt() {
        grants.deduct_time(earlier.ran());
    }
    if run.names_refused_programs() {
        grants.allow_processes();
    }
    let job = Job::new(grants, job_program(planned, run.content())?);
    let job = set_protocol_env(job, run, &stdin);
    let mut job = options
        .target
        .command()
        .into_iter()
        .flat_map(HostCommand::leading_args)
        .fold(job, Job::arg);
    // The host application may have values that policy denied to this run.
    for (name, value) in planned
        .variables()
        .iter()
        .filter(|(name, _)| granted.contains(name))
    {
        job = job.secret_env(name, value.expose_secret())?;
    }
    let job = if planned.skill().is_some() {
        job.layer()
    } else {
        job
    };
    let grace = options.deadline_grace.min(ExecutionOptions::MAX_GRACE);
    let job = job.stdin(stdin).deadline_grace(grace);
    // An image has interpreters of its own.
    let interpreters = planned.services().interpreters().iter();
    let job = interpreters
        .filter(|_| planned.uses_programs_of_host())
        .fold(job, |job, (kind, path)| job.interpreter(*kind, path));
    // WebAssembly has no working directory; its paths start at the preopened directories.
    let job = match planned.mode() {
        ExecutionMode::Wasm { .. } => job,
        _ => run.current_dir().into_iter().fold(job, Job::current_dir),
    };
    let aliases = run.path_aliases().into_iter();
    let job = aliases.fold(job, |job, (alias, path)| job.path_alias(alias, path));
    let context = &options.context;
    let job = context
        .cancellation
        .iter()
        .cloned()
        .fold(job, Job::cancellation);
    // The WebAssembly backend limits compilation per caller, so that one client does not block the
    // others.
    let job = context.session.iter().cloned().fold(job, Job::caller);
    let quota = workspace_quota(run);
    let job = quota.into_iter().fold(job, Job::quota);
    Ok(options
        .args
        .iter()
        .fold(job, |job, argument| job.arg(argument.as_str())))
}

/// Returns the quota of a private or session workspace. Input files and files of earlier runs
/// count.
fn workspace_quota(run: &Authorized) -> Option<Quota> {
    let has_quota = matches!(
        run.planned().options().workspace,
        Workspace::Private(_) | Workspace::Session(_)
    );
    let limit = run.grants().limits().scratch_bytes;
    run.workspace()
        .filter(|_| has_quota)
        .map(|workspace| Quota::new(workspace, limit))
}

fn job_program(planned: &Planned, content: Option<&SkillCopy>) -> Result<Program, RuntimeError> {
    Ok(match (planned.mode(), planned.subject()) {
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
