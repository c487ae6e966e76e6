//! Finishes compilations that took longer than the deadline of a run.

use std::time::Duration;

use skills_runtime::{Executor, Preparation};

use crate::exit::Exit;
use crate::output::Output;
use crate::run_exit::RunExit;
use crate::signals;

/// How long one module is compiled, with or without a run that waits for it.
pub(crate) const MAX_COMPILE_TIME: Duration = Duration::from_secs(300);

/// Waits for compilations that continue after their run, which would end with this process, and
/// says so. Returns the exit code of an interrupt if one arrives, else `exit`.
pub(crate) fn finish_compilations(
    executor: &Executor,
    exit: Exit,
    output: Output,
) -> anyhow::Result<Exit> {
    let Some(unfinished) = executor.unfinished_compilations() else {
        return Ok(exit);
    };
    let minutes = MAX_COMPILE_TIME.as_secs() / 60;
    output.status(&format!(
        "note: compiling takes longer than the deadline; finishing it for the next run, for at \
         most {minutes} minutes (Ctrl-C stops it)"
    ));
    match signals::run_until_interrupt(unfinished)? {
        Err(signal) => {
            output.status("help: compile it with `skills wasm precompile NAME`");
            return Ok(match exit {
                Exit::Run(_) => Exit::Run(RunExit::Interrupted(signal)),
                _ => Exit::Interrupted,
            });
        }
        Ok(Err(error)) => output.status(&format!("error: {error}")),
        Ok(Ok(Preparation::Compiled {
            cache_error: Some(reason),
            ..
        })) => output.status(&format!("error: cannot cache the module: {reason}")),
        Ok(Ok(_)) => output.status("note: compiled; the next run takes it from the code cache"),
    }
    Ok(exit)
}
