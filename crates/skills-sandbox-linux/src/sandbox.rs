//! The sandbox backend: selects the isolation level, plans a run, starts and supervises it.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use skills_egress::{Connector, HostConnector, Proxy, ProxyLog, SystemConnector};
use skills_policy::{Grants, NetworkGrant, SpawnGrant};
use skills_process::ProgramFinder;
use skills_process::{Bounds, SupervisedOutput, supervise};
use skills_process::{QuotaMonitor, SCRATCH_PREFIX};
use skills_sandbox::{EnforcementReport, Job, RunFuture, RunOutput, Sandbox, SandboxError};
use skills_store::PrivateDir;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::cgroup::Cgroup;
use crate::child_setup::{ChildOptions, ChildSetup};
use crate::grant_checks::{check_grants, has_hosts, network_error};
use crate::home_files;
#[cfg(feature = "fault-injection")]
use crate::host_support::unsupported;
use crate::host_support::{HostSupport, host_support};
use crate::isolation::{Assumption, IsolationLevel, IsolationMode};
use crate::key_rules::check_rules;
use crate::landlock_abi::LandlockAbi;
use crate::local_sockets::LocalSockets;
use crate::name_server::{NameServer, with_names};
use crate::observer::{GrantedPrograms, Observer, observed, refusals};
use crate::path_rule::PlanContext;
use crate::plan::Plan;
use crate::private_terminal::with_size;
use crate::processors::Processors;
use crate::program_status::program_termination;
use crate::report::{ReportInput, clean_up, probe_report};
use crate::resident_monitor::{ResidentMonitor, memory_refusal, memory_termination, run_monitored};
use crate::rlimits::MemoryCounting;
use crate::rootfs_plan::{RootFsPlan, choose_scratch_path};
use crate::run_processes::RunProcesses;
use crate::scratch_links;
use crate::setup_slot::EarlySetup;
use crate::setup_step::SetupStep;
use crate::shared_mappings::SharedMappings;
use crate::spawn::SpawnedChild;
use crate::spawner::Spawner;
use crate::watchdog::{self, WatchedGroup};

/// A sandbox backend for scripts and host programs on Linux.
///
/// What the host supports is found once per process. The first run starts at the strongest level;
/// if its setup fails before anything of the program ran, a child process tries all setup steps,
/// and the run starts again at the level that the host supports, if the [`IsolationMode`] allows
/// it.
///
/// Each run has its own namespaces, cgroup and scratch directory, which are removed when it ends or
/// its future is dropped; dropping the future kills all processes of the run. Clones are cheap and
/// share nothing that a run changes.
///
/// [`run`](Sandbox::run) needs a Tokio runtime with I/O and time enabled. The child is created on a
/// thread of this crate, so the thread that polls the future may end before the run.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use skills_policy::{Authorization, Policy, Request};
/// use skills_sandbox::Sandbox;
/// use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
///
/// let sandbox = LinuxSandbox::new("/tmp").isolation_mode(IsolationMode::Namespaces);
/// assert_eq!(sandbox.name(), "linux");
///
/// let Authorization::Granted(grants) = Policy::default().authorize(&Request::new("/skills/pdf"))
/// else {
///     panic!("reading the own directory needs no rule")
/// };
/// match sandbox.probe() {
///     Ok(report) => {
///         assert_eq!(report.field_value("isolation"), Some("namespaces"));
///         assert!(sandbox.check_grants(&grants).is_ok());
///     }
///     // The host does not support namespaces, so nothing runs.
///     Err(error) => assert!(sandbox.check_grants(&grants).is_err(), "{error}"),
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct LinuxSandbox {
    program_finder: ProgramFinder,
    scratch_parent: PathBuf,
    isolation_mode: IsolationMode,
    connector: Arc<dyn Connector>,
    fault: Option<SetupStep>,
    host_support: &'static HostSupport,
}

/// A child that executes its program, with what has to outlive it.
struct StartedRun<'a> {
    /// The job with the paths that the program uses.
    job: Cow<'a, Job>,
    plan: Plan,
    quotas: Arc<QuotaMonitor>,
    child: SpawnedChild,
    scratch: Option<PrivateDir>,
    cgroup: Option<Cgroup>,
    local_sockets: LocalSockets,
    /// Whether processes of the run could survive a killed host process without the watchdog.
    needs_watchdog: bool,
}

/// Why a program was not started.
enum StartError {
    /// The deadline passed during the setup.
    TimedOut,
    /// Any other error. It may mean that the host does not support the assumed isolation level.
    Failed(SandboxError),
}

impl From<SandboxError> for StartError {
    fn from(error: SandboxError) -> Self {
        Self::Failed(error)
    }
}

impl From<Elapsed> for StartError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

impl From<StartError> for SandboxError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::TimedOut => {
                Self::setup("creating the process", io::ErrorKind::TimedOut.into())
            }
            StartError::Failed(error) => error,
        }
    }
}

impl LinuxSandbox {
    /// Creates the backend with the default program finder, [`IsolationMode::BestAvailable`] and
    /// [`SystemConnector`].
    ///
    /// A run whose scratch space cannot be in memory, which is any run without namespaces, gets a
    /// private directory below `scratch_parent`; it is removed when the run ends.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        Self {
            program_finder: ProgramFinder::default(),
            scratch_parent: scratch_parent.into(),
            isolation_mode: IsolationMode::default(),
            connector: Arc::new(SystemConnector::default()),
            fault: None,
            host_support: host_support(),
        }
    }

    /// Sets where interpreters and programs are searched. Default: [`ProgramFinder::default`].
    #[must_use]
    pub fn program_finder(mut self, program_finder: ProgramFinder) -> Self {
        self.program_finder = program_finder;
        self
    }

    /// Sets the requested isolation. Default: [`IsolationMode::BestAvailable`].
    #[must_use]
    pub fn isolation_mode(mut self, isolation_mode: IsolationMode) -> Self {
        self.isolation_mode = isolation_mode;
        self
    }

    /// Sets how names of granted hosts are resolved and connected to. Default: [`SystemConnector`].
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = connector;
        self
    }

    /// Lets a setup step of every run fail as if the kernel had rejected it, to test that nothing
    /// runs in that case.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn fault(mut self, step: SetupStep) -> Self {
        self.fault = Some(step);
        self
    }

    /// Simulates a host that supports no restriction, to test that nothing runs in that case.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn without_restrictions(mut self) -> Self {
        self.host_support = unsupported();
        self
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started_at = Instant::now();
        let StartedRun {
            job,
            plan,
            quotas,
            mut child,
            scratch,
            cgroup,
            local_sockets,
            needs_watchdog,
        } = self.start_at_supported_level(&job).await?;
        let bounds = Bounds {
            limits: &plan.limits,
            deadline_grace: job.grace_at_deadline(),
            quotas,
            cancellation: job.cancellation_token(),
        };
        // Kept until the run has ended: dropping the group unregisters it from the watchdog.
        let watched_group = child.watched_group.take();
        let program_status = child.program_status.take();
        let mount_namespace = child.listeners.mount_namespace.take();
        let home = child.listeners.home.take();
        let layer = child.listeners.layer.take();
        let name_server = NameServer::start(child.listeners.names.take());
        let mappings = Arc::new(SharedMappings::new(
            RunProcesses::new(child.pid(), plan.isolation),
            plan.limits.memory_bytes,
        ));
        let observer = Observer::start(
            child.listeners.filter.take(),
            &plan,
            GrantedPrograms::new(&plan, &job, &self.program_finder),
            local_sockets,
            home.as_ref(),
            &mappings,
        )?;
        let terminal = child.clone_terminal().map_err(supervise_error)?;
        let terminal = job
            .program_streams()
            .terminal
            .as_ref()
            .zip(terminal.as_ref());
        let resident_monitor = ResidentMonitor::new(&child, &plan, cgroup.as_ref(), &mappings);
        let (result, has_exceeded) = run_monitored(
            with_names(
                observed(
                    with_size(self.supervise_run(child, &job, &bounds), terminal),
                    observer.as_ref(),
                ),
                name_server.as_ref(),
            ),
            resident_monitor.as_ref(),
        )
        .await;
        let home = if scratch.is_some() {
            home_files::open_home(&plan.home)
        } else {
            home
        };
        let private_home = home_files::list(home, &plan.home, &plan.home_links);
        let own_directory = plan.rootfs.as_ref().and_then(RootFsPlan::layer);
        let discarded = layer.zip(own_directory);
        let discarded = discarded.map(|(layer, path)| home_files::list(Some(layer), path, &[]));
        // The kernel then removes all mounts of the run, which takes longer than all that follows.
        skills_threads::detach_blocking(move || drop(mount_namespace));
        let (supervised, log) = result?;
        let report = ReportInput {
            plan: &plan,
            host_support: self.host_support,
            cgroup: cgroup.as_ref(),
            isolation_mode: self.isolation_mode,
            log: log.as_ref(),
            has_watchdog: !needs_watchdog || watched_group.is_some_and(WatchedGroup::release),
            has_resident_limit: resident_monitor
                .as_ref()
                .is_some_and(ResidentMonitor::finds_all),
            is_observed: observer.is_some(),
        }
        .report();
        let cgroup_exceeded = cgroup.as_ref().is_some_and(Cgroup::ran_out_of_memory);
        let report = clean_up(report, cgroup, scratch).await;
        let requests = log.as_ref().map(ProxyLog::summary).unwrap_or_default();
        let mut refusals = refusals(observer, &requests);
        let mut termination = program_termination(supervised.termination, program_status);
        // Also if only a process that the program started was killed.
        if has_exceeded || cgroup_exceeded {
            termination = memory_termination(termination, &plan);
            refusals.add(memory_refusal(&plan));
        }
        let changes = plan.protected.changes(job.grants());
        let key_note = plan.key_note().filter(|_| !termination.is_success());
        Ok(RunOutput::new(
            termination,
            supervised.stdout,
            supervised.stderr,
            started_at.elapsed(),
            report,
        )
        .notes(changes.notes)
        .notes(key_note.into_iter().chain(plan.keys.notes()))
        .executed_files(changes.executed)
        .changed_entries(changes.entries)
        .notes(requests.failures())
        .read_only_paths(plan.read_only_paths())
        .withheld_keys(plan.withheld_keys())
        .changed_key_links(plan.keys.changed_links())
        .private_home(private_home)
        .discarded(discarded)
        .lookups(
            name_server
                .map(NameServer::into_lookups)
                .unwrap_or_default(),
        )
        .refusals(refusals)
        .connections(requests.reached, requests.reached_omitted))
    }

    /// Starts the program at the strongest level that the mode allows and the host supports.
    ///
    /// A failed setup is first explained by a probe: if the host does not support what the attempt
    /// assumed, the next attempt assumes less or is rejected. Each repetition has learned a fact,
    /// so there are at most four attempts.
    async fn start_at_supported_level<'a>(
        &self,
        job: &'a Job,
    ) -> Result<StartedRun<'a>, SandboxError> {
        let mut assumed = self.assume(job)?;
        loop {
            let error = match self.start(job, assumed).await {
                Ok(started) => {
                    self.host_support.confirm(&started.plan);
                    return Ok(started);
                }
                Err(error @ StartError::TimedOut) => return Err(error.into()),
                Err(StartError::Failed(error)) => error,
            };
            self.host_support.probe_level(assumed.isolation)?;
            let uses_network =
                assumed.isolation == IsolationLevel::Namespaces && assumed.own_network;
            if uses_network && self.host_support.missing_namespaces().is_none() {
                self.host_support.network().map(drop)?;
            }
            let known = self.assume(job)?;
            if known == assumed {
                return Err(error);
            }
            assumed = known;
        }
    }

    /// Returns what the next attempt assumes, without probing anything.
    fn assume(&self, job: &Job) -> Result<Assumption, SandboxError> {
        let isolation = self.host_support.assumed_level(self.isolation_mode)?;
        match self.host_support.missing_network() {
            Some(failure) if isolation == IsolationLevel::Namespaces && has_hosts(job.grants()) => {
                Err(network_error(failure))
            }
            _ => Ok(Assumption {
                isolation,
                mount_proc: self.host_support.mounts_proc(),
                own_network: self.host_support.has_network(),
            }),
        }
    }

    /// Starts the program at an isolation level. The child enters its namespaces while the run is
    /// planned. Waiting for a permit and for the setup is bounded by the deadline of the run: a
    /// granted path on a file system that does not respond blocks the spawner thread.
    async fn start<'a>(
        &self,
        job: &'a Job,
        assumed: Assumption,
    ) -> Result<StartedRun<'a>, StartError> {
        let isolation = assumed.isolation;
        check_grants(job.grants(), isolation)?;
        let job = match isolation {
            IsolationLevel::Namespaces => Cow::Borrowed(job),
            // Without mounts a program finds files only at their real paths.
            IsolationLevel::Landlock | IsolationLevel::None => {
                Cow::Owned(job.clone().with_real_paths())
            }
        };
        // The permit limits descriptors, not running programs, so it is dropped after the setup.
        let wall_time = job.grants().limits().wall_time;
        let spawner = Spawner::shared()?;
        let permit = timeout(wall_time, spawner.permit()).await??;
        let child = spawner.begin(EarlySetup::new(job.grants(), assumed, self.fault)?)?;
        let scratch = self.create_scratch(isolation)?;
        let plan = self.plan(&job, assumed, scratch.as_ref())?;
        let quotas = QuotaMonitor::open(&plan.measured_quotas())
            .and_then(|quotas| quotas.with_disks_of(job.grants()))
            .map_err(|error| SandboxError::setup("opening a directory with a quota", error))?;
        let cgroup = Cgroup::new(&plan.counted_limits());
        // A process namespace ends with its first process. Without one, other processes of the run
        // would survive a killed host process.
        let needs_watchdog =
            isolation != IsolationLevel::Namespaces && plan.spawn != SpawnGrant::None;
        let announcement = if needs_watchdog {
            watchdog::start_early()
        } else {
            None
        };
        let local_sockets = LocalSockets::of_plan(&plan, self.landlock());
        let (setup, parent_ends) = ChildSetup::new(
            &plan,
            ChildOptions {
                landlock: self.landlock(),
                cgroup_procs_files: cgroup.as_ref().map_or(&[][..], Cgroup::procs_files),
                announcement,
                memory: match &cgroup {
                    Some(cgroup) if cgroup.counts_memory => MemoryCounting::Cgroup,
                    _ => MemoryCounting::Measured,
                },
                local_sockets,
                fault: self.fault,
                terminal: job.program_streams().terminal.as_ref(),
            },
        )?;
        let spawned = timeout(wall_time, child.spawn(&spawner, setup, parent_ends)).await;
        drop(permit);
        Ok(StartedRun {
            child: spawned??,
            job,
            plan,
            quotas: Arc::new(quotas),
            scratch,
            cgroup,
            local_sockets,
            needs_watchdog,
        })
    }

    fn landlock(&self) -> Option<LandlockAbi> {
        self.host_support.landlock.as_ref().ok().copied()
    }

    /// Plans a run, and prepares its scratch directory if it has one on disk.
    fn plan(
        &self,
        job: &Job,
        assumed: Assumption,
        scratch: Option<&PrivateDir>,
    ) -> Result<Plan, SandboxError> {
        let context = PlanContext {
            isolation: assumed.isolation,
            scratch_path: scratch.map_or_else(
                || choose_scratch_path(job.grants()),
                |scratch| scratch.path().to_owned(),
            ),
            mount_proc: assumed.mount_proc,
            own_network: assumed.own_network,
        };
        let mut plan = Plan::new(job, &self.program_finder, &context)?;
        plan.env = plan.env.processors(Processors::of_run(&plan.limits).count);
        if scratch.is_some() {
            scratch_links::create(&plan)?;
        }
        Ok(plan)
    }

    /// Creates the scratch directory of a run, unless the run has a file system in memory for it.
    fn create_scratch(
        &self,
        isolation: IsolationLevel,
    ) -> Result<Option<PrivateDir>, SandboxError> {
        match isolation {
            IsolationLevel::Namespaces => Ok(None),
            IsolationLevel::Landlock | IsolationLevel::None => {
                PrivateDir::create(&self.scratch_parent, SCRATCH_PREFIX)
                    .map(Some)
                    .map_err(|error| SandboxError::setup("creating a scratch directory", error))
            }
        }
    }

    /// Supervises a child until it ends. If hosts are granted, serves the proxy during that time
    /// and returns its log.
    async fn supervise_run(
        &self,
        mut child: SpawnedChild,
        job: &Job,
        bounds: &Bounds<'_>,
    ) -> Result<(SupervisedOutput, Option<ProxyLog>), SandboxError> {
        let NetworkGrant::Hosts(hosts) = job.grants().network() else {
            let supervised = supervise(
                child.into_pidfd_child().map_err(supervise_error)?,
                job.stdin_bytes(),
                job.program_streams(),
                bounds,
            )
            .await
            .map_err(supervise_error)?;
            return Ok((supervised, None));
        };
        // Until the child is supervised, an error here kills it, since `SpawnedChild` is dropped.
        let listener = child
            .listeners
            .network
            .take()
            .ok_or_else(|| supervise_error(io::Error::other("the child sent no listener")))?;
        let listener = tcp_listener(listener).map_err(supervise_error)?;
        let mut proxy = Proxy::new(HostConnector::new(
            hosts.clone(),
            Arc::clone(&self.connector),
        ));
        for service in child.listeners.services.drain(..) {
            proxy = tcp_listener(service)
                .and_then(|service| proxy.loopback_service(service))
                .map_err(supervise_error)?;
        }
        let supervised = supervise(
            child.into_pidfd_child().map_err(supervise_error)?,
            job.stdin_bytes(),
            job.program_streams(),
            bounds,
        );
        let log = proxy.log();
        tokio::select! {
            supervised = supervised => Ok((supervised.map_err(supervise_error)?, Some(log))),
            never = proxy.serve(listener) => match never {},
        }
    }
}

fn tcp_listener(socket: OwnedFd) -> io::Result<tokio::net::TcpListener> {
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

fn supervise_error(error: io::Error) -> SandboxError {
    SandboxError::setup("supervising the process", error)
}

impl fmt::Debug for LinuxSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinuxSandbox")
            .field("program_finder", &self.program_finder)
            .field("scratch_parent", &self.scratch_parent)
            .field("isolation_mode", &self.isolation_mode)
            .finish_non_exhaustive()
    }
}

impl Sandbox for LinuxSandbox {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn reports_changes(&self) -> bool {
        true
    }

    fn names_refused_programs(&self) -> bool {
        // Without namespaces, processes could survive their run.
        let level = self.host_support.isolation_level(self.isolation_mode);
        level.is_ok_and(|level| level == IsolationLevel::Namespaces)
    }

    fn program_path(&self, name: &str) -> Option<PathBuf> {
        Some(self.program_finder.find_program(name)?.executable)
    }

    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        Ok(probe_report(
            self.host_support,
            self.host_support.isolation_level(self.isolation_mode)?,
            self.isolation_mode,
            &self.program_finder,
        ))
    }

    fn confines_commands(&self) -> bool {
        self.isolation_mode != IsolationMode::DangerouslyDisabled
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        let isolation = self.host_support.isolation_level(self.isolation_mode)?;
        check_grants(grants, isolation)?;
        // Not part of the other checks: a plan searches for the keys in any case.
        check_rules(grants, isolation)?;
        if has_hosts(grants) {
            let network = self.host_support.network()?;
            network.as_ref().map_err(network_error)?;
        }
        Ok(())
    }

    fn check_command(&self, name: &str) -> Result<(), SandboxError> {
        self.program_finder.find_command(name).map(|_| ())
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}
