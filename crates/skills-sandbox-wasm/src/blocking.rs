//! Runs jobs for callers without an async executor.

use std::sync::{OnceLock, mpsc};

use skills_sandbox::{Job, RunOutput, Sandbox, SandboxError};
use tokio::runtime::{Builder, Runtime};

use crate::WasmSandbox;

impl WasmSandbox {
    /// Runs a job like [`run`](Sandbox::run) and blocks this thread until it ends. For callers
    /// without an async executor; others should await `run`.
    ///
    /// All such runs of a process share one executor with a thread per core, which the first run
    /// starts.
    ///
    /// # Errors
    /// Like `run`; also fails if threads cannot be started.
    pub fn run_blocking(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let (sandbox, (sender, outcome)) = (self.clone(), mpsc::sync_channel(1));
        executor()?.spawn(async move {
            // The receiver exists as long as this function waits.
            let _ = sender.send(sandbox.run(job).await);
        });
        let lost = |error| SandboxError::setup("waiting for the run", std::io::Error::other(error));
        outcome.recv().map_err(lost)?
    }
}

fn executor() -> Result<&'static Runtime, SandboxError> {
    static EXECUTOR: OnceLock<Runtime> = OnceLock::new();
    if let Some(executor) = EXECUTOR.get() {
        return Ok(executor);
    }
    let executor = Builder::new_multi_thread()
        .thread_name("skills-wasm")
        .enable_all()
        .build();
    let executor = executor.map_err(|error| SandboxError::setup("starting an executor", error))?;
    Ok(EXECUTOR.get_or_init(|| executor))
}
