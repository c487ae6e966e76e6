//! The backend.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use skills_policy::{Access, Grants, Network, Spawn};
use skills_sandbox::egress::{SystemConnector, ProxyLog, Connector, Proxy};
use skills_sandbox::interpreter::ProgramFinder;
use skills_sandbox::process::{Bounds, PidfdChild, SupervisedOutput, supervise};
use skills_sandbox::{Termination, Job, RunOutput, QuotaMonitor, EnforcementReport, RunFuture, Sandbox, SandboxError, ScratchDir};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::control_group::ControlGroup;
use crate::guardian;
use crate::plan::{Ground, Plan};
use crate::prepared::{Extras, Prepared};
#[cfg(feature = "fault-injection")]
use crate::probe::bare;
use crate::probe::{Machine, machine, network};
use crate::report::{Facts, expected};
use crate::resident::{Watch, watched};
use crate::spawn::{Spawned, Streams, kill};
use crate::spawner;
use crate::step::Step;
use crate::tier::{Isolation, Tier};
use crate::view::scratch_beside;

/// Runs scripts behind the walls that this machine has.
#[derive(Clone)]
pub struct LinuxSandbox {
    interpreters: ProgramFinder,
    scratch_parent: PathBuf,
    isolation: Isolation,
    outside: Arc<dyn Connector>,
    fault: Option<Step>,
    /// What the machine offers, when it is not this one.
    machine: Option<&'static Machine>,
}

impl LinuxSandbox {
    /// Makes the backend; where a run cannot have its scratch space in memory, a directory is made for it below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        Self {
            interpreters: ProgramFinder::default(),
            scratch_parent: scratch_parent.into(),
            isolation: Isolation::default(),
            outside: Arc::new(SystemConnector),
            fault: None,
            machine: None,
        }
    }

    /// Chooses where interpreters and programs are looked for.
    #[must_use]
    pub fn interpreters(mut self, interpreters: ProgramFinder) -> Self {
        self.interpreters = interpreters;
        self
    }

    /// Chooses the walls. Default: [`Isolation::Strongest`].
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Chooses how names of granted hosts are resolved and reached. Default: [`SystemConnector`].
    #[must_use]
    pub fn outside(mut self, outside: Arc<dyn Connector>) -> Self {
        self.outside = outside;
        self
    }

    /// Lets a step of every run fail as if the kernel had refused it, to show that nothing runs then.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn fault(mut self, step: Step) -> Self {
        self.fault = Some(step);
        self
    }

    /// Lets the machine have no wall at all, to show that nothing runs then.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn without_walls(mut self) -> Self {
        self.machine = Some(bare());
        self
    }

    fn machine(&self) -> Result<&'static Machine, SandboxError> {
        self.machine.map_or_else(machine, Ok)
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started = Instant::now();
        let machine = self.machine()?;
        let tier = machine.tier(self.isolation)?;
        accepts(job.grants(), tier)?;
        // Without mounts a program finds files only where they lie.
        let job = if tier == Tier::Isolated { job } else { job.with_real_paths() };
        let scratch = match tier {
            Tier::Isolated => None,
            Tier::Landlock | Tier::None => {
                Some(ScratchDir::new(&self.scratch_parent).map_err(|error| SandboxError::setup("making a scratch directory", error))?)
            }
        };
        let place = scratch.as_ref().map_or_else(|| scratch_beside(job.grants()), |scratch| scratch.path().to_owned());
        let ground = Ground { tier, scratch: place, processes: matches!(machine.isolated, Ok(Ok(()))) };
        let plan = Plan::new(&job, &self.interpreters, &ground)?;
        let quotas =
            QuotaMonitor::open(&plan.measured()).map_err(|error| SandboxError::setup("opening a directory with a quota", error))?;
        let bounds = Bounds { limits: &plan.limits, quotas: Arc::new(quotas), cancellation: job.cancellation_token() };
        let late = |_| SandboxError::setup("making a process", std::io::ErrorKind::TimedOut.into());
        let turn = timeout(plan.limits.wall_time, spawner::turn()).await.map_err(late)??;
        let group = ControlGroup::new(&plan.limits);
        let control_groups = group.as_ref().map_or(&[][..], ControlGroup::joins);
        let landlock = machine.landlock.clone().ok();
        let leaves_processes = plan.tier != Tier::Isolated && plan.spawn != Spawn::None;
        let announcement = if leaves_processes { guardian::prepare() } else { None };
        let (prepared, ours) = Prepared::new(&plan, Extras { landlock, control_groups, announcement, fault: self.fault })?;
        let made = timeout(plan.limits.wall_time, spawner::spawn(prepared, ours)).await;
        drop(turn);
        let mut spawned = made.map_err(late)??;
        let guarded = spawned.guarded.take();
        let counts_memory = group.as_ref().is_some_and(|group| group.counts_memory);
        let watch = (!counts_memory).then(|| Watch::new(&spawned, &plan)).flatten();
        let (ended, has_exceeded) = watched(self.watch_over(spawned, &job, &bounds), watch.as_ref()).await;
        let (supervised, log) = ended?;
        let is_guarded = !leaves_processes || guarded.is_some_and(guardian::Guarded::release);
        let mut ending = supervised.termination;
        let ran_out = has_exceeded || group.as_ref().is_some_and(ControlGroup::ran_out_of_memory);
        if matches!(ending, Termination::Signaled { .. }) && ran_out {
            ending = Termination::MemoryLimit { limit_bytes: plan.limits.memory_bytes };
        }
        let mut report = Facts {
            plan: &plan,
            machine,
            group: group.as_ref(),
            isolation: self.isolation,
            log: log.as_ref(),
            is_guarded,
            is_watched: watch.is_some(),
        }
        .report();
        if let Some(group) = group {
            report = report.cleanup_of("control-group", group.remove().await);
        }
        if let Some(scratch) = scratch {
            report = report.cleanup(scratch.remove());
        }
        let changes = plan.protected.changes(job.grants());
        Ok(RunOutput::new(ending, supervised.stdout, supervised.stderr, started.elapsed(), report).notes(changes))
    }

    /// Supervises a child, and serves its network as long as it lives when it has one.
    async fn watch_over(&self, mut spawned: Spawned, job: &Job, bounds: &Bounds<'_>) -> Result<(SupervisedOutput, Option<ProxyLog>), SandboxError> {
        let failed = |error| SandboxError::setup("watching the process", error);
        let Network::Hosts(hosts) = job.grants().network() else {
            return Ok((supervise(watch(spawned)?, job.stdin_bytes(), bounds).await.map_err(failed)?, None));
        };
        // Until it is supervised, an error here kills the child as it is dropped.
        let listener = spawned.listener.take().ok_or_else(|| failed(io::Error::other("the child handed over no listener")))?;
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let supervised = supervise(watch(spawned)?, job.stdin_bytes(), bounds);
        let proxy = Proxy::new(hosts.clone(), Arc::clone(&self.outside));
        let log = proxy.log();
        tokio::select! {
            supervised = supervised => Ok((supervised.map_err(failed)?, Some(log))),
            never = proxy.serve(listener) => match never {},
        }
    }
}

impl fmt::Debug for LinuxSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinuxSandbox")
            .field("interpreters", &self.interpreters)
            .field("scratch_parent", &self.scratch_parent)
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}

/// Refuses what these walls cannot enforce.
fn accepts(grants: &Grants, tier: Tier) -> Result<(), SandboxError> {
    can_hide(grants, tier)?;
    if *grants.network() == Network::None {
        return Ok(());
    }
    if tier != Tier::Isolated {
        let reason = "it can open the network to named hosts only in a network of the program's own, which takes user namespaces";
        return Err(SandboxError::rejected("linux", reason));
    }
    network()?.map_err(|failure| {
        SandboxError::unavailable("a network of its own", failure.to_string(), "let the container create network namespaces")
    })
}

/// Refuses grants with a path in them that is to be hidden, where it cannot be: it cannot be covered without a file tree of the program's own, nor when it
/// does not exist and the program could make it.
fn can_hide(grants: &Grants, tier: Tier) -> Result<(), SandboxError> {
    for hidden in grants.hidden() {
        let Some(granted) = grants.writable_around(hidden).or_else(|| grants.around(hidden)) else { continue };
        let is_there = hidden.symlink_metadata().is_ok();
        let reason = match (tier, is_there, granted.access()) {
            (Tier::Isolated, false, Access::ReadWrite) => "it does not exist and the program could make it; create it",
            (Tier::Landlock | Tier::None, true, _) | (_, false, Access::ReadWrite) => {
                "Landlock cannot leave it out; grant narrower directories, or allow user namespaces"
            }
            _ => continue,
        };
        let (granted, hidden) = (granted.path().display(), hidden.display());
        return Err(SandboxError::rejected("linux", format!("{granted} holds {hidden}, which no program may see: {reason}")));
    }
    Ok(())
}

impl Sandbox for LinuxSandbox {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        let machine = self.machine()?;
        Ok(expected(machine, machine.tier(self.isolation)?, self.isolation, &self.interpreters))
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        accepts(grants, self.machine()?.tier(self.isolation)?)
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}

#[expect(unsafe_code, reason = "registering a descriptor with Tokio is unsafe in general")]
fn watch(spawned: Spawned) -> Result<PidfdChild, SandboxError> {
    let failed = |error| SandboxError::setup("watching the process", error);
    let Some((pid, pidfd, Streams { stdin, stdout, stderr })) = spawned.take() else {
        return Err(failed(std::io::Error::other("it was handed over before")));
    };
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the `AsyncFd` owns it.
    match unsafe { AsyncFd::<OwnedFd>::register_with_interest(pidfd, Interest::READABLE) } {
        Ok(pidfd) => Ok(PidfdChild { pidfd, pid, stdin, stdout, stderr }),
        Err(error) => {
            let (pidfd, error) = error.into_parts();
            kill(pid, &pidfd);
            Err(failed(error))
        }
    }
}
