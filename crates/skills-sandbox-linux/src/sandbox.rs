//! The backend.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use skills_policy::Grants;
use skills_sandbox::process::{Child, supervise};
use skills_sandbox::{Job, Outcome, Report, Running, Sandbox, SandboxError, Scratch};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::interpreter::Interpreters;
use crate::kernel::LandlockVersion;
use crate::plan::{Plan, accepts};
use crate::prepared::{Ours, Prepared};
use crate::report::{expected, report};
use crate::spawn::{Spawned, kill};
use crate::spawner;

/// Runs scripts under Landlock and seccomp.
#[derive(Debug, Clone)]
pub struct LinuxSandbox {
    interpreters: Interpreters,
    scratch_parent: PathBuf,
}

impl LinuxSandbox {
    /// Makes the backend; private scratch directories are made below `scratch_parent`.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        Self { interpreters: Interpreters::default(), scratch_parent: scratch_parent.into() }
    }

    /// Chooses where interpreters and programs are looked for.
    #[must_use]
    pub fn interpreters(mut self, interpreters: Interpreters) -> Self {
        self.interpreters = interpreters;
        self
    }

    async fn run_job(&self, job: Job) -> Result<Outcome, SandboxError> {
        let started = Instant::now();
        let version = LandlockVersion::detect()?;
        let scratch = Scratch::new(&self.scratch_parent).map_err(|error| SandboxError::setup("making a scratch directory", error))?;
        let plan = Plan::new(&job, &self.interpreters, scratch.path())?;
        let (prepared, ours) = Prepared::new(&plan, version)?;
        let made = timeout(plan.limits.wall_time, spawner::spawn(prepared, ours)).await;
        let late = || SandboxError::setup("making a process", std::io::ErrorKind::TimedOut.into());
        let child = watch(made.map_err(|_| late())??)?;
        let supervised = supervise(child, job.input_bytes(), &plan.limits).await;
        let supervised = supervised.map_err(|error| SandboxError::setup("watching the process", error))?;
        let report = report(&plan, version).removed(scratch.remove());
        Ok(Outcome::new(supervised.ending, supervised.stdout, supervised.stderr, started.elapsed(), report))
    }
}

impl Sandbox for LinuxSandbox {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn probe(&self) -> Result<Report, SandboxError> {
        Ok(expected(LandlockVersion::detect()?, &self.interpreters))
    }

    fn accepts(&self, grants: &Grants) -> Result<(), SandboxError> {
        accepts(grants)
    }

    fn run(&self, job: Job) -> Running<'_> {
        Box::pin(self.run_job(job))
    }
}

#[expect(unsafe_code, reason = "registering a descriptor with Tokio is unsafe in general")]
fn watch(spawned: Spawned) -> Result<Child, SandboxError> {
    let failed = |error| SandboxError::setup("watching the process", error);
    let Some((pid, pidfd, Ours { stdin, stdout, stderr })) = spawned.take() else {
        return Err(failed(std::io::Error::other("it was handed over before")));
    };
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the `AsyncFd` owns it.
    match unsafe { AsyncFd::<OwnedFd>::register_with_interest(pidfd, Interest::READABLE) } {
        Ok(pidfd) => Ok(Child { pidfd, pid, stdin, stdout, stderr }),
        Err(error) => {
            let (pidfd, error) = error.into_parts();
            kill(pid, &pidfd);
            Err(failed(error))
        }
    }
}
