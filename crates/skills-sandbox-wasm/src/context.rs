//! What one run sees of the world, made from its grants.

use std::path::Path;

use skills_policy::{Access, Grants, Network};
use skills_sandbox::{Job, SandboxError};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::limiter::Limiter;
use crate::output::Sink;

/// The most files, streams and other handles that a run may hold.
const MAX_HANDLES: usize = 1_000;
/// The most random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;
/// Where the private scratch directory appears.
const SCRATCH: &str = "/work";

/// The state of one run.
pub(crate) struct Context {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(crate) limiter: Limiter,
}

/// The two streams of a run.
pub(crate) struct Streams {
    pub(crate) stdout: Sink,
    pub(crate) stderr: Sink,
}

impl Context {
    /// Makes the state from the job's grants; what is not granted is not there.
    pub(crate) fn new(job: &Job, scratch: &Path) -> Result<(Self, Streams), SandboxError> {
        let (grants, limits) = (job.grants(), job.grants().limits());
        accepts(grants)?;
        let sink = || Sink::new(limits.output_bytes, limits.flood_bytes);
        let streams = Streams { stdout: sink(), stderr: sink() };
        let mut wasi = WasiCtx::builder();
        wasi.stdin(MemoryInputPipe::new(job.input_bytes().to_vec()))
            .stdout(streams.stdout.clone())
            .stderr(streams.stderr.clone())
            .max_random_size(MAX_RANDOM_BYTES)
            .arg("skill")
            .args(job.arguments());
        for (name, value) in job.variables() {
            wasi.env(name, value);
        }
        let open = |error: wasmtime::Error| SandboxError::setup("opening a granted directory", std::io::Error::other(error.to_string()));
        for file in grants.files() {
            let access = if file.access() == Access::ReadWrite { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            wasi.preopened_dir(file.path(), file.guest(), access).map_err(open)?;
        }
        wasi.preopened_dir(scratch, SCRATCH, FsPerms::ReadWrite).map_err(open)?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES.min(usize::try_from(limits.open_files).unwrap_or(MAX_HANDLES)));
        Ok((Self { wasi: wasi.build(), table, limiter: Limiter::new(limits.memory_bytes) }, streams))
    }
}

/// Refuses what this backend cannot give.
pub(crate) fn accepts(grants: &Grants) -> Result<(), SandboxError> {
    match grants.network() {
        Network::None => Ok(()),
        Network::Hosts(_) => {
            Err(SandboxError::refused("wasm", "it cannot open the network to named hosts only, and opens it to none instead"))
        }
    }
}

impl WasiView for Context {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
