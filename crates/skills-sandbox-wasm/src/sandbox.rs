//! The backend.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skills_policy::{Grants, Limits};
use skills_sandbox::{Ending, Job, Outcome, Program, Report, Running, Sandbox, SandboxError, Scratch, Status};
use tokio::time::timeout_at;
use wasmtime::{Store, UpdateDeadline};

use crate::context::{self, Context};
use crate::ending::{Deadline, ending, timed_out};
use crate::engine::SharedEngine;
use crate::load::Prepared;

/// After how many ticks a busy program lets other tasks of the executor run.
const TICKS_PER_SLICE: u32 = 10;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
/// The most bytes that a program may hand to the host in one call.
const MAX_CALL_BYTES: usize = 16 << 20;

/// Runs WASI 0.2 command components.
///
/// Cheap to clone; clones share the engine, which is started by the first run.
#[derive(Clone)]
pub struct WasmSandbox {
    scratch_parent: PathBuf,
    engine: Arc<OnceLock<Arc<SharedEngine>>>,
}

impl WasmSandbox {
    /// Makes the backend; private scratch directories are made below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        Self { scratch_parent: scratch_parent.into(), engine: Arc::default() }
    }

    fn engine(&self) -> Result<Arc<SharedEngine>, SandboxError> {
        if let Some(engine) = self.engine.get() {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(SharedEngine::new()?);
        Ok(Arc::clone(self.engine.get_or_init(|| engine)))
    }

    async fn run_job(&self, job: Job) -> Result<Outcome, SandboxError> {
        let started = Instant::now();
        let Program::Wasm(bytes) = job.program() else {
            return Err(SandboxError::load("this backend runs WebAssembly only"));
        };
        let engine = self.engine()?;
        let scratch = Scratch::new(&self.scratch_parent).map_err(|error| SandboxError::setup("making a scratch directory", error))?;
        let (context, streams) = Context::new(&job, scratch.path())?;
        let limits = job.grants().limits();
        // A time too far away to be told is as good as a year.
        let deadline = started.checked_add(limits.wall_time).unwrap_or(started + YEAR);
        let ending = match timeout_at(deadline.into(), engine.prepare(Arc::clone(bytes))).await {
            Ok(prepared) => {
                let prepared = prepared?;
                execute(&engine, &prepared, context, limits, deadline).await
            }
            Err(_) => timed_out(limits),
        };
        let report = report(limits).removed(scratch.remove());
        Ok(Outcome::new(ending, streams.stdout.take(), streams.stderr.take(), started.elapsed(), report))
    }
}

impl Sandbox for WasmSandbox {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn probe(&self) -> Result<Report, SandboxError> {
        let report = Report::new(self.name()).layer("components", Status::Enforced, "WASI 0.2 commands, compiled by wasmtime");
        Ok(report.layer("files", Status::Enforced, "granted directories only").layer("network", Status::Enforced, "none"))
    }

    fn accepts(&self, grants: &Grants) -> Result<(), SandboxError> {
        context::accepts(grants)
    }

    fn run(&self, job: Job) -> Running<'_> {
        Box::pin(self.run_job(job))
    }
}

/// Runs to the end or the deadline: the epoch stops a program that computes, the timer one that waits in the host.
async fn execute(engine: &SharedEngine, prepared: &Prepared, context: Context, limits: &Limits, deadline: Instant) -> Ending {
    let mut store = Store::new(&engine.engine, context);
    let mut ticks = 0;
    store.limiter(|context| &mut context.limiter);
    store.set_hostcall_fuel(MAX_CALL_BYTES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if Instant::now() >= deadline {
            return Err(Deadline.into());
        }
        ticks += 1;
        Ok(if ticks % TICKS_PER_SLICE == 0 { UpdateDeadline::Yield(1) } else { UpdateDeadline::Continue(1) })
    });
    let ticking = engine.ticker.tick();
    let call = async {
        let command = prepared.instantiate_async(&mut store).await?;
        command.wasi_cli_run().call_run(&mut store).await
    };
    let result = timeout_at(deadline.into(), call).await;
    drop(ticking);
    match result {
        Ok(result) => ending(result, limits, store.data().limiter.refused),
        Err(_) => timed_out(limits),
    }
}

fn report(limits: &Limits) -> Report {
    let memory = limits.memory_bytes >> 20;
    Report::new("wasm")
        .layer("files", Status::Enforced, "granted directories only, behind handles that cannot leave them")
        .layer("network", Status::Enforced, "no sockets, no name lookup")
        .layer("processes", Status::Enforced, "there are none in WebAssembly")
        .layer("memory", Status::Enforced, format!("{memory} MiB over all memories"))
        .layer("disk", Status::Partial, "what it writes is not limited")
        .layer("time", Status::Enforced, format!("{} ms, in compilation, computation and host calls", limits.wall_time.as_millis()))
        .layer("environment", Status::Enforced, "declared variables only")
}
