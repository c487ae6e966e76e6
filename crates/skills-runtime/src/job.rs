//! From a plan and its grants to a job.

use std::sync::Arc;

use skills_discovery::{Entry, SkillFiles};
use skills_policy::Grants;
use skills_sandbox::{Job, Program};

use crate::ExecutionMode;
use crate::error::{Repr, RuntimeError};
use crate::plan::Planned;

/// The largest module that is read, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;
/// The longest `NAME=value` that Linux passes to a program, with its final NUL; longer input comes by standard input alone.
const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// Says whether an input can be in `SKILL_INPUT` as well.
pub(crate) fn fits_variable(input: &str) -> bool {
    "SKILL_INPUT=".len() + input.len() < MAX_VARIABLE_BYTES
}

/// Reads a WebAssembly module of a skill.
pub(crate) fn module(entry: &Entry, files: &SkillFiles, path: &str) -> Result<Arc<[u8]>, RuntimeError> {
    let bytes = files.read(path, MAX_MODULE_BYTES);
    Ok(Arc::from(bytes.map_err(|source| Repr::Files { path: entry.directory().join(path), source })?))
}

/// Makes the job for a program of the skill.
pub(crate) fn job(planned: &Planned, grants: Grants) -> Result<Job, RuntimeError> {
    let Planned { entry, files, mode, options, variables, .. } = planned;
    let (name, timeout_ms) = (entry.name().as_str(), grants.limits().wall_time.as_millis().to_string());
    let input = &planned.input;
    let granted = grants.variables().clone();
    let guest = |file: &skills_policy::FileGrant| file.guest() == "/workspace" || file.guest().starts_with("/workspace/");
    let is_workspace = grants.files().iter().any(guest);
    let workspace = planned.workspace.as_ref().filter(|_| is_workspace).map(|path| path.to_string_lossy().into_owned());
    let (job, workspace) = match mode {
        ExecutionMode::Wasm { wasm_module } => {
            let bytes = module(entry, files, wasm_module)?;
            (Job::new(grants, Program::Wasm(bytes)), workspace.map(|_| "/workspace".to_owned()))
        }
        ExecutionMode::Native { script_path, script_type } => {
            let directory = entry.directory();
            let job = Job::new(grants, Program::script(*script_type, directory.join(script_path)))
                .environment("SKILL_DIR", directory.to_string_lossy())
                .environment("SKILL_ASSETS_DIR", directory.join("assets").to_string_lossy());
            (job, workspace)
        }
    };
    let job = job.environment("SKILL_ID", name).environment("SKILL_NAME", name).environment("TIMEOUT_MS", timeout_ms);
    let job = workspace.into_iter().fold(job, |job, path| job.environment("SKILL_WORKSPACE", path));
    let mut job = if fits_variable(input) { job.environment("SKILL_INPUT", input) } else { job };
    for (name, value) in variables.iter().filter(|(name, _)| granted.contains(name)) {
        job = job.secret(name, value.expose())?;
    }
    let job = job.input(input.clone().into_bytes());
    let job = options.cancellation.iter().cloned().fold(job, Job::cancellation);
    Ok(options.args.iter().fold(job, |job, argument| job.argument(argument.as_str())))
}
