//! The WebAssembly backend.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skills_policy::{Grants, NetworkGrant, ResourceLimits};
use skills_sandbox::{
    CapturedOutput, EnforcementReport, Evidence, Job, Preparation, PrepareFuture, Program, Refusal,
    Refusals, RefusedOperation, RunFuture, RunOutput, Sandbox, SandboxError, Termination,
};
use skills_store::PrivateDir;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout_at;

use crate::code_cache::CodeCache;
use crate::compiler::CompileCommand;
use crate::engine::{Caller, SharedEngine};
use crate::fs::StoredBytes;
#[cfg(feature = "http")]
use crate::http::{HttpConfig, HttpLimits};
use crate::prepared_component::{CodeSource, PreparedComponent, SharedComponent};
use crate::report::ReportInput;
use crate::run::{FinishedRun, RunControl, execute};
use crate::stop_reason::StopReason;
use crate::store_state::{HostConfig, OutputStreams, StoreState};
use crate::termination::stop_termination;
use crate::{LoadError, WasmProfile};

const MAX_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Runs WebAssembly: WASI 0.2 and 0.3 components, and core modules of WASI preview 1.
///
/// Cheap to clone; clones share the engine, which the first run creates. Defaults: no code cache,
/// no compile command, [`WasmProfile::Fast`], the host's resolver and routes, public authorities
/// for TLS.
#[derive(Clone)]
pub struct WasmSandbox {
    host_config: HostConfig,
    code_cache: Option<CodeCache>,
    compile_command: Option<CompileCommand>,
    /// The real path of the cache, once it was resolved.
    resolved_cache_directory: OnceLock<PathBuf>,
    engine: Arc<OnceLock<Arc<SharedEngine>>>,
}

impl WasmSandbox {
    /// Creates the backend; scratch directories are created below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl AsRef<Path>) -> Self {
        let given = HostConfig {
            scratch_parent: scratch_parent.as_ref().into(),
            profile: WasmProfile::Fast,
            #[cfg(feature = "http")]
            http: HttpConfig::default(),
        };
        Self {
            host_config: given,
            code_cache: None,
            compile_command: None,
            resolved_cache_directory: OnceLock::new(),
            engine: Arc::default(),
        }
    }

    /// Caches compiled code on disk, so that later processes need not compile it. A program may not
    /// be granted the directory, one of its parents or a path in it: such a job is rejected.
    #[must_use]
    pub fn code_cache(mut self, cache: CodeCache) -> Self {
        self.code_cache = Some(cache);
        self.resolved_cache_directory = OnceLock::new();
        // Clones that exist keep their engine with the earlier settings.
        self.engine = Arc::default();
        self
    }

    /// Sets the command that compiles components in a child process with limits.
    ///
    /// Default: none. Then components of up to 256 KiB are compiled in this process, where nothing
    /// limits the compiler: a hostile component of 5 KB can use a processor for a minute. Larger ones
    /// are rejected with [`LoadError::NeedsCompileCommand`], unless their compiled code is cached. So
    /// set one if anyone else writes the skills.
    #[must_use]
    pub fn compile_command(mut self, command: CompileCommand) -> Self {
        self.compile_command = Some(command);
        self.engine = Arc::default();
        self
    }

    /// Sets the profile.
    #[must_use]
    pub fn profile(mut self, profile: WasmProfile) -> Self {
        self.host_config.profile = profile;
        self.engine = Arc::default();
        self
    }

    /// Sets how granted hosts are resolved and connected to. Default:
    /// [`SystemConnector`](skills_egress::SystemConnector).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn connector(mut self, outside: Arc<dyn skills_egress::Connector>) -> Self {
        self.host_config.http = self.host_config.http.connector(outside);
        self
    }

    /// Trusts these certificates, each in DER, instead of the public authorities (Mozilla's list).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn root_certificates(mut self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.host_config.http = self.host_config.http.root_certificates(certificates);
        self
    }

    /// Trusts the certificates of a file in PEM instead of the public authorities. It is read when
    /// a run first has granted hosts, which fails if it has no certificate.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn certificate_file(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.host_config.http = self.host_config.http.certificate_file(path.into());
        self
    }

    /// Sets the HTTP limits of each run.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_limits(mut self, limits: HttpLimits) -> Self {
        self.host_config.http = self.host_config.http.limits(limits);
        self
    }

    fn engine(&self) -> Result<Arc<SharedEngine>, SandboxError> {
        if let Some(engine) = self.engine.get() {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(SharedEngine::new(
            self.host_config.profile,
            self.code_cache.clone(),
            self.compile_command.clone(),
        )?);
        Ok(Arc::clone(self.engine.get_or_init(|| engine)))
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started = Instant::now();
        let bytes = wasm_bytes(job.program())?;
        self.check_grants(job.grants())?;
        let engine = self.engine()?;
        let bounds = run_control(&job, started);
        let caller: Caller = job.requested_by().map(Arc::from);
        let is_prepared = AtomicBool::new(false);
        let preparing = prepare_with_slot(&engine, bytes, &caller, &bounds, &is_prepared);
        let (prepared, origin, slot) = match with_deadline(preparing, &bounds).await {
            Ok(prepared) => prepared?,
            Err(reason) => {
                let output = not_started(&job, reason, started);
                let is_compiling = !is_prepared.into_inner() && reason == StopReason::Deadline;
                return Ok(output.refusals(compile_refusal(is_compiling.then_some(bounds.limits))));
            }
        };
        let (finished, streams) = self
            .execute_prepared(&engine, &prepared, &job, &bounds)
            .await?;
        // Another run may use the slot while this one is cleaned up.
        drop(slot);
        Ok(finished.into_output(&job, streams, &origin, started).await)
    }

    /// Runs a program where it fits: pooled, or on demand if the pool has no place for it.
    async fn execute_prepared(
        &self,
        engine: &SharedEngine,
        prepared: &SharedComponent,
        job: &Job,
        bounds: &RunControl<'_>,
    ) -> Result<(FinishedRun, OutputStreams), SandboxError> {
        // Measured once: a second attempt has written nothing in between.
        let stored = StoredBytes::measure(job.quotas()).await;
        let placed = engine.select_instance(prepared);
        let (finished, streams) = self.execute(engine, placed, job, &stored, bounds).await?;
        if !finished.needs_on_demand {
            return Ok((finished, streams));
        }
        let on_demand = engine
            .on_demand_instance(prepared)
            .map_err(SandboxError::invalid_program_from)?;
        self.execute(engine, &on_demand, job, &stored, bounds).await
    }

    async fn execute(
        &self,
        engine: &SharedEngine,
        prepared: &PreparedComponent,
        job: &Job,
        stored: &StoredBytes,
        bounds: &RunControl<'_>,
    ) -> Result<(FinishedRun, OutputStreams), SandboxError> {
        // Reported before the program runs, not by an error in the middle of it.
        if prepared.info.sends_requests && *job.grants().network() == NetworkGrant::None {
            return Err(SandboxError::host_required("wasm", "wasi:http"));
        }
        let (context, streams) =
            StoreState::new(job, &self.host_config, stored, &bounds.stop_flag)?;
        Ok((execute(engine, prepared, context, bounds).await, streams))
    }

    async fn prepare_program(&self, program: Program) -> Result<Preparation, SandboxError> {
        let bytes = wasm_bytes(&program)?;
        let (_, origin) = self
            .engine()?
            // No run waits for it, so there is neither a caller nor a deadline.
            .prepare(bytes, &None, None)
            .await
            .map_err(SandboxError::invalid_program_from)?;
        Ok(preparation(origin))
    }
}

impl Sandbox for WasmSandbox {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        let forms = if cfg!(feature = "wasi-p3") {
            "WASI 0.2 and 0.3 commands, preview-1 modules"
        } else {
            "WASI 0.2 commands, preview-1 modules"
        };
        let report = EnforcementReport::new(self.name())
            .enforced("components", format!("{forms}, compiled by wasmtime"));
        let report = report.enforced("files", "granted directories only");
        let network = if cfg!(feature = "http") {
            "no sockets; requests to granted hosts"
        } else {
            "none"
        };
        let report = report.enforced("network", network);
        Ok(match &self.code_cache {
            Some(cache) => report.field("cache", cache.directory().display().to_string()),
            None => report.field("cache", "none"),
        })
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        if let Some(cache) = &self.code_cache {
            let directory = self
                .resolved_cache_directory
                .get_or_init(|| resolve_existing_prefix(cache.directory()));
            let meets = |path: &Path, directory: &Path| {
                path.starts_with(directory) || directory.starts_with(path)
            };
            // Grants may contain the real path of the cache or the configured one.
            let sees = |path: &Path| meets(path, directory) || meets(path, cache.directory());
            // A hidden directory is never opened, whatever is granted around it.
            let is_hidden = grants
                .hidden()
                .iter()
                .any(|hidden| directory.starts_with(hidden));
            if let Some(file) = grants
                .files()
                .iter()
                .find(|file| sees(file.path()) && !is_hidden)
            {
                let path = file.path().display();
                let reason = format!(
                    "{path} contains the code cache or is inside it, which no program may access"
                );
                return Err(SandboxError::rejected("wasm", reason));
            }
        }
        if cfg!(feature = "http") || *grants.network() == NetworkGrant::None {
            return Ok(());
        }
        Err(SandboxError::rejected(
            "wasm",
            "hosts are granted, but this build does not include HTTP; enable the feature `http`",
        ))
    }

    fn prepare(&self, program: Program) -> PrepareFuture<'_> {
        Box::pin(self.prepare_program(program))
    }

    fn unfinished_preparation(&self) -> Option<PrepareFuture<'_>> {
        // Without a cache only runs of this process can use the result.
        self.code_cache.as_ref()?;
        let engine = self.engine.get().filter(|engine| engine.is_loading())?;
        Some(Box::pin(async move {
            let last = engine.finish_loading().await;
            let last = last.map_err(SandboxError::invalid_program_from)?;
            Ok(last.map_or(Preparation::NotNeeded, preparation))
        }))
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}

impl fmt::Debug for WasmSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmSandbox")
            .field("scratch_parent", &self.host_config.scratch_parent)
            .field("profile", &self.host_config.profile)
            .field("cache", &self.code_cache)
            .field("compile_command", &self.compile_command)
            .finish_non_exhaustive()
    }
}

/// Resolves the symlinks of a path whose last components may not exist yet.
fn resolve_existing_prefix(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(path)),
        None => path.to_owned(),
    }
}

fn preparation(source: CodeSource) -> Preparation {
    match source {
        CodeSource::Cached | CodeSource::Memory => Preparation::Cached,
        CodeSource::Compiled {
            elapsed,
            diagnostics,
        } => Preparation::Compiled {
            duration_ms: elapsed.as_millis().try_into().unwrap_or(u64::MAX),
            cache_error: diagnostics.skipped,
        },
    }
}

fn wasm_bytes(program: &Program) -> Result<&Arc<[u8]>, SandboxError> {
    match program {
        Program::Wasm(bytes) => Ok(bytes),
        _ => Err(SandboxError::invalid_program_from(LoadError::NotWasm)),
    }
}

/// Applies the deadline of the run to work before it.
async fn with_deadline<T>(
    work: impl Future<Output = T>,
    bounds: &RunControl<'_>,
) -> Result<T, StopReason> {
    let work = timeout_at(bounds.deadline.into(), work);
    let Some(cancellation) = bounds.cancellation else {
        return work.await.map_err(|_| StopReason::Deadline);
    };
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(StopReason::Cancelled),
        result = work => result.map_err(|_| StopReason::Deadline),
    }
}

/// Compiles a program and waits for a slot to run it. `is_prepared` is set in between.
async fn prepare_with_slot<'e>(
    engine: &'e Arc<SharedEngine>,
    bytes: &Arc<[u8]>,
    caller: &Caller,
    bounds: &RunControl<'_>,
    is_prepared: &AtomicBool,
) -> Result<(SharedComponent, CodeSource, SemaphorePermit<'e>), SandboxError> {
    let prepared = engine.prepare(bytes, caller, Some(bounds.deadline)).await;
    let (prepared, origin) = prepared.map_err(SandboxError::invalid_program_from)?;
    is_prepared.store(true, Ordering::Relaxed);
    Ok((prepared, origin, engine.acquire_slot().await?))
}

impl FinishedRun {
    /// Removes the scratch directory and returns the result of the run.
    async fn into_output(
        self,
        job: &Job,
        streams: OutputStreams,
        origin: &CodeSource,
        started: Instant,
    ) -> RunOutput {
        let (stdout, stderr) = streams.take_output();
        let report = ReportInput {
            grants: job.grants(),
            quotas: job.quotas(),
            source: Some(origin),
            finished: Some(&self),
            output: [&stdout, &stderr],
        }
        .report();
        let report = match self.scratch {
            Some(private) => report.cleanup(remove_scratch(private).await),
            None => report,
        };
        let (executed, unsearched) = self.initial_files.changes(job.grants()).await;
        RunOutput::new(self.termination, stdout, stderr, started.elapsed(), report)
            .executed_files(executed)
            .notes(unsearched)
            .refusals(self.refusals)
            .withheld_keys(self.keys.withheld)
            .changed_key_links(self.keys.changed_links)
            .notes(self.keys.notes)
            .connections(self.connections, self.connections_omitted)
            .notes(self.connection_failures)
    }
}

/// Returns what can stop a run that began at this time.
fn run_control(job: &Job, started: Instant) -> RunControl<'_> {
    let limits = job.grants().limits();
    RunControl {
        limits,
        // A duration that overflows is replaced with a year.
        deadline: started
            .checked_add(limits.wall_time)
            .unwrap_or(started + MAX_DEADLINE),
        cancellation: job.cancellation_token(),
        stop_flag: Arc::default(),
    }
}

/// Returns the output of a run that was stopped before it started.
fn not_started(job: &Job, reason: StopReason, started: Instant) -> RunOutput {
    let stdout = CapturedOutput::default();
    let stderr = CapturedOutput::default();
    let account = ReportInput {
        grants: job.grants(),
        quotas: job.quotas(),
        source: None,
        finished: None,
        output: [&stdout, &stderr],
    };
    let report = account.report();
    let ending: Termination = stop_termination(reason, job.grants().limits());
    RunOutput::new(ending, stdout, stderr, started.elapsed(), report)
}

/// Returns the refusal of a run whose time ended while its program was compiled.
fn compile_refusal(limits: Option<&ResourceLimits>) -> Refusals {
    let mut refusals = Refusals::default();
    if let Some(limits) = limits {
        let limit_ms = limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX);
        let operation = RefusedOperation::CompileInTime { limit_ms };
        refusals.add(Refusal::new(operation, Evidence::Wasi));
    }
    refusals
}

/// Removes the files of a program, which may be many, on a blocking thread.
async fn remove_scratch(private: PrivateDir) -> std::io::Result<()> {
    skills_threads::run_blocking_or_here(move || private.remove()).await?
}
