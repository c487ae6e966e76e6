//! The container backend.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skills_egress::{Connector, HostConnector, Proxy, ProxyLog, SystemConnector};
use skills_policy::{Grants, NetworkGrant};
use skills_process::{KeyFiles, ProtectedEntries, QuotaMonitor, SCRATCH_PREFIX};
use skills_sandbox::{
    CapturedOutput, EnforcementReport, Job, Refusals, RunFuture, RunOutput, Sandbox, SandboxError,
    Termination, wait_cancelled,
};
use skills_store::PrivateDir;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::ImageReference;
use crate::connect::Engine;
use crate::container::Container;
use crate::engine::BACKEND;
use crate::launcher;
use crate::mounts::{Unreadable, check_mounts};
use crate::namespace::{self, MountCheck, MountSources};
use crate::plan::{ExecRequest, PlanContext, RunPlan, WantedProgram};
use crate::programs::find_program;
use crate::report::{probe_report, report};
use crate::supervise::{Bounds, ProgramOutput, run_program};
use crate::warm::{KeptContainer, KeptContainers, owner_labels, remove_abandoned};

/// What a run says whose engine does not answer.
const LOST_NOTE: &str = "the connection to the container engine was lost, so the run was stopped";
/// How long the creation of a container may take in addition to the deadline of its run: engines take a
/// second or two for it, and more on a busy machine.
const SETUP_ALLOWANCE: Duration = Duration::from_secs(10);
/// How long the engine may take to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs scripts and commands in containers of the engine behind a Unix socket.
///
/// Defaults of the builder: the runtime of the engine, a new container for each run, and
/// [`SystemConnector`]. Clones share the connection and the kept containers. The first run connects,
/// and removes containers of processes that have died.
///
/// [`run`](Sandbox::run) needs a Tokio runtime with I/O and time enabled. Dropping its future waits
/// until the container is removed; a container also ends by itself some seconds after the deadline.
///
/// ```
/// use std::time::Duration;
/// use skills_sandbox::Sandbox;
/// use skills_sandbox_container::{ContainerSandbox, ImageReference};
///
/// let image: ImageReference = format!("docker.io/library/python@sha256:{}", "a".repeat(64)).parse()?;
/// let sandbox = ContainerSandbox::new("/run/user/1000/no-engine.sock", image, "/tmp")
///     .runtime("runsc")
///     .keep_warm(Duration::from_secs(300));
/// assert_eq!(sandbox.name(), "container");
/// // Without an engine nothing runs.
/// assert!(sandbox.probe().is_err());
/// # Ok::<(), skills_sandbox_container::InvalidImageReference>(())
/// ```
#[derive(Clone)]
pub struct ContainerSandbox {
    socket: PathBuf,
    image: ImageReference,
    scratch_parent: PathBuf,
    runtime: Option<String>,
    keep: Duration,
    connector: Arc<dyn Connector>,
    shared: Arc<Shared>,
}

/// What runs share.
#[derive(Default)]
struct Shared {
    engine: OnceCell<Engine>,
    kept: KeptContainers,
    mounted: OnceLock<MountedDirectories>,
}

/// Directories of the host that containers have in addition to granted ones.
struct MountedDirectories {
    /// An empty one, which is mounted over hidden ones.
    empty: PathBuf,
    /// What is mounted over files that may hold keys.
    unreadable: Unreadable,
    /// The one with the programs of [`launcher`].
    launcher: PathBuf,
    _parent: PrivateDir,
}

/// A run whose program can be started.
struct ReadyRun {
    engine: Engine,
    plan: RunPlan,
    quotas: Arc<QuotaMonitor>,
    container: KeptContainer,
    network: Option<RunNetwork>,
    exec: ExecRequest,
}

/// The proxy of a run, and the listener through which the container reaches it.
struct RunNetwork {
    proxy: Proxy,
    listener: TcpListener,
}

impl ContainerSandbox {
    /// Creates the backend for the engine behind `socket`, a path. The files that
    /// containers have of this backend are created below `scratch_parent`, which must allow to execute
    /// programs.
    #[must_use]
    pub fn new(
        socket: impl Into<PathBuf>,
        image: ImageReference,
        scratch_parent: impl Into<PathBuf>,
    ) -> Self {
        Self {
            socket: socket.into(),
            image,
            scratch_parent: scratch_parent.into(),
            runtime: None,
            keep: Duration::ZERO,
            connector: Arc::new(SystemConnector::default()),
            shared: Arc::default(),
        }
    }

    /// Sets the OCI runtime by its name in the configuration of the engine, such as `runsc` (gVisor) or `kata`.
    /// Default: that of the engine. Runs fail if the engine does not have it.
    #[must_use]
    pub fn runtime(mut self, name: impl Into<String>) -> Self {
        self.runtime = Some(name.into());
        self
    }

    /// Keeps the container of a run for later ones of the same [caller](Job::caller) with the same
    /// grants, for `duration` after the last one, which saves its creation. Such runs share the scratch
    /// space. A container in which a process is left is not kept. Default: zero, for a new container
    /// for each run.
    #[must_use]
    pub fn keep_warm(mut self, duration: Duration) -> Self {
        self.keep = duration;
        self
    }

    /// Sets how names of granted hosts are resolved and connected to.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = connector;
        self
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started = Instant::now();
        let deadline = job.grants().limits().wall_time + SETUP_ALLOWANCE;
        let prepared = tokio::select! {
            biased;
            () = wait_cancelled(job.cancellation_token()) => return Ok(cancelled_output(started)),
            prepared = timeout(deadline, self.prepare(&job)) => prepared,
        };
        let ReadyRun {
            engine,
            plan,
            quotas,
            container,
            network,
            exec,
        } = prepared
            .map_err(|elapsed| SandboxError::setup("creating the container", elapsed.into()))??;
        let bounds = Bounds {
            limits: &plan.container.limits,
            quotas,
            cancellation: job.cancellation_token(),
            first_process: container.running.pid(),
        };
        let log = network.as_ref().map(|network| network.proxy.log());
        let program = run_program(&container.running, &exec, job.program_streams(), &bounds);
        let output = with_proxy(network, program).await?;
        let report = report(&engine, &plan, &job, &container.mounts, log.as_ref());
        let cleanup = self.finish(&engine, &plan, &job, container, &output).await;
        let changes = plan.protected.changes(job.grants());
        let lost = output.is_lost.then(|| LOST_NOTE.to_owned());
        let report = report.cleanup_of("container", cleanup);
        let read_only = plan.protected.outermost().map(Path::to_owned);
        Ok(run_output(output, started, report, log.as_ref())
            .notes(
                changes
                    .notes
                    .into_iter()
                    .chain(lost)
                    .chain(plan.keys.notes()),
            )
            .executed_files(changes.executed)
            .read_only_paths(read_only)
            .withheld_keys(plan.keys.iter().map(|(path, _)| path.to_owned()))
            .changed_key_links(plan.keys.changed_links()))
    }

    /// Does all that precedes the start of the program.
    async fn prepare(&self, job: &Job) -> Result<ReadyRun, SandboxError> {
        let wanted = WantedProgram::new(job)?;
        let engine = self.engine().await?;
        let (protected, keys) = search(job.grants()).await?;
        let plan = RunPlan::new(job, protected, keys, &self.context(&engine)?)?;
        let quotas = QuotaMonitor::open(job.quotas())
            .and_then(|quotas| quotas.with_disks_of(job.grants()))
            .map_err(|error| SandboxError::setup("opening a directory with a quota", error))?;
        let (container, executable) = match self.take_kept(&plan, job).await {
            Some(kept) => {
                let name = kept.running.container.name();
                let executable = find_program(&engine.client, name, &engine.image, &wanted).await?;
                (kept, executable)
            }
            None => self.start(&engine, &plan, &wanted).await?,
        };
        let network = self.open_network(&plan, job.grants(), &container)?;
        launcher::write_input(container.input.path(), job.stdin_bytes()).map_err(input_error)?;
        let exec = plan.exec(job, &engine.image, &executable);
        Ok(ReadyRun {
            engine,
            plan,
            quotas: Arc::new(quotas),
            container,
            network,
            exec,
        })
    }

    async fn engine(&self) -> Result<Engine, SandboxError> {
        let connect = async {
            let runtime = self.runtime.as_deref();
            let engine = Engine::connect(&self.socket, &self.image, runtime).await?;
            remove_abandoned(&engine.client).await;
            Ok::<_, SandboxError>(engine)
        };
        self.shared
            .engine
            .get_or_try_init(|| connect)
            .await
            .cloned()
    }

    fn context<'a>(&'a self, engine: &'a Engine) -> Result<PlanContext<'a>, SandboxError> {
        let mounted = self.mounted_directories()?;
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        Ok(PlanContext {
            engine: &engine.facts,
            image: &engine.image,
            runtime: self.runtime.as_deref(),
            ids: (user.as_raw(), group.as_raw()),
            socket: &self.socket,
            empty: &mounted.empty,
            unreadable: &mounted.unreadable,
            launcher: &mounted.launcher,
            labels: owner_labels(),
            keep_seconds: self.keep.as_secs(),
        })
    }

    fn mounted_directories(&self) -> Result<&MountedDirectories, SandboxError> {
        if let Some(mounted) = self.shared.mounted.get() {
            return Ok(mounted);
        }
        let created = MountedDirectories::new(&self.scratch_parent)
            .map_err(|error| SandboxError::setup("creating the launcher of programs", error))?;
        Ok(self.shared.mounted.get_or_init(|| created))
    }

    /// Only a run without hosts uses a kept container: the ports of the proxy of an earlier run could
    /// still be in use.
    async fn take_kept(&self, plan: &RunPlan, job: &Job) -> Option<KeptContainer> {
        let caller = job.requested_by().filter(|_| self.is_kept(plan))?;
        let wall_time = plan.container.limits.wall_time;
        let kept = self.shared.kept.take(caller, &plan.container, wall_time)?;
        // A directory that was replaced is another one, although its path is the same.
        let sources = MountSources::identify(&plan.container.mounts).ok()?;
        let is_usable = sources == kept.sources && kept.running.container.is_running().await;
        if is_usable {
            return Some(kept);
        }
        let _ = kept.running.remove().await;
        None
    }

    fn is_kept(&self, plan: &RunPlan) -> bool {
        !self.keep.is_zero() && plan.endpoint.is_none()
    }

    async fn start(
        &self,
        engine: &Engine,
        plan: &RunPlan,
        wanted: &WantedProgram,
    ) -> Result<(KeptContainer, String), SandboxError> {
        let sources = MountSources::identify(&plan.container.mounts)?;
        let input =
            PrivateDir::create(&self.scratch_parent, SCRATCH_PREFIX).map_err(input_error)?;
        let input_path = input.path().canonicalize().map_err(input_error)?;
        let container = Container::create(&engine.client, &plan.container, &input_path).await?;
        let executable =
            find_program(&engine.client, container.name(), &engine.image, wanted).await?;
        let mut running = container.start().await?;
        let mounts = sources
            .compare(&mut running, engine, &plan.container)
            .await?;
        let ends_at = tokio::time::Instant::now() + Duration::from_secs(plan.container.max_seconds);
        let kept = KeptContainer {
            running,
            mounts,
            sources,
            input,
            ends_at,
        };
        Ok((kept, executable))
    }

    /// Listens in the network namespace of the container, if hosts are granted.
    fn open_network(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        kept: &KeptContainer,
    ) -> Result<Option<RunNetwork>, SandboxError> {
        let (Some(endpoint), NetworkGrant::Hosts(hosts)) = (&plan.endpoint, grants.network())
        else {
            return Ok(None);
        };
        let pid = match (&kept.mounts, kept.running.pid()) {
            (MountCheck::Verified, Some(pid)) => pid,
            (MountCheck::NotVisible(reason), _) => return Err(network_error(reason)),
            (MountCheck::Verified, None) => return Err(network_error("it has no process")),
        };
        let ports: Vec<u16> = [endpoint.port]
            .into_iter()
            .chain(endpoint.services.iter().copied())
            .collect();
        let listeners = namespace::listen(pid, &ports)
            .map_err(|error| network_error(&format!("cannot enter its network: {error}")))?;
        let mut listeners = listeners.into_iter().map(TcpListener::from_std);
        let failed = |error| SandboxError::setup("listening in the container", error);
        let listener = listeners
            .next()
            .ok_or_else(|| network_error("it has no listener"))?
            .map_err(failed)?;
        let connector = HostConnector::new(hosts.clone(), Arc::clone(&self.connector));
        let proxy = listeners.try_fold(Proxy::new(connector), |proxy, service| {
            proxy.loopback_service(service?)
        });
        let proxy = proxy.map_err(failed)?;
        Ok(Some(RunNetwork { proxy, listener }))
    }

    /// Keeps the container, or removes it.
    async fn finish(
        &self,
        engine: &Engine,
        plan: &RunPlan,
        job: &Job,
        kept: KeptContainer,
        output: &ProgramOutput,
    ) -> std::io::Result<()> {
        /// The waiting one.
        const PROCESSES_OF_IDLE: usize = 1;
        let container = &kept.running.container;
        if let Some(caller) = job.requested_by()
            && output.has_exited
            && self.is_kept(plan)
            && container.process_count(engine.facts.product).await == Some(PROCESSES_OF_IDLE)
        {
            // The input can contain secrets.
            launcher::write_input(kept.input.path(), &[])?;
            self.shared
                .kept
                .keep(caller, &plan.container, kept, self.keep);
            return Ok(());
        }
        kept.running.remove().await
    }
}

impl Unreadable {
    #[expect(clippy::disallowed_methods, reason = "a file of this backend")]
    fn create(parent: &Path) -> std::io::Result<Self> {
        let unreadable = Self {
            file: parent.join("unreadable-file"),
            directory: parent.join("unreadable-directory"),
        };
        std::fs::write(&unreadable.file, "")?;
        std::fs::create_dir(&unreadable.directory)?;
        for path in [&unreadable.file, &unreadable.directory] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o000))?;
        }
        Ok(unreadable)
    }
}

impl MountedDirectories {
    fn new(parent: &Path) -> std::io::Result<Self> {
        let parent = PrivateDir::create(parent, SCRATCH_PREFIX)?;
        // Mounts of paths with symlinks are rejected.
        let root = parent.path().canonicalize()?;
        let (empty, programs) = (root.join("empty"), root.join("launcher"));
        std::fs::create_dir(&empty)?;
        std::fs::create_dir(&programs)?;
        launcher::write_programs(&programs)?;
        Ok(Self {
            empty,
            unreadable: Unreadable::create(&root)?,
            launcher: programs,
            _parent: parent,
        })
    }
}

fn input_error(error: std::io::Error) -> SandboxError {
    SandboxError::setup("writing the input", error)
}

/// Searches for protected paths and files that may hold keys, on a blocking thread.
async fn search(grants: &Grants) -> Result<(ProtectedEntries, KeyFiles), SandboxError> {
    let grants = grants.clone();
    let search = move || {
        let rejected = |limit: String| SandboxError::rejected(BACKEND, limit);
        let protected = ProtectedEntries::find(&grants);
        let keys = KeyFiles::find(&grants);
        Ok((
            protected.map_err(|limit| rejected(limit.to_string()))?,
            keys.map_err(|limit| rejected(limit.to_string()))?,
        ))
    };
    skills_threads::run_blocking(search)
        .await
        .map_err(|error| SandboxError::setup("searching granted directories", error))?
}

/// Runs the program, and serves its proxy meanwhile if it has one.
async fn with_proxy(
    network: Option<RunNetwork>,
    program: impl Future<Output = Result<ProgramOutput, SandboxError>>,
) -> Result<ProgramOutput, SandboxError> {
    match network {
        None => program.await,
        Some(RunNetwork { proxy, listener }) => tokio::select! {
            output = program => output,
            never = proxy.serve(listener) => match never {},
        },
    }
}

/// Returns the output of a run that was cancelled before its program was started.
fn cancelled_output(started: Instant) -> RunOutput {
    RunOutput::new(
        Termination::Cancelled,
        CapturedOutput::default(),
        CapturedOutput::default(),
        started.elapsed(),
        EnforcementReport::new(BACKEND),
    )
}

fn network_error(reason: &str) -> SandboxError {
    SandboxError::unavailable(
        "access to hosts from a container",
        reason.to_owned(),
        "run as root, or with Podman of the same user; or use another sandbox",
    )
}

fn run_output(
    output: ProgramOutput,
    started: Instant,
    report: EnforcementReport,
    log: Option<&ProxyLog>,
) -> RunOutput {
    let requests = log.map(ProxyLog::summary).unwrap_or_default();
    let mut refusals = Refusals::default();
    for (host, count) in requests.rejected_hosts() {
        refusals.add_connections(host, count);
    }
    RunOutput::new(
        output.termination,
        output.stdout,
        output.stderr,
        started.elapsed(),
        report,
    )
    .notes(requests.failures())
    .refusals(refusals)
    .connections(requests.reached, requests.reached_omitted)
}

/// The connector and the connection have no useful `Debug` output.
impl fmt::Debug for ContainerSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerSandbox")
            .field("socket", &self.socket)
            .field("image", &self.image)
            .field("runtime", &self.runtime)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

impl Sandbox for ContainerSandbox {
    fn name(&self) -> &'static str {
        BACKEND
    }

    fn image(&self) -> Option<String> {
        Some(self.image.digest().to_owned())
    }

    /// Connects to the engine on a thread of its own, so it may be called anywhere.
    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        let failed = |error| SandboxError::setup("connecting to the container engine", error);
        let connect = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(failed)?;
            let connect = Engine::connect(&self.socket, &self.image, self.runtime.as_deref());
            runtime
                .block_on(async { timeout(PROBE_TIMEOUT, connect).await })
                .map_err(|elapsed| failed(elapsed.into()))?
        };
        let engine = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, connect);
            thread.map(std::thread::ScopedJoinHandle::join)
        });
        let engine = engine
            .map_err(failed)?
            .map_err(|_| failed(std::io::Error::other("the connection panicked")))??;
        Ok(probe_report(&engine, self.runtime.as_deref()))
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        check_mounts(grants, &self.socket)
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}
