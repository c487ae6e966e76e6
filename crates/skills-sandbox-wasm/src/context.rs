//! What one run sees of the world, made from its grants.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "http")]
use skills_policy::Network;
#[cfg(feature = "http")]
use skills_sandbox::egress::Summary;
use skills_sandbox::{Captured, Job, SandboxError, Scratch};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::files::{Directories, Files, Stored};
#[cfg(feature = "http")]
use crate::http::{Gate, Web};
use crate::limiter::Limiter;
use crate::output::Sink;
use crate::profile::Profile;
use crate::stop::Stop;

/// The most random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// The most bytes of all variables and arguments together: what Linux gives a program at most, in
/// its default configuration.
const MAX_TEXT_BYTES: usize = 2 << 20;

/// The state of one run.
pub(crate) struct Context {
    wasi: WasiCtx,
    table: ResourceTable,
    directories: Directories,
    #[cfg(feature = "http")]
    gate: Gate,
    pub(crate) limiter: Limiter,
    pub(crate) max_handles: usize,
    /// Whether the program called this host; if not, nothing of it can have been seen outside.
    pub(crate) was_called: bool,
}

/// What a backend gives every run.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) scratch_parent: Arc<Path>,
    pub(crate) profile: Profile,
    #[cfg(feature = "http")]
    pub(crate) web: Web,
}

#[cfg(feature = "http")]
impl Given {
    fn gate(&self, network: &Network) -> Result<Gate, SandboxError> {
        match network {
            Network::None => Ok(Gate::closed()),
            Network::Hosts(hosts) => self.web.gate(hosts),
        }
    }
}

#[cfg(feature = "http")]
impl Context {
    /// Returns which hosts were reached and which were not, where any could be.
    pub(crate) fn summary(&self) -> Option<Summary> {
        self.gate.summary()
    }
}

#[cfg(feature = "http")]
impl wasmtime_wasi_http::WasiHttpView for Context {
    fn http(&mut self) -> wasmtime_wasi_http::WasiHttpCtxView<'_> {
        self.was_called = true;
        self.gate.view(&mut self.table)
    }
}

/// What is left of a run besides its ending.
pub(crate) struct Streams {
    stdout: Sink,
    stderr: Sink,
}

impl Context {
    /// Makes the state from the job's grants; what is not granted is not there.
    pub(crate) fn new(
        job: &Job,
        given: &Given,
        stored: &Stored,
        stop: &Arc<Stop>,
    ) -> Result<(Self, Streams), SandboxError> {
        readable(job)?;
        let (grants, limits) = (job.grants(), job.grants().limits());
        let sink = || Sink::new(limits.output_bytes, limits.flood_bytes, Arc::clone(stop));
        let streams = Streams {
            stdout: sink(),
            stderr: sink(),
        };
        let mut wasi = WasiCtx::builder();
        wasi.stdout(streams.stdout.clone())
            .stderr(streams.stderr.clone())
            .max_random_size(MAX_RANDOM_BYTES);
        wasi.arg("skill")
            .args(&job.arguments_with(|_, path| guest(grants, path)));
        if !job.input_bytes().is_empty() {
            wasi.stdin(MemoryInputPipe::new(job.input_bytes().to_vec()));
        }
        for (name, value) in job.variables() {
            wasi.env(name, value);
        }
        given.profile.apply(&mut wasi);
        let directories = Directories::open(grants, Arc::clone(&given.scratch_parent), stored)?;
        let max_handles = usize::try_from(limits.open_files).unwrap_or(usize::MAX);
        let mut table = ResourceTable::new();
        table.set_max_capacity(max_handles);
        let limiter = Limiter::new(limits.memory_bytes);
        let context = Self {
            wasi: wasi.build(),
            table,
            directories,
            #[cfg(feature = "http")]
            gate: given.gate(grants.network())?,
            limiter,
            max_handles,
            was_called: false,
        };
        Ok((context, streams))
    }

    /// Takes out the private directory, if the run used it.
    pub(crate) fn take_private(&mut self) -> Option<Scratch> {
        self.directories.take_private()
    }

    pub(crate) fn files(&mut self) -> Files<'_> {
        self.was_called = true;
        Files {
            table: &mut self.table,
            wasi: self.wasi.filesystem(),
            directories: &mut self.directories,
        }
    }
}

/// Where a program finds a path of the machine.
fn guest(grants: &skills_policy::Grants, path: &Path) -> Option<String> {
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
fn readable(job: &Job) -> Result<(), SandboxError> {
    let is_cut = |text: &str| text.contains('\0');
    if let Some((name, _)) = job
        .variables()
        .find(|(name, value)| is_cut(name) || is_cut(value))
    {
        return Err(SandboxError::refused(
            "wasm",
            format!("the variable {name:?} holds a zero byte, at which programs stop reading"),
        ));
    }
    if job.arguments().iter().any(|argument| is_cut(argument)) {
        return Err(SandboxError::refused(
            "wasm",
            "an argument holds a zero byte, at which programs stop reading",
        ));
    }
    let bytes: usize = job
        .variables()
        .map(|(name, value)| name.len() + value.len())
        .chain(job.arguments().iter().map(String::len))
        .sum();
    if bytes > MAX_TEXT_BYTES {
        let reason = format!(
            "variables and arguments have {bytes} bytes, at most {MAX_TEXT_BYTES} are passed; standard input takes more"
        );
        return Err(SandboxError::refused("wasm", reason));
    }
    Ok(())
}

impl Streams {
    /// Takes what was written to standard output and standard error.
    pub(crate) fn take(&self) -> (Captured, Captured) {
        (self.stdout.take(), self.stderr.take())
    }
}

impl WasiView for Context {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.was_called = true;
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}
