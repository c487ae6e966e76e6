//! The way for callers without an executor.

use std::sync::{OnceLock, mpsc};

use skills_sandbox::{Job, RunOutput, Sandbox, SandboxError};
use tokio::runtime::{Builder, Runtime};

use crate::WasmSandbox;

impl WasmSandbox {
    /// Runs a job as [`run`](Sandbox::run) does and waits for its end, on this thread: for callers
    /// without an executor. Whoever has one uses that.
    ///
    /// All such runs of a process share one executor with a thread for each core, which is started
    /// by the first.
    ///
    /// # Errors
    /// As `run`, and when threads cannot be started.
    pub fn run_blocking(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let (sandbox, (sender, outcome)) = (self.clone(), mpsc::sync_channel(1));
        executor()?.spawn(async move {
            // Whoever waited is still there.
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
