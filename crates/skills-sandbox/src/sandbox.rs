//! The trait that backends implement.

use std::future::Future;
use std::pin::Pin;

use skills_policy::Grants;

use crate::{EnforcementReport, Job, Program, RunOutput, SandboxError};

/// A run under way. Dropping it stops the program and everything it started.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = Result<RunOutput, SandboxError>> + Send + 'a>>;

/// A preparation under way. Dropping it forgets the result; work that was begun may go on behind
/// it.
pub type PrepareFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Preparation, SandboxError>> + Send + 'a>>;

/// What came of preparing a program.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preparation {
    /// This backend has nothing to do before a run.
    NotNeeded,
    /// It was compiled now.
    Compiled {
        /// How long that took.
        duration_ms: u64,
        /// Why the cache on disk was not used, or the result could not be put there.
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_error: Option<String>,
    },
    /// It had been compiled before, by this process or another.
    Cached,
}

/// Something that confines programs.
pub trait Sandbox: Send + Sync {
    /// Returns the backend's name: one lower-case word.
    fn name(&self) -> &'static str;

    /// Says which walls would stand around a run here, without running anything. What depends on
    /// the grants is left out.
    ///
    /// # Errors
    /// [`SandboxError`] when nothing could run here; it says what is missing and how to get it.
    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        Ok(EnforcementReport::new(self.name()))
    }

    /// Says whether this backend can enforce and give what the grants say; [`run`](Self::run)
    /// refuses with the same error. Default: yes.
    ///
    /// # Errors
    /// [`SandboxError`] when it cannot.
    fn check_grants(&self, _grants: &Grants) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Does ahead of time what the first run of a program would have to wait for, such as compiling
    /// it. Default: nothing.
    ///
    /// # Errors
    /// When the program cannot be loaded.
    fn prepare(&self, _program: Program) -> PrepareFuture<'_> {
        Box::pin(std::future::ready(Ok(Preparation::NotNeeded)))
    }

    /// Runs a job to its end, its deadline or one of its limits. Must be polled inside a Tokio
    /// runtime with time and I/O enabled.
    ///
    /// # Errors
    /// [`SandboxError`] when the program was not started: it cannot be loaded, or this backend
    /// cannot enforce the grants here.
    fn run(&self, job: Job) -> RunFuture<'_>;
}
