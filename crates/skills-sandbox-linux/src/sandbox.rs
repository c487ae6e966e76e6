//! The backend.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use skills_policy::{Access, Grants, NetworkGrant, SpawnGrant};
use skills_sandbox::egress::{Connector, Proxy, ProxyLog, SystemConnector};
use skills_sandbox::interpreter::ProgramFinder;
use skills_sandbox::process::{Bounds, PidfdChild, SupervisedOutput, supervise};
use skills_sandbox::{
    EnforcementReport, Job, QuotaMonitor, RunFuture, RunOutput, Sandbox, SandboxError, ScratchDir,
    Termination,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::cgroup::Cgroup;
use crate::child_setup::{ChildOptions, ChildSetup};
#[cfg(feature = "fault-injection")]
use crate::host_support::unsupported;
use crate::host_support::{HostSupport, host_support, probe_network};
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::plan::{Plan, PlanContext};
use crate::report::{ReportInput, probe_report};
use crate::resident_monitor::{ResidentMonitor, run_monitored};
use crate::rootfs_plan::choose_scratch_path;
use crate::setup_step::SetupStep;
use crate::spawn::{SpawnedChild, Streams, kill};
use crate::spawner;
use crate::watchdog;

/// Runs scripts behind the walls that this machine has.
#[derive(Clone)]
pub struct LinuxSandbox {
    program_finder: ProgramFinder,
    scratch_parent: PathBuf,
    isolation_mode: IsolationMode,
    connector: Arc<dyn Connector>,
    fault: Option<SetupStep>,
    /// What the machine offers, when it is not this one.
    host_support: Option<&'static HostSupport>,
}

impl LinuxSandbox {
    /// Makes the backend; where a run cannot have its scratch space in memory, a directory is made
    /// for it below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        Self {
            program_finder: ProgramFinder::default(),
            scratch_parent: scratch_parent.into(),
            isolation_mode: IsolationMode::default(),
            connector: Arc::new(SystemConnector),
            fault: None,
            host_support: None,
        }
    }

    /// Chooses where interpreters and programs are looked for.
    #[must_use]
    pub fn program_finder(mut self, interpreters: ProgramFinder) -> Self {
        self.program_finder = interpreters;
        self
    }

    /// Chooses the walls. Default: [`IsolationMode::BestAvailable`].
    #[must_use]
    pub fn isolation_mode(mut self, isolation: IsolationMode) -> Self {
        self.isolation_mode = isolation;
        self
    }

    /// Chooses how names of granted hosts are resolved and reached. Default: [`SystemConnector`].
    #[must_use]
    pub fn connector(mut self, outside: Arc<dyn Connector>) -> Self {
        self.connector = outside;
        self
    }

    /// Lets a step of every run fail as if the kernel had refused it, to show that nothing runs
    /// then.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn fault(mut self, step: SetupStep) -> Self {
        self.fault = Some(step);
        self
    }

    /// Lets the machine have no wall at all, to show that nothing runs then.
    #[cfg(feature = "fault-injection")]
    #[must_use]
    pub fn without_restrictions(mut self) -> Self {
        self.host_support = Some(unsupported());
        self
    }

    fn host_support(&self) -> Result<&'static HostSupport, SandboxError> {
        self.host_support.map_or_else(host_support, Ok)
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started = Instant::now();
        let machine = self.host_support()?;
        let tier = machine.isolation_level(self.isolation_mode)?;
        check_grants(job.grants(), tier)?;
        // Without mounts a program finds files only where they lie.
        let job = if tier == IsolationLevel::Namespaces {
            job
        } else {
            job.with_real_paths()
        };
        let scratch = match tier {
            IsolationLevel::Namespaces => None,
            IsolationLevel::Landlock | IsolationLevel::None => Some(
                ScratchDir::new(&self.scratch_parent)
                    .map_err(|error| SandboxError::setup("making a scratch directory", error))?,
            ),
        };
        let place = scratch.as_ref().map_or_else(
            || choose_scratch_path(job.grants()),
            |scratch| scratch.path().to_owned(),
        );
        let ground = PlanContext {
            isolation: tier,
            scratch_path: place,
            mount_proc: matches!(machine.namespaces, Ok(Ok(()))),
        };
        let plan = Plan::new(&job, &self.program_finder, &ground)?;
        let quotas = QuotaMonitor::open(&plan.measured_quotas())
            .map_err(|error| SandboxError::setup("opening a directory with a quota", error))?;
        let bounds = Bounds {
            limits: &plan.limits,
            quotas: Arc::new(quotas),
            cancellation: job.cancellation_token(),
        };
        let late = |_| SandboxError::setup("making a process", std::io::ErrorKind::TimedOut.into());
        let turn = timeout(plan.limits.wall_time, spawner::spawn_permit())
            .await
            .map_err(late)??;
        let group = Cgroup::new(&plan.limits);
        let control_groups = group.as_ref().map_or(&[][..], Cgroup::procs_files);
        let landlock = machine.landlock.clone().ok();
        let leaves_processes =
            plan.isolation != IsolationLevel::Namespaces && plan.spawn != SpawnGrant::None;
        let announcement = if leaves_processes {
            watchdog::start_early()
        } else {
            None
        };
        let (prepared, ours) = ChildSetup::new(
            &plan,
            ChildOptions {
                landlock,
                cgroup_procs_files: control_groups,
                announcement,
                fault: self.fault,
            },
        )?;
        let made = timeout(plan.limits.wall_time, spawner::spawn(prepared, ours)).await;
        drop(turn);
        let mut spawned = made.map_err(late)??;
        let guarded = spawned.guarded.take();
        let counts_memory = group.as_ref().is_some_and(|group| group.counts_memory);
        let watch = (!counts_memory)
            .then(|| ResidentMonitor::new(&spawned, &plan))
            .flatten();
        let (ended, has_exceeded) =
            run_monitored(self.supervise_run(spawned, &job, &bounds), watch.as_ref()).await;
        let (supervised, log) = ended?;
        let is_guarded = !leaves_processes || guarded.is_some_and(watchdog::WatchedGroup::release);
        let mut ending = supervised.termination;
        let ran_out = has_exceeded || group.as_ref().is_some_and(Cgroup::ran_out_of_memory);
        if matches!(ending, Termination::Signaled { .. }) && ran_out {
            ending = Termination::MemoryLimit {
                limit_bytes: plan.limits.memory_bytes,
            };
        }
        let mut report = ReportInput {
            plan: &plan,
            host_support: machine,
            cgroup: group.as_ref(),
            isolation_mode: self.isolation_mode,
            log: log.as_ref(),
            has_watchdog: is_guarded,
            has_resident_limit: watch.is_some(),
        }
        .report();
        if let Some(group) = group {
            report = report.cleanup_of("control-group", group.remove().await);
        }
        if let Some(scratch) = scratch {
            report = report.cleanup(scratch.remove());
        }
        let changes = plan.protected.changes(job.grants());
        Ok(RunOutput::new(
            ending,
            supervised.stdout,
            supervised.stderr,
            started.elapsed(),
            report,
        )
        .notes(changes))
    }

    /// Supervises a child, and serves its network as long as it lives when it has one.
    async fn supervise_run(
        &self,
        mut spawned: SpawnedChild,
        job: &Job,
        bounds: &Bounds<'_>,
    ) -> Result<(SupervisedOutput, Option<ProxyLog>), SandboxError> {
        let failed = |error| SandboxError::setup("watching the process", error);
        let NetworkGrant::Hosts(hosts) = job.grants().network() else {
            return Ok((
                supervise(into_pidfd_child(spawned)?, job.stdin_bytes(), bounds)
                    .await
                    .map_err(failed)?,
                None,
            ));
        };
        // Until it is supervised, an error here kills the child as it is dropped.
        let listener = spawned
            .listener
            .take()
            .ok_or_else(|| failed(io::Error::other("the child handed over no listener")))?;
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let supervised = supervise(into_pidfd_child(spawned)?, job.stdin_bytes(), bounds);
        let proxy = Proxy::new(hosts.clone(), Arc::clone(&self.connector));
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
            .field("interpreters", &self.program_finder)
            .field("scratch_parent", &self.scratch_parent)
            .field("isolation", &self.isolation_mode)
            .finish_non_exhaustive()
    }
}

/// Refuses what these walls cannot enforce.
fn check_grants(grants: &Grants, tier: IsolationLevel) -> Result<(), SandboxError> {
    check_hidden_paths(grants, tier)?;
    if *grants.network() == NetworkGrant::None {
        return Ok(());
    }
    if tier != IsolationLevel::Namespaces {
        let reason = "it can open the network to named hosts only in a network of the program's own, which takes user namespaces";
        return Err(SandboxError::rejected("linux", reason));
    }
    probe_network()?.map_err(|failure| {
        SandboxError::unavailable(
            "a network of its own",
            failure.to_string(),
            "let the container create network namespaces",
        )
    })
}

/// Refuses grants with a path in them that is to be hidden, where it cannot be: it cannot be
/// covered without a file tree of the program's own, nor when it does not exist and the program
/// could make it.
fn check_hidden_paths(grants: &Grants, tier: IsolationLevel) -> Result<(), SandboxError> {
    for hidden in grants.hidden() {
        let Some(granted) = grants
            .innermost_writable(hidden)
            .or_else(|| grants.innermost_grant(hidden))
        else {
            continue;
        };
        let is_there = hidden.symlink_metadata().is_ok();
        let reason = match (tier, is_there, granted.access()) {
            (IsolationLevel::Namespaces, false, Access::ReadWrite) => {
                "it does not exist and the program could make it; create it"
            }
            (IsolationLevel::Landlock | IsolationLevel::None, true, _)
            | (_, false, Access::ReadWrite) => {
                "Landlock cannot leave it out; grant narrower directories, or allow user namespaces"
            }
            _ => continue,
        };
        let (granted, hidden) = (granted.path().display(), hidden.display());
        return Err(SandboxError::rejected(
            "linux",
            format!("{granted} holds {hidden}, which no program may see: {reason}"),
        ));
    }
    Ok(())
}

impl Sandbox for LinuxSandbox {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        let machine = self.host_support()?;
        Ok(probe_report(
            machine,
            machine.isolation_level(self.isolation_mode)?,
            self.isolation_mode,
            &self.program_finder,
        ))
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        check_grants(
            grants,
            self.host_support()?.isolation_level(self.isolation_mode)?,
        )
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}

#[expect(
    unsafe_code,
    reason = "registering a descriptor with Tokio is unsafe in general"
)]
fn into_pidfd_child(spawned: SpawnedChild) -> Result<PidfdChild, SandboxError> {
    let failed = |error| SandboxError::setup("watching the process", error);
    let Some((
        pid,
        pidfd,
        Streams {
            stdin,
            stdout,
            stderr,
        },
    )) = spawned.into_parts()
    else {
        return Err(failed(std::io::Error::other("it was handed over before")));
    };
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the
    // `AsyncFd` owns it.
    match unsafe { AsyncFd::<OwnedFd>::register_with_interest(pidfd, Interest::READABLE) } {
        Ok(pidfd) => Ok(PidfdChild {
            pidfd,
            pid,
            stdin,
            stdout,
            stderr,
        }),
        Err(error) => {
            let (pidfd, error) = error.into_parts();
            kill(pid, &pidfd);
            Err(failed(error))
        }
    }
}
