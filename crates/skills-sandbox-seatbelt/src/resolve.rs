//! Finds the interpreters and programs of the host.

use skills_policy::SpawnGrant;
use skills_process::{ProgramFinder, ResolvedProgram};
use skills_sandbox::{Job, SandboxError};

use crate::executable_set::{Executable, ExecutableSet};

/// Finds what a job needs. A granted program that the host does not have is omitted.
pub(crate) fn resolve_executables(
    job: &Job,
    interpreters: &ProgramFinder,
) -> Result<ExecutableSet, SandboxError> {
    let interpreters = &*interpreters.with_interpreters(job.interpreters());
    let interpreter = interpreters.for_job(job, "seatbelt")?;
    // macOS does not limit memory, but some interpreters can limit their heap.
    let heap = interpreter.heap_argument(job.grants().limits().memory_bytes);
    let interpreter = heap
        .into_iter()
        .fold(Executable::from(interpreter), Executable::arg);
    let mut executables =
        ExecutableSet::new(interpreter).search_path(interpreters.path_env().split(':'));
    if let SpawnGrant::Programs(names) = job.grants().spawn() {
        for name in names {
            if let Some(program) = interpreters.find_program(name) {
                executables = executables.program(name, program);
            }
        }
    }
    Ok(executables)
}

impl From<ResolvedProgram> for Executable {
    fn from(found: ResolvedProgram) -> Self {
        let ResolvedProgram {
            argv0: name,
            executable,
            leading_args: arguments,
            readable,
            executable_paths,
            environment,
            ..
        } = found;
        let successors = executable_paths
            .into_iter()
            // The program itself is allowed anyway.
            .filter(|path| *path != executable)
            .collect();
        Self {
            path: executable,
            argv0: name,
            args: arguments,
            envs: environment,
            readable,
            exec_targets: successors,
        }
    }
}
