//! What one run sees of the world, made from its grants.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "http")]
use skills_policy::Network;
#[cfg(feature = "http")]
use skills_sandbox::egress::ProxySummary;
use skills_sandbox::{CapturedOutput, Job, SandboxError, ScratchDir};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::fs::{FsView, Preopens, StoredBytes};
#[cfg(feature = "http")]
use crate::http::{HttpConfig, HttpContext};
use crate::limiter::Limiter;
use crate::output::OutputSink;
use crate::profile::WasmProfile;
use crate::stop_reason::StopFlag;

/// The most random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// The most bytes of all variables and arguments together: what Linux gives a program at most, in
/// its default configuration.
const MAX_ARGS_ENV_BYTES: usize = 2 << 20;

/// The state of one run.
pub(crate) struct StoreState {
    wasi: WasiCtx,
    table: ResourceTable,
    preopens: Preopens,
    #[cfg(feature = "http")]
    http_context: HttpContext,
    pub(crate) limiter: Limiter,
    pub(crate) max_handles: usize,
    /// Whether the program called this host; if not, nothing of it can have been seen outside.
    pub(crate) called_host: bool,
}

/// What a backend gives every run.
#[derive(Clone)]
pub(crate) struct HostConfig {
    pub(crate) scratch_parent: Arc<Path>,
    pub(crate) profile: WasmProfile,
    #[cfg(feature = "http")]
    pub(crate) http: HttpConfig,
}

#[cfg(feature = "http")]
impl HostConfig {
    fn http_context(&self, network: &Network) -> Result<HttpContext, SandboxError> {
        match network {
            Network::None => Ok(HttpContext::without_hosts()),
            Network::Hosts(hosts) => self.http.http_context(hosts),
        }
    }
}

#[cfg(feature = "http")]
impl StoreState {
    /// Returns which hosts were reached and which were not, where any could be.
    pub(crate) fn summary(&self) -> Option<ProxySummary> {
        self.http_context.summary()
    }
}

#[cfg(feature = "http")]
impl wasmtime_wasi_http::WasiHttpView for StoreState {
    fn http(&mut self) -> wasmtime_wasi_http::WasiHttpCtxView<'_> {
        self.called_host = true;
        self.http_context.view(&mut self.table)
    }
}

/// What is left of a run besides its ending.
pub(crate) struct OutputStreams {
    stdout: OutputSink,
    stderr: OutputSink,
}

impl StoreState {
    /// Makes the state from the job's grants; what is not granted is not there.
    pub(crate) fn new(
        job: &Job,
        given: &HostConfig,
        stored: &StoredBytes,
        stop: &Arc<StopFlag>,
    ) -> Result<(Self, OutputStreams), SandboxError> {
        check_strings(job)?;
        let (grants, limits) = (job.grants(), job.grants().limits());
        let sink = || OutputSink::new(limits.output_bytes, limits.flood_bytes, Arc::clone(stop));
        let streams = OutputStreams {
            stdout: sink(),
            stderr: sink(),
        };
        let mut wasi = WasiCtx::builder();
        wasi.stdout(streams.stdout.clone())
            .stderr(streams.stderr.clone())
            .max_random_size(MAX_RANDOM_BYTES);
        wasi.arg("skill")
            .args(&job.resolve_args(|_, path| guest_path(grants, path)));
        if !job.stdin_bytes().is_empty() {
            wasi.stdin(MemoryInputPipe::new(job.stdin_bytes().to_vec()));
        }
        for (name, value) in job.envs() {
            wasi.env(name, value);
        }
        given.profile.apply(&mut wasi);
        let directories = Preopens::open(grants, Arc::clone(&given.scratch_parent), stored)?;
        let max_handles = usize::try_from(limits.open_files).unwrap_or(usize::MAX);
        let mut table = ResourceTable::new();
        table.set_max_capacity(max_handles);
        let limiter = Limiter::new(limits.memory_bytes);
        let context = Self {
            wasi: wasi.build(),
            table,
            preopens: directories,
            #[cfg(feature = "http")]
            http_context: given.http_context(grants.network())?,
            limiter,
            max_handles,
            called_host: false,
        };
        Ok((context, streams))
    }

    /// Takes out the private directory, if the run used it.
    pub(crate) fn take_scratch(&mut self) -> Option<ScratchDir> {
        self.preopens.take_scratch()
    }

    pub(crate) fn fs_view(&mut self) -> FsView<'_> {
        self.called_host = true;
        FsView {
            table: &mut self.table,
            wasi: self.wasi.filesystem(),
            preopens: &mut self.preopens,
        }
    }
}

/// Where a program finds a path of the machine.
fn guest_path(grants: &skills_policy::Grants, path: &Path) -> Option<String> {
    grants.files().iter().find_map(|file| {
        let below = path.strip_prefix(file.path()).ok()?;
        let is_whole = below.as_os_str().is_empty();
        Some(if is_whole {
            file.guest().to_owned()
        } else {
            format!("{}/{}", file.guest(), below.display())
        })
    })
}

/// Refuses what a program could not read as it was given: languages end their strings at the first
/// zero byte.
fn check_strings(job: &Job) -> Result<(), SandboxError> {
    let is_cut = |text: &str| text.contains('\0');
    if let Some((name, _)) = job
        .envs()
        .find(|(name, value)| is_cut(name) || is_cut(value))
    {
        return Err(SandboxError::rejected(
            "wasm",
            format!("the variable {name:?} holds a zero byte, at which programs stop reading"),
        ));
    }
    if job.args().iter().any(|argument| is_cut(argument)) {
        return Err(SandboxError::rejected(
            "wasm",
            "an argument holds a zero byte, at which programs stop reading",
        ));
    }
    let bytes: usize = job
        .envs()
        .map(|(name, value)| name.len() + value.len())
        .chain(job.args().iter().map(String::len))
        .sum();
    if bytes > MAX_ARGS_ENV_BYTES {
        let reason = format!(
            "variables and arguments have {bytes} bytes, at most {MAX_ARGS_ENV_BYTES} are passed; standard input takes more"
        );
        return Err(SandboxError::rejected("wasm", reason));
    }
    Ok(())
}

impl OutputStreams {
    /// Takes what was written to standard output and standard error.
    pub(crate) fn take_output(&self) -> (CapturedOutput, CapturedOutput) {
        (self.stdout.take_output(), self.stderr.take_output())
    }
}

impl WasiView for StoreState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.called_host = true;
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}
