//! Runs package managers in a sandbox.

mod npm;
mod python;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skills_policy::{Grants, HostPattern, Request, ResourceLimits};
use skills_sandbox::{
    CancellationToken, Job, Program, Quota, RunOutput, Sandbox, ScriptType, Termination,
};

pub(crate) use self::python::{files_of_package, is_file_of_module};
use crate::error::{SetupError, SetupErrorKind};
use crate::installed::ReportedPython;
use crate::plan::{Plan, host_of};
use skills_packages::Project;

/// Maximum size of an environment with its caches, in bytes.
const MAX_BYTES: u64 = 8 << 30;
/// Texts with which package managers report that they cannot reach the index.
const OFFLINE: [&str; 13] = [
    "502 Bad Gateway",
    "dns error",
    "error sending request",
    "failed to lookup address",
    "Connection refused",
    "Could not connect",
    "NewConnectionError",
    "ProxyError",
    "tunnel error",
    "ENOTFOUND",
    "ECONNREFUSED",
    "EAI_AGAIN",
    "ENETUNREACH",
];

/// Returns the grants of a setup step, or which rule denies it.
pub type Authorize = Arc<dyn Fn(&Request) -> Result<Grants, String> + Send + Sync>;

/// Gets the phases of a setup.
pub type Progress = Arc<dyn Fn(SetupPhase) + Send + Sync>;

/// What a setup may use: the sandbox, the indexes and their hosts, and the interpreter.
#[derive(Clone)]
pub struct SetupContext {
    /// The backend that confines the package managers.
    pub sandbox: Arc<dyn Sandbox>,
    /// Authorizes the request of a setup step; an error says which rule denies it.
    pub authorize: Authorize,
    /// The interpreter whose environment is made; `None` for that of the backend.
    pub python: Option<PathBuf>,
    /// The executable of `uv`, without symlinks; `None` to use `venv` and `pip` of the interpreter.
    pub uv: Option<PathBuf>,
    /// The URL of the Python index, as `pip` takes it. Mostly `https://pypi.org/simple`.
    pub python_index: String,
    /// The URL of the registry of Node packages. Mostly `https://registry.npmjs.org`.
    pub npm_registry: String,
    /// Further hosts that files of packages are from, such as `files.pythonhosted.org`, as
    /// `HOST` or `HOST:PORT`.
    pub file_hosts: Vec<String>,
    /// Normalized names of Python packages; the index is asked for their owners and first releases,
    /// unless the stored plan has them.
    pub described: Vec<String>,
    /// Whether packages without a built file may be built, which runs their code in the sandbox.
    pub allows_builds: bool,
    /// How long each step may take.
    pub timeout: Duration,
    /// Stops the setup.
    pub cancellation: Option<CancellationToken>,
    /// Gets each phase when it begins.
    pub progress: Option<Progress>,
}

/// A phase of a setup, for progress. Displayed as a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupPhase {
    /// Versions are selected.
    Planning,
    /// Another process installs the same environment.
    Waiting,
    /// Packages are downloaded and installed.
    Installing {
        /// The number of packages.
        packages: usize,
        /// The known size of their files, in bytes.
        bytes: u64,
    },
    /// The installed packages are compared with the plan.
    Verifying,
    /// The setup has ended, whatever its result.
    Ended,
}

impl fmt::Display for SetupPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planning => f.write_str("selecting versions of packages"),
            Self::Waiting => f.write_str("waiting for another setup of the same packages"),
            Self::Installing { packages, bytes: 0 } => write!(f, "installing {packages} packages"),
            Self::Installing { packages, bytes } => {
                let size = crate::plan::display_size(*bytes);
                write!(f, "installing {packages} packages, {size}")
            }
            Self::Verifying => f.write_str("verifying the installed packages"),
            Self::Ended => f.write_str("ended"),
        }
    }
}

impl SetupContext {
    /// Selects the versions of all packages, in an empty directory.
    pub(crate) async fn plan(
        &self,
        project: &Project,
        directory: &Path,
        cache: &Path,
    ) -> Result<Plan, SetupError> {
        self.report(SetupPhase::Planning);
        check_declarations(project)?;
        let mut plan = Plan::empty();
        if let Some(python) = &project.python {
            python::plan(self, python, directory, cache, &mut plan).await?;
        }
        if let Some(node) = &project.node {
            npm::plan(self, node, directory, cache, &mut plan).await?;
        }
        let plan = plan.finish(project)?;
        let built = plan.built().next();
        if let Some(package) = built.filter(|_| !self.allows_builds) {
            let reason = format!("`{}` has no built file", package.name);
            let error = SetupError::new(SetupErrorKind::Declaration, "plan", reason);
            return Err(error.with_help(ALLOW_BUILDS));
        }
        Ok(plan)
    }

    /// Asks the index for the origins of the described packages of a plan, in an empty directory.
    pub(crate) async fn describe(
        &self,
        plan: &mut Plan,
        directory: &Path,
        cache: &Path,
    ) -> Result<(), SetupError> {
        python::describe(self, directory, cache, plan).await
    }

    /// Asks the interpreter of the backend which packages it has, in an empty directory.
    pub(crate) async fn list_python(
        &self,
        directory: &Path,
        cache: &Path,
    ) -> Result<ReportedPython, SetupError> {
        python::list(self, directory, cache).await
    }

    /// Installs a plan in an empty directory and verifies the result.
    pub(crate) async fn install(
        &self,
        project: &Project,
        plan: &Plan,
        directory: &Path,
        cache: &Path,
    ) -> Result<(), SetupError> {
        let (packages, bytes) = (plan.packages.len(), plan.known_size());
        self.report(SetupPhase::Installing { packages, bytes });
        if let (Some(python), Some(lock)) = (&project.python, &plan.python_lock) {
            python::install(self, python, plan, lock, directory, cache).await?;
        }
        if let (Some(node), Some(lock)) = (&project.node, &plan.node_lock) {
            npm::install(self, node, lock, directory, cache).await?;
        }
        self.report(SetupPhase::Verifying);
        if plan.python_lock.is_some() {
            python::verify(plan, directory)?;
        }
        if plan.node_lock.is_some() {
            npm::verify(plan, directory)?;
        }
        Ok(())
    }

    pub(crate) fn report(&self, phase: SetupPhase) {
        if let Some(progress) = &self.progress {
            progress(phase);
        }
    }

    /// Reports the end of the setup when the value is dropped.
    pub(crate) fn report_end(&self) -> EndReport<'_> {
        EndReport(self)
    }

    /// Runs a program that can write in `directory` and in `cache`, start programs, and reach the
    /// hosts of `index`.
    async fn run(&self, step: Step<'_>) -> Result<RunOutput, SetupError> {
        let grants = (self.authorize)(&self.request(&step)?)
            .map_err(|reason| SetupError::new(SetupErrorKind::Denied, step.action, reason))?;
        let quota = |path: &Path| Quota::new(path, MAX_BYTES);
        let job = Job::new(grants, step.program)
            .current_dir(step.directory)
            .quota(quota(step.directory))
            .quota(quota(step.cache));
        let job = step
            .args
            .iter()
            .fold(job, |job, argument| job.arg(*argument));
        let python = self.python.iter();
        let job = python.fold(job, |job, python| {
            job.interpreter(ScriptType::Python, python)
        });
        let job = self.uv.iter().fold(job, Job::tool);
        let job = self
            .cancellation
            .iter()
            .cloned()
            .fold(job, Job::cancellation);
        self.sandbox.run(job).await.map_err(|error| {
            let kind = SetupErrorKind::MissingProgram;
            let failure = SetupError::new(kind, step.action, error.to_string());
            match error.hint() {
                Some(hint) => failure.with_help(hint),
                None => failure,
            }
        })
    }

    fn request(&self, step: &Step<'_>) -> Result<Request, SetupError> {
        let mut limits = ResourceLimits::default();
        limits.wall_time = self.timeout;
        limits.captured_bytes = 8 << 20;
        (limits.output_limit_bytes, limits.file_bytes) = (512 << 20, 512 << 20);
        (limits.open_files, limits.processes) = (2_048, 1_024);
        limits.scratch_bytes = 2 << 30;
        let request = Request::for_host_command(step.directory)
            .display_name("package setup")
            .write(step.directory)
            .write(step.cache)
            .spawn_any()
            .limits(limits);
        let hosts = step.index.map(|index| self.hosts(index)).transpose()?;
        let hosts = hosts.unwrap_or_default();
        Ok(hosts.into_iter().fold(request, Request::connect))
    }

    /// Returns the hosts of an index, each with its port: only configured services are reached, also
    /// those of a private network.
    fn hosts(&self, index: &str) -> Result<Vec<HostPattern>, SetupError> {
        let invalid = |text: &str| {
            let reason = format!("invalid index `{}`", text.escape_debug());
            SetupError::new(SetupErrorKind::Declaration, "plan", reason)
        };
        let host = host_of(index).ok_or_else(|| invalid(index))?;
        let default_port = if index.starts_with("http:") { 80 } else { 443 };
        let hosts = [&host].into_iter().chain(&self.file_hosts).map(|host| {
            let host = if host.contains(':') {
                host.clone()
            } else {
                format!("{host}:{default_port}")
            };
            host.parse::<HostPattern>().map_err(|_| invalid(&host))
        });
        hosts.collect()
    }
}

/// The step that allows packages to be built from source.
const ALLOW_BUILDS: &str = "allow it to be built from source, which runs its code in the sandbox: \
                            install it with `--build` of `skills deps install`";

/// Reports that a setup has ended.
pub(crate) struct EndReport<'a>(&'a SetupContext);

impl Drop for EndReport<'_> {
    fn drop(&mut self) {
        self.0.report(SetupPhase::Ended);
    }
}

/// One program of a setup.
struct Step<'a> {
    action: &'static str,
    program: Program,
    args: &'a [&'a str],
    directory: &'a Path,
    cache: &'a Path,
    /// The URL whose hosts it may reach; `None` for a step without network.
    index: Option<&'a str>,
}

/// Rejects declarations that cannot be installed.
///
/// # Errors
/// Fails with the [problems](Project::problems) of the project, if it has any.
pub fn check_declarations(project: &Project) -> Result<(), SetupError> {
    let problems: Vec<&str> = project.problems().collect();
    if problems.is_empty() {
        return Ok(());
    }
    let error = SetupError::new(SetupErrorKind::Declaration, "plan", problems.join("; "));
    Err(error.with_help(
        "correct the declaration, or install the packages in the interpreter that runs the script",
    ))
}

/// Returns the error of a package manager by the end of its output.
fn failure(action: &'static str, output: &str) -> SetupError {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(MAX_REASON_LINES)..];
    let reason: String = last.join("; ").chars().take(MAX_REASON_CHARS).collect();
    if OFFLINE.iter().any(|text| output.contains(text)) {
        let reason = format!("the index cannot be reached: {reason}");
        return SetupError::new(SetupErrorKind::Offline, action, reason).with_help(
            "connect to the network once, or install the packages in the interpreter that runs the \
             script",
        );
    }
    if output.contains("venv` failed") {
        return SetupError::new(SetupErrorKind::MissingProgram, action, reason).with_help(
            "install `uv`, or the `venv` module of Python (`apt-get install python3-venv`)",
        );
    }
    if output.contains("no usable wheels") || output.contains("No matching distribution") {
        return SetupError::new(SetupErrorKind::Declaration, action, reason)
            .with_help(ALLOW_BUILDS);
    }
    SetupError::new(SetupErrorKind::Failed, action, reason)
}

/// Returns the error of a package manager that ran. `pip` does not distinguish an index that cannot be
/// reached from one that does not have a package, so that the connections decide.
fn failure_of_run(action: &'static str, text: &str, output: &RunOutput) -> SetupError {
    let is_unreached = text.contains("(from versions: none)") && output.connections.is_empty();
    if is_unreached {
        return failure(action, &format!("{}\n{text}", OFFLINE[0]));
    }
    failure(action, text)
}

/// Maximum number of lines of a package manager's output in an error.
const MAX_REASON_LINES: usize = 6;
/// Maximum length of an error, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// Returns an error if the program of a step did not end by itself.
fn check_ended(action: &'static str, output: &RunOutput) -> Result<(), SetupError> {
    match &output.termination {
        Termination::Exited { .. } => Ok(()),
        Termination::TimedOut { limit_ms } => {
            let reason = format!("the setup took longer than {} s", limit_ms / 1_000);
            Err(SetupError::new(SetupErrorKind::Failed, action, reason))
        }
        other => {
            let text = output.stderr.text();
            let reason = format!("the setup ended early: {other:?}; {}", text.trim());
            Err(SetupError::new(SetupErrorKind::Failed, action, reason))
        }
    }
}
