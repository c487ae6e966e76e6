//! The trait that backends implement.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use skills_policy::Grants;

use crate::{EnforcementReport, Job, Program, RunOutput, SandboxError};

/// Future of a run. Dropping it kills the process tree.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = Result<RunOutput, SandboxError>> + Send + 'a>>;

/// Future of a preparation. Dropping it discards the result; work that was started may continue in
/// the background.
pub type PrepareFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Preparation, SandboxError>> + Send + 'a>>;

/// The result of preparing a program, for callers that report progress. See [`Sandbox::prepare`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preparation {
    /// This backend does not need preparation.
    NotNeeded,
    /// It was compiled now.
    Compiled {
        /// How long that took, in milliseconds.
        duration_ms: u64,
        /// Why the code cache was not used, or could not store the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_error: Option<String>,
    },
    /// It was already compiled, by this process or another one.
    Cached,
}

/// A backend that runs programs under restrictions. Implementations deny everything that the
/// grants of a job do not allow, or return an error before the program starts.
///
/// Runs may be concurrent. A program that fails, is stopped or is killed is a [`RunOutput`]; a
/// [`SandboxError`] means that nothing ran, so callers can repeat the run. This backend for tests
/// returns the input of the program and restricts nothing, which its report says:
///
/// ```
/// use std::time::Duration;
/// use skills_sandbox::{
///     CapturedOutput, EnforcementReport, EnforcementStatus, Job, RunFuture, RunOutput, Sandbox,
///     Termination,
/// };
///
/// struct Echo;
///
/// impl Sandbox for Echo {
///     fn name(&self) -> &'static str {
///         "echo"
///     }
///
///     fn run(&self, job: Job) -> RunFuture<'_> {
///         let mut stdout = CapturedOutput::default();
///         stdout.push(job.stdin_bytes(), job.grants().limits().captured_bytes);
///         let report = EnforcementReport::new(self.name()).restriction(
///             "files",
///             EnforcementStatus::Unavailable,
///             "runs no program",
///         );
///         let output = RunOutput::new(
///             Termination::Exited { code: 0 },
///             stdout,
///             CapturedOutput::default(),
///             Duration::ZERO,
///             report,
///         );
///         Box::pin(std::future::ready(Ok(output)))
///     }
/// }
///
/// let backend: Box<dyn Sandbox> = Box::new(Echo);
/// assert!(backend.probe().unwrap().restrictions().is_empty());
/// ```
pub trait Sandbox: Send + Sync {
    /// Returns the name of the backend: one lowercase word.
    fn name(&self) -> &'static str;

    /// Identifies the files that programs have apart from granted ones, if these are not those of the
    /// host: the digest of an image. The default is `None`.
    /// What is installed for one image does not fit another.
    fn image(&self) -> Option<String> {
        None
    }

    /// Returns true if the output of each run has its
    /// [changed entries](RunOutput::changed_entries), so that a caller need not compare the
    /// writable directories itself. The default is false.
    fn reports_changes(&self) -> bool {
        false
    }

    /// Returns true if a program that a run was refused is known by its name, provided that the run
    /// may create processes. Default: false.
    fn names_refused_programs(&self) -> bool {
        false
    }

    /// Returns the file that starts if a program of this name is granted, without symlinks; `None` if there
    /// is none, or if programs are not those of the host. The default is `None`.
    fn program_path(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    /// Returns true if runs enforce the grants of a
    /// [confined](skills_policy::Request::confine) command: it writes no granted file, and starts no
    /// second process. The default is false.
    fn confines_commands(&self) -> bool {
        false
    }

    /// Reports the restrictions that a run would get on this host, without running anything.
    /// Restrictions that depend on the grants are omitted.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if nothing can run on this host; it names the unavailable
    /// restriction and how to enable it.
    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        Ok(EnforcementReport::new(self.name()))
    }

    /// Checks whether this backend can enforce and provide the grants; [`run`](Self::run) fails
    /// with the same error. The default accepts all.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if it cannot.
    fn check_grants(&self, _grants: &Grants) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Checks whether a [command](Program::Command) exists, before anyone is asked to allow it;
    /// [`run`](Self::run) fails with the same error. The default accepts all.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if no program has this name.
    fn check_command(&self, _name: &str) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Prepares a program ahead of its first run, for example by compiling it. The default does
    /// nothing.
    ///
    /// # Errors
    /// Fails if the program cannot be loaded.
    fn prepare(&self, _program: Program) -> PrepareFuture<'_> {
        Box::pin(std::future::ready(Ok(Preparation::NotNeeded)))
    }

    /// Returns a future of the preparation of programs that continues although their runs ended,
    /// such as a compilation that takes longer than a deadline; `None` if there is none whose
    /// result later processes can use.
    ///
    /// A process that ends after a run awaits it, so that the next run need not start again. The
    /// backend limits how long it takes. Dropping the future stops the work. The result is that of
    /// the last program. The default is `None`.
    ///
    /// # Errors
    /// The future fails if a program cannot be loaded.
    fn unfinished_preparation(&self) -> Option<PrepareFuture<'_>> {
        None
    }

    /// Runs a job until the program exits, exceeds its deadline or a limit, or is cancelled. Must
    /// be polled inside a Tokio runtime with time and I/O enabled.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if the program was not started: it cannot be loaded, or this
    /// backend cannot enforce the grants on this host.
    fn run(&self, job: Job) -> RunFuture<'_>;
}
