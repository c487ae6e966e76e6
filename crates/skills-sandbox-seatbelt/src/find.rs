//! Finds the interpreters and programs of this machine.

use skills_policy::Spawn;
use skills_sandbox::interpreter::{Interpreter, Interpreters};
use skills_sandbox::{Job, SandboxError};

use crate::executables::{Executable, Executables};

/// Finds what a job needs. A granted program that is missing is left out, and the plan refuses.
pub(crate) fn executables(
    job: &Job,
    interpreters: &Interpreters,
) -> Result<Executables, SandboxError> {
    let interpreter = interpreters.for_job(job, "seatbelt")?;
    let heap = interpreter.heap_argument(job.grants().limits().memory_bytes);
    let interpreter = heap
        .into_iter()
        .fold(Executable::from(interpreter), Executable::argument);
    let mut executables =
        Executables::new(interpreter).directories(interpreters.path_variable().split(':'));
    if let Spawn::Programs(names) = job.grants().spawn() {
        for name in names {
            if let Some(program) = interpreters.program(name) {
                executables = executables.program(name, program);
            }
        }
    }
    Ok(executables)
}

impl From<Interpreter> for Executable {
    fn from(found: Interpreter) -> Self {
        let Interpreter {
            name,
            executable,
            arguments,
            readable,
            executable_paths,
            environment,
            ..
        } = found;
        let successors = executable_paths
            .into_iter()
            .filter(|path| *path != executable)
            .collect();
        Self {
            path: executable,
            name,
            arguments,
            variables: environment,
            readable,
            successors,
        }
    }
}
