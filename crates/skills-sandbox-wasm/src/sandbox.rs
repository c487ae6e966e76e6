//! The backend.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skills_policy::{Grants, Network};
use skills_sandbox::{
    Captured, Ending, Job, Outcome, Preparation, Preparing, Program, Report, Running, Sandbox,
    SandboxError, Scratch, Status,
};
use tokio::time::timeout_at;

use crate::artifacts::ArtifactCache;
use crate::compiler::CompileCommand;
use crate::context::{Context, Given, Streams};
use crate::ending::stopped;
use crate::engine::{Caller, SharedEngine};
use crate::files::Stored;
#[cfg(feature = "http")]
use crate::http::{HttpLimits, Web};
use crate::prepared::{Origin, Prepared};
use crate::report::Account;
use crate::run::{Bounds, Finished, execute};
use crate::stop::Reason;
use crate::{LoadError, Profile};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Runs WebAssembly: WASI 0.2 and 0.3 components, and core modules of the first generation of WASI.
///
/// Cheap to clone; clones share the engine, which is started by the first run. Defaults: no cache
/// on disk, no compile command, [`Profile::Fast`], the Internet as this machine sees it, public
/// authorities for TLS.
#[derive(Clone)]
pub struct WasmSandbox {
    given: Given,
    cache: Option<ArtifactCache>,
    command: Option<CompileCommand>,
    /// Where the cache really lies, once somebody asked.
    cache_directory: OnceLock<PathBuf>,
    engine: Arc<OnceLock<Arc<SharedEngine>>>,
}

impl WasmSandbox {
    /// Makes the backend; private scratch directories are made below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl AsRef<Path>) -> Self {
        let given = Given {
            scratch_parent: scratch_parent.as_ref().into(),
            profile: Profile::Fast,
            #[cfg(feature = "http")]
            web: Web::default(),
        };
        Self {
            given,
            cache: None,
            command: None,
            cache_directory: OnceLock::new(),
            engine: Arc::default(),
        }
    }

    /// Keeps compiled code on disk, so that the next process need not compile it. No program may be
    /// granted the directory, or one around it or in it: such a job is refused.
    #[must_use]
    pub fn cache(mut self, cache: ArtifactCache) -> Self {
        self.cache = Some(cache);
        self.cache_directory = OnceLock::new();
        self.engine = Arc::default();
        self
    }

    /// Sets the command that compiles large components in a child process with limits. Default:
    /// none; then components that cannot be compiled safely in this process are refused with
    /// [`LoadError::NeedsCompileCommand`], unless their compiled code is in the cache.
    #[must_use]
    pub fn compile_command(mut self, command: CompileCommand) -> Self {
        self.command = Some(command);
        self.engine = Arc::default();
        self
    }

    /// Chooses how programs are run.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.given.profile = profile;
        self.engine = Arc::default();
        self
    }

    /// Chooses how names of granted hosts are resolved and reached. Default:
    /// [`Internet`](skills_sandbox::egress::Internet).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn outside(mut self, outside: Arc<dyn skills_sandbox::egress::Outside>) -> Self {
        self.given.web = self.given.web.outside(outside);
        self
    }

    /// Believes these certificates, each one in DER, instead of the public authorities (Mozilla's
    /// list).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn root_certificates(mut self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.given.web = self.given.web.root_certificates(certificates);
        self
    }

    /// Sets how much HTTP a run may do.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_limits(mut self, limits: HttpLimits) -> Self {
        self.given.web = self.given.web.limits(limits);
        self
    }

    fn engine(&self) -> Result<Arc<SharedEngine>, SandboxError> {
        if let Some(engine) = self.engine.get() {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(SharedEngine::new(
            self.given.profile,
            self.cache.clone(),
            self.command.clone(),
        )?);
        Ok(Arc::clone(self.engine.get_or_init(|| engine)))
    }

    async fn run_job(&self, job: Job) -> Result<Outcome, SandboxError> {
        let started = Instant::now();
        let bytes = wasm(job.program())?;
        self.accepts(job.grants())?;
        let engine = self.engine()?;
        let limits = job.grants().limits();
        // A time too far away to be told is as good as a year.
        let deadline = started
            .checked_add(limits.wall_time)
            .unwrap_or(started + YEAR);
        let bounds = Bounds {
            limits,
            deadline,
            cancellation: job.cancelled_by(),
            stop: Arc::default(),
        };
        let caller: Caller = job.requested_by().map(Arc::from);
        let begun = async {
            let (prepared, origin) = engine
                .prepare(bytes, &caller, Some(deadline))
                .await
                .map_err(SandboxError::load_failed)?;
            Ok::<_, SandboxError>((prepared, origin, engine.place().await?))
        };
        let (prepared, origin, place) = match begin(begun, &bounds).await {
            Ok(begun) => begun?,
            Err(reason) => return Ok(unbegun(&job, reason, started)),
        };
        let stored = Stored::measure(job.quotas()).await;
        let placed = engine.placed(&prepared);
        let (mut finished, mut streams) = self
            .execute(&engine, placed, &job, &stored, &bounds)
            .await?;
        if finished.found_no_place {
            let roomy = engine
                .with_room(&prepared)
                .map_err(SandboxError::load_failed)?;
            (finished, streams) = self
                .execute(&engine, &roomy, &job, &stored, &bounds)
                .await?;
        }
        drop(place);
        let (stdout, stderr) = streams.take();
        let account = Account {
            grants: job.grants(),
            quotas: job.quotas(),
            origin: Some(&origin),
            finished: Some(&finished),
            output: [&stdout, &stderr],
        };
        let report = account.report();
        let report = match finished.private {
            Some(private) => report.removed(remove(private).await),
            None => report,
        };
        Ok(Outcome::new(
            finished.ending,
            stdout,
            stderr,
            started.elapsed(),
            report,
        ))
    }

    async fn execute(
        &self,
        engine: &SharedEngine,
        prepared: &Prepared,
        job: &Job,
        stored: &Stored,
        bounds: &Bounds<'_>,
    ) -> Result<(Finished, Streams), SandboxError> {
        if prepared.surface.sends_requests && *job.grants().network() == Network::None {
            return Err(SandboxError::refused(
                "wasm",
                "the program needs wasi:http, and no host is granted",
            ));
        }
        let (context, streams) = Context::new(job, &self.given, stored, &bounds.stop)?;
        Ok((execute(engine, prepared, context, bounds).await, streams))
    }

    async fn prepare_program(&self, program: Program) -> Result<Preparation, SandboxError> {
        let bytes = wasm(&program)?;
        let (_, origin) = self
            .engine()?
            .prepare(bytes, &None, None)
            .await
            .map_err(SandboxError::load_failed)?;
        Ok(match origin {
            Origin::Cached | Origin::Memory => Preparation::Cached,
            Origin::Compiled { took, troubles } => Preparation::Compiled {
                milliseconds: took.as_millis().try_into().unwrap_or(u64::MAX),
                not_kept: troubles.unused,
            },
        })
    }
}

impl Sandbox for WasmSandbox {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn probe(&self) -> Result<Report, SandboxError> {
        let forms = if cfg!(feature = "wasi-p3") {
            "WASI 0.2 and 0.3 commands, preview-1 modules"
        } else {
            "WASI 0.2 commands, preview-1 modules"
        };
        let report = Report::new(self.name()).layer(
            "components",
            Status::Enforced,
            format!("{forms}, compiled by wasmtime"),
        );
        let report = report.layer("files", Status::Enforced, "granted directories only");
        let network = if cfg!(feature = "http") {
            "no sockets; requests to granted hosts"
        } else {
            "none"
        };
        let report = report.layer("network", Status::Enforced, network);
        Ok(match &self.cache {
            Some(cache) => report.fact("cache", cache.directory().display().to_string()),
            None => report.fact("cache", "none"),
        })
    }

    fn accepts(&self, grants: &Grants) -> Result<(), SandboxError> {
        if let Some(cache) = &self.cache {
            let directory = self
                .cache_directory
                .get_or_init(|| resolved(cache.directory()));
            let meets = |path: &Path, directory: &Path| {
                path.starts_with(directory) || directory.starts_with(path)
            };
            let sees = |path: &Path| meets(path, directory) || meets(path, cache.directory());
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
                    "{path} holds the cache of compiled code, or lies in it, and no program may see that"
                );
                return Err(SandboxError::refused("wasm", reason));
            }
        }
        if cfg!(feature = "http") || *grants.network() == Network::None {
            return Ok(());
        }
        Err(SandboxError::refused(
            "wasm",
            "hosts are granted, and this program was built without HTTP; enable the feature `http`",
        ))
    }

    fn prepare(&self, program: Program) -> Preparing<'_> {
        Box::pin(self.prepare_program(program))
    }

    fn run(&self, job: Job) -> Running<'_> {
        Box::pin(self.run_job(job))
    }
}

impl fmt::Debug for WasmSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmSandbox")
            .field("scratch_parent", &self.given.scratch_parent)
            .field("profile", &self.given.profile)
            .field("cache", &self.cache)
            .field("compile_command", &self.command)
            .finish_non_exhaustive()
    }
}

/// Resolves the symlinks of a path whose end may not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(path)),
        None => path.to_owned(),
    }
}

fn wasm(program: &Program) -> Result<&Arc<[u8]>, SandboxError> {
    match program {
        Program::Wasm(bytes) => Ok(bytes),
        _ => Err(SandboxError::load_failed(LoadError::Foreign)),
    }
}

/// Waits for what comes before a run, under the same deadline.
async fn begin<T>(begun: impl Future<Output = T>, bounds: &Bounds<'_>) -> Result<T, Reason> {
    let begun = timeout_at(bounds.deadline.into(), begun);
    let Some(cancellation) = bounds.cancellation else {
        return begun.await.map_err(|_| Reason::Deadline);
    };
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(Reason::Cancelled),
        begun = begun => begun.map_err(|_| Reason::Deadline),
    }
}

/// What came of a run that never began.
fn unbegun(job: &Job, reason: Reason, started: Instant) -> Outcome {
    let (stdout, stderr) = (Captured::default(), Captured::default());
    let account = Account {
        grants: job.grants(),
        quotas: job.quotas(),
        origin: None,
        finished: None,
        output: [&stdout, &stderr],
    };
    let report = account.report();
    let ending: Ending = stopped(reason, job.grants().limits());
    Outcome::new(ending, stdout, stderr, started.elapsed(), report)
}

/// Removes what a program left, which may be much, on a thread that may block.
async fn remove(private: Scratch) -> std::io::Result<()> {
    tokio::task::spawn_blocking(move || private.remove())
        .await
        .map_err(std::io::Error::other)?
}
