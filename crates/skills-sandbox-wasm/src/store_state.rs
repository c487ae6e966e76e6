//! Per-run store state, built from the grants.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "http")]
use skills_egress::ProxySummary;
#[cfg(feature = "http")]
use skills_policy::NetworkGrant;
use skills_sandbox::{CapturedOutput, Job, OutputStream, Refusals, SandboxError};
use skills_store::PrivateDir;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::fs::preopens::Preopens;
use crate::fs::quota::StoredBytes;
use crate::fs::view::FsView;
use crate::fs::{InitialFiles, KeyReport};
#[cfg(feature = "http")]
use crate::http::{HttpConfig, HttpContext};
use crate::limiter::Limiter;
use crate::output::OutputSink;
use crate::profile::WasmProfile;
use crate::stop_reason::StopFlag;

/// The maximum number of random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// The maximum size of all variables and arguments together: the default limit of Linux.
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
    /// Whether the program called the host; if not, it had no visible effects.
    pub(crate) called_host: bool,
}

/// What a backend provides to every run.
#[derive(Clone)]
pub(crate) struct HostConfig {
    pub(crate) scratch_parent: Arc<Path>,
    pub(crate) profile: WasmProfile,
    #[cfg(feature = "http")]
    pub(crate) http: HttpConfig,
}

#[cfg(feature = "http")]
impl HostConfig {
    fn http_context(&self, network: &NetworkGrant) -> Result<HttpContext, SandboxError> {
        match network {
            // A program may import the interfaces only for their types.
            NetworkGrant::None => Ok(HttpContext::without_hosts()),
            NetworkGrant::Hosts(hosts) => self.http.http_context(hosts),
        }
    }
}

#[cfg(feature = "http")]
impl StoreState {
    /// Returns the summary of HTTP requests, if hosts are granted.
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

/// The output streams of a run.
pub(crate) struct OutputStreams {
    stdout: OutputSink,
    stderr: OutputSink,
}

impl StoreState {
    /// Creates the state from the job's grants; nothing else is accessible.
    pub(crate) fn new(
        job: &Job,
        given: &HostConfig,
        stored: &StoredBytes,
        stop: &Arc<StopFlag>,
    ) -> Result<(Self, OutputStreams), SandboxError> {
        check_strings(job)?;
        let grants = job.grants();
        let limits = grants.limits();
        let events = job.program_streams().events.as_ref();
        let sink = |stream| {
            let events = events.map(|events| (stream, events.clone()));
            OutputSink::new(limits, events, Arc::clone(stop))
        };
        let streams = OutputStreams {
            stdout: sink(OutputStream::Stdout),
            stderr: sink(OutputStream::Stderr),
        };
        let mut wasi = WasiCtx::builder();
        wasi.stdout(streams.stdout.clone())
            .stderr(streams.stderr.clone())
            .max_random_size(MAX_RANDOM_BYTES);
        // A name instead of a path, since programs get no paths of the host.
        wasi.arg("skill")
            .args(&job.resolve_args(|_, path| guest_path(grants, path)));
        if !job.stdin_bytes().is_empty() {
            wasi.stdin(MemoryInputPipe::new(job.shared_stdin()));
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

    /// Takes the scratch directory, if the run used it.
    pub(crate) fn take_scratch(&mut self) -> Option<PrivateDir> {
        self.preopens.take_scratch()
    }

    /// Takes the files that were refused.
    pub(crate) fn take_refusals(&mut self) -> Refusals {
        self.preopens.take_refusals()
    }

    /// Takes the state of the files that other programs execute, before the first modification.
    pub(crate) fn take_initial_files(&mut self) -> InitialFiles {
        self.preopens.take_initial_files()
    }

    /// Reports the files that may hold keys and that the program could not open.
    pub(crate) fn key_report(&self) -> KeyReport {
        self.preopens.key_report()
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

/// Returns the guest path of a host path.
fn guest_path(grants: &skills_policy::Grants, path: &Path) -> Option<String> {
    grants.files().iter().find_map(|file| {
        let below = path.strip_prefix(file.path()).ok()?;
        let is_whole = below.as_os_str().is_empty();
        Some(if is_whole {
            file.guest_path().to_owned()
        } else {
            format!("{}/{}", file.guest_path(), below.display())
        })
    })
}

/// Rejects strings that a program could not read completely: many languages end strings at the
/// first zero byte.
fn check_strings(job: &Job) -> Result<(), SandboxError> {
    let is_cut = |text: &str| text.contains('\0');
    if let Some((name, _)) = job
        .envs()
        .find(|(name, value)| is_cut(name) || is_cut(value))
    {
        return Err(SandboxError::rejected(
            "wasm",
            format!("variable {name:?} contains a zero byte, at which programs stop reading"),
        ));
    }
    if job.args().iter().any(|argument| is_cut(argument)) {
        return Err(SandboxError::rejected(
            "wasm",
            "an argument contains a zero byte, at which programs stop reading",
        ));
    }
    let bytes: usize = job
        .envs()
        .map(|(name, value)| name.len() + value.len())
        .chain(job.args().iter().map(String::len))
        .sum();
    if bytes > MAX_ARGS_ENV_BYTES {
        let reason = format!(
            "variables and arguments are {bytes} bytes, limit {MAX_ARGS_ENV_BYTES}; standard input has no such limit"
        );
        return Err(SandboxError::rejected("wasm", reason));
    }
    Ok(())
}

impl OutputStreams {
    /// Takes the captured standard output and standard error.
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
