//! What one run sees of the world, made from its grants.

use std::path::Path;
use std::sync::Arc;

use skills_sandbox::{Captured, Job, SandboxError, Scratch};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::files::{Directories, Files};
use crate::limiter::Limiter;
use crate::output::Sink;
use crate::profile::Profile;
use crate::stop::Stop;

/// The most random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// The state of one run.
pub(crate) struct Context {
    wasi: WasiCtx,
    table: ResourceTable,
    directories: Directories,
    pub(crate) limiter: Limiter,
    pub(crate) max_handles: usize,
}

/// What is left of a run besides its ending.
pub(crate) struct Streams {
    stdout: Sink,
    stderr: Sink,
}

impl Context {
    /// Makes the state from the job's grants; what is not granted is not there.
    pub(crate) fn new(job: &Job, scratch_parent: Arc<Path>, profile: Profile, stop: &Arc<Stop>) -> Result<(Self, Streams), SandboxError> {
        let (grants, limits) = (job.grants(), job.grants().limits());
        let sink = || Sink::new(limits.output_bytes, limits.flood_bytes, Arc::clone(stop));
        let streams = Streams { stdout: sink(), stderr: sink() };
        let mut wasi = WasiCtx::builder();
        wasi.stdout(streams.stdout.clone()).stderr(streams.stderr.clone()).max_random_size(MAX_RANDOM_BYTES);
        wasi.arg("skill").args(job.arguments());
        if !job.input_bytes().is_empty() {
            wasi.stdin(MemoryInputPipe::new(job.input_bytes().to_vec()));
        }
        for (name, value) in job.variables() {
            wasi.env(name, value);
        }
        profile.apply(&mut wasi);
        let directories = Directories::open(grants, scratch_parent)?;
        let max_handles = usize::try_from(limits.open_files).unwrap_or(usize::MAX);
        let mut table = ResourceTable::new();
        table.set_max_capacity(max_handles);
        let limiter = Limiter::new(limits.memory_bytes);
        Ok((Self { wasi: wasi.build(), table, directories, limiter, max_handles }, streams))
    }

    /// Takes out the private directory, if the run used it.
    pub(crate) fn take_private(&mut self) -> Option<Scratch> {
        self.directories.take_private()
    }

    pub(crate) fn files(&mut self) -> Files<'_> {
        Files { table: &mut self.table, wasi: self.wasi.filesystem(), directories: &mut self.directories }
    }
}

impl Streams {
    /// Takes what was written to standard output and standard error.
    pub(crate) fn take(&self) -> (Captured, Captured) {
        (self.stdout.take(), self.stderr.take())
    }
}

impl WasiView for Context {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
