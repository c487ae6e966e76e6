//! The Seatbelt backend.

use std::fmt;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use skills_egress::{Connector, HostConnector, Proxy, ProxyLog, ProxySummary, SystemConnector};
use skills_policy::{Grants, NetworkGrant as Granted};
use skills_process::{Bounds, KeyFiles, SpawnedGroup, SupervisedOutput, supervise};
use skills_process::{ProgramFinder, ProtectedEntries, SearchLimit};
use skills_process::{QuotaMonitor, SCRATCH_PREFIX};
use skills_sandbox::{
    EnforcementReport, Job, Quota, Refusals, RunFuture, RunOutput, Sandbox, SandboxError,
    Termination,
};
use skills_store::PrivateDir;
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::plan::{Plan, PlanContext, SANDBOX_EXEC};
use crate::profile::{FILE_PREFIX, ProxyAccess};
use crate::report::{probe_report, report};
use crate::resolve::resolve_executables;

/// The error of `sandbox-exec` in a process that is already sandboxed.
const ALREADY_SANDBOXED: &str = "sandbox_apply: Operation not permitted";

/// Runs scripts and commands under `sandbox-exec` on macOS. On other systems it rejects every job.
///
/// Defaults of the builder: interpreters and programs of the usual directories, and
/// [`SystemConnector`].
#[derive(Clone)]
pub struct SeatbeltSandbox {
    program_finder: ProgramFinder,
    scratch_parent: PathBuf,
    connector: Arc<dyn Connector>,
    launcher: Option<Launcher>,
}

/// The program that starts a sandboxed program, and the directory of profiles.
#[derive(Debug, Clone)]
struct Launcher {
    program: PathBuf,
    profile_directory: PathBuf,
}

impl SeatbeltSandbox {
    /// Creates the backend; scratch directories are created below `scratch_parent`, profiles in
    /// `/tmp`.
    #[must_use]
    pub fn new(scratch_parent: impl Into<PathBuf>) -> Self {
        let launcher = cfg!(target_os = "macos").then(|| Launcher {
            program: SANDBOX_EXEC.into(),
            profile_directory: "/tmp".into(),
        });
        Self::with_launcher(launcher, scratch_parent.into())
    }

    /// Sets where interpreters and programs are searched.
    #[must_use]
    pub fn program_finder(mut self, finder: ProgramFinder) -> Self {
        self.program_finder = finder;
        self
    }

    /// Sets how granted hosts are resolved and connected to.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = connector;
        self
    }

    /// Creates a backend with a stub for `sandbox-exec`, which does not restrict anything.
    #[cfg(test)]
    pub(crate) fn with_stub_launcher(
        program: impl Into<PathBuf>,
        profiles: PathBuf,
        scratch_parent: PathBuf,
    ) -> Self {
        Self::with_launcher(
            Some(Launcher {
                program: program.into(),
                profile_directory: profiles,
            }),
            scratch_parent,
        )
    }

    fn with_launcher(launcher: Option<Launcher>, scratch_parent: PathBuf) -> Self {
        Self {
            program_finder: ProgramFinder::default(),
            scratch_parent,
            connector: Arc::new(SystemConnector::default()),
            launcher,
        }
    }

    fn launcher(&self) -> Result<&Launcher, SandboxError> {
        let launcher = self
            .launcher
            .as_ref()
            .ok_or_else(|| SandboxError::unsupported_platform(std::env::consts::OS))?;
        if launcher.program.is_file() {
            return Ok(launcher);
        }
        let reason = format!("no {}", launcher.program.display());
        Err(SandboxError::unavailable(
            "sandbox-exec",
            reason,
            "it is part of macOS; repair the system",
        ))
    }

    async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        let started = Instant::now();
        let launcher = self.launcher()?;
        // Seatbelt compares the paths that the kernel resolved.
        let (job, protected) = protect_by_content(job.with_real_paths()).await?;
        let key_files = find_keys(job.grants())?;
        // Otherwise the targets of symlinks that the program renames would be readable in later runs.
        let job = job.protect(key_files.symlinks().map(Path::to_owned));
        let (scratch, scratch_path) = self.create_scratch()?;
        let failed = |error| SandboxError::setup("writing the profile", error);
        let mut file = create_profile_file(&launcher.profile_directory).map_err(failed)?;
        // Before the profile, which contains its port.
        let egress = self.open_egress(&job).await?;
        let context = PlanContext {
            scratch: scratch_path,
            profile_path: file.path().to_owned(),
            network: egress
                .as_ref()
                .map_or(ProxyAccess::None, PendingProxy::access),
            keys: key_files.iter().map(|(path, _)| path.to_owned()).collect(),
        };
        let executables = resolve_executables(&job, &self.program_finder)?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let plan = Plan::new(&job, &executables, &context)?.with_processors(processors);
        let profile = plan.profile().to_string();
        file.write_all(profile.as_bytes()).map_err(failed)?;
        let scratch_quota = Quota::new(&context.scratch, plan.limits().scratch_bytes);
        let bounds = Bounds {
            limits: plan.limits(),
            deadline_grace: job.grace_at_deadline(),
            quotas: Arc::new(open_quotas(&job, scratch_quota)?),
            cancellation: job.cancellation_token(),
        };
        let spawned = SpawnedGroup::spawn(command(&plan, launcher))
            .map_err(|error| SandboxError::setup("starting sandbox-exec", error))?;
        let (supervised, log) = supervise_run(spawned, &job, &bounds, egress).await?;
        // The profile is removed now that nothing reads it any more, also if the run failed.
        drop(file);
        launcher_error(&supervised, log.as_ref()).map_or(Ok(()), Err)?;
        let report = report(&plan, job.quotas(), log.as_ref()).cleanup(scratch.remove());
        let unread: Vec<String> = protected.unread_notes().collect();
        let grants = job.grants().clone();
        let changes = skills_threads::run_blocking(move || protected.changes(&grants));
        let output = run_output(supervised, started, report, log.as_ref());
        let output = match changes.await {
            Ok(changes) => output
                .executed_files(changes.executed)
                .changed_entries(changes.entries),
            // The caller then knows that both are unknown.
            Err(_) => output,
        };
        Ok(output
            .notes(unread.into_iter().chain(key_files.notes()))
            .withheld_keys(context.keys)
            .changed_key_links(key_files.changed_links()))
    }

    /// Creates the scratch directory, and returns it with its path without symlinks.
    fn create_scratch(&self) -> Result<(PrivateDir, PathBuf), SandboxError> {
        let scratch = PrivateDir::create(&self.scratch_parent, SCRATCH_PREFIX)
            .map_err(|error| SandboxError::setup("creating the scratch directory", error))?;
        // The temporary directory of macOS is behind a symlink (`/var`).
        let path = scratch
            .path()
            .canonicalize()
            .map_err(|error| SandboxError::setup("resolving the scratch directory", error))?;
        Ok((scratch, path))
    }

    /// Opens the proxy port if hosts are granted.
    async fn open_egress(&self, job: &Job) -> Result<Option<PendingProxy>, SandboxError> {
        let Granted::Hosts(hosts) = job.grants().network() else {
            return Ok(None);
        };
        let failed = |error| SandboxError::setup("opening a port for the proxy", error);
        // A port of the loopback device, which the system selects: other machines cannot connect.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Some(PendingProxy {
            proxy: Proxy::new(HostConnector::new(
                hosts.clone(),
                Arc::clone(&self.connector),
            )),
            listener,
            port,
        }))
    }
}

/// Protects what the profile cannot identify by its name: targets of symlinks, and what the
/// configuration of a repository names. Returns what was found too.
async fn protect_by_content(job: Job) -> Result<(Job, ProtectedEntries), SandboxError> {
    let grants = job.grants().clone();
    let search = move || {
        let found = ProtectedEntries::find_all(&grants)?;
        Ok((found.by_content(&grants), found))
    };
    let (paths, found) = skills_threads::run_blocking(search)
        .await
        .map_err(|error| SandboxError::setup("searching for protected paths", error))?
        .map_err(|limit: SearchLimit| SandboxError::rejected("seatbelt", limit.to_string()))?;
    Ok((job.protect(paths), found))
}

/// A proxy that does not serve yet.
struct PendingProxy {
    proxy: Proxy,
    listener: TcpListener,
    port: u16,
}

impl PendingProxy {
    fn access(&self) -> ProxyAccess {
        ProxyAccess::LocalPort(self.port)
    }
}

/// Searches for files that may hold keys.
fn find_keys(grants: &Grants) -> Result<KeyFiles, SandboxError> {
    KeyFiles::find(grants).map_err(|limit| SandboxError::rejected("seatbelt", limit.to_string()))
}

fn run_output(
    supervised: SupervisedOutput,
    started: Instant,
    report: EnforcementReport,
    log: Option<&ProxyLog>,
) -> RunOutput {
    let requests = log.map(ProxyLog::summary).unwrap_or_default();
    RunOutput::new(
        supervised.termination,
        supervised.stdout,
        supervised.stderr,
        started.elapsed(),
        report,
    )
    .notes(requests.failures())
    .refusals(refusals(&requests))
    .connections(requests.reached, requests.reached_omitted)
}

/// Supervises a process, and serves its proxy meanwhile if it has one.
async fn supervise_run(
    spawned: SpawnedGroup,
    job: &Job,
    bounds: &Bounds<'_>,
    egress: Option<PendingProxy>,
) -> Result<(SupervisedOutput, Option<ProxyLog>), SandboxError> {
    let supervised = supervise(spawned, job.stdin_bytes(), job.program_streams(), bounds);
    let (supervised, log) = match egress {
        None => (supervised.await, None),
        Some(PendingProxy {
            proxy, listener, ..
        }) => {
            let log = proxy.log();
            // The proxy serves until the program has ended.
            tokio::select! {
                supervised = supervised => (supervised, Some(log)),
                never = proxy.serve(listener) => match never {},
            }
        }
    };
    Ok((
        supervised.map_err(|error| SandboxError::setup("watching the process", error))?,
        log,
    ))
}

/// The connector has no `Debug` output.
impl fmt::Debug for SeatbeltSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeatbeltSandbox")
            .field("interpreters", &self.program_finder)
            .field("scratch_parent", &self.scratch_parent)
            .field("launcher", &self.launcher)
            .finish_non_exhaustive()
    }
}

impl Sandbox for SeatbeltSandbox {
    fn name(&self) -> &'static str {
        "seatbelt"
    }

    fn reports_changes(&self) -> bool {
        true
    }

    fn confines_commands(&self) -> bool {
        true
    }

    fn probe(&self) -> Result<EnforcementReport, SandboxError> {
        self.launcher().map(|_| probe_report(&self.program_finder))
    }

    fn check_command(&self, name: &str) -> Result<(), SandboxError> {
        self.program_finder.find_command(name).map(|_| ())
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(self.run_job(job))
    }
}

fn command(plan: &Plan, launcher: &Launcher) -> Command {
    let mut command = Command::new(&launcher.program);
    command
        .args(plan.args())
        // The environment of the host can contain secrets and loader variables.
        .env_clear()
        .envs(plan.env().iter().cloned())
        .current_dir(plan.current_dir());
    command
}

/// Opens the directories of a run whose sizes are limited.
fn open_quotas(job: &Job, scratch: Quota) -> Result<QuotaMonitor, SandboxError> {
    let quotas: Vec<Quota> = job.quotas().iter().cloned().chain([scratch]).collect();
    QuotaMonitor::open(&quotas)
        .and_then(|quotas| quotas.with_disks_of(job.grants()))
        .map_err(|error| SandboxError::setup("opening a directory with a quota", error))
}

fn refusals(requests: &ProxySummary) -> Refusals {
    let mut refusals = Refusals::default();
    for (host, count) in requests.rejected_hosts() {
        refusals.add_connections(host, count);
    }
    refusals
}

/// Distinguishes a failure of `sandbox-exec` (nothing ran) from one of the script.
///
/// `sandbox-exec` fails before it starts anything, with only its own messages on standard error.
/// The exit code alone does not decide, since scripts can exit with the same one; and a program
/// that used the proxy has run. A script that writes exactly these messages, and nothing else,
/// makes its own run look as if it had not started; only its output is lost.
fn launcher_error(supervised: &SupervisedOutput, log: Option<&ProxyLog>) -> Option<SandboxError> {
    let is_failure = matches!(supervised.termination, Termination::Exited { code } if code != 0);
    let is_unused = log.is_none_or(|log| log.summary() == ProxySummary::default());
    if !is_failure || !is_unused || supervised.stdout.total_bytes() > 0 {
        return None;
    }
    let stderr = supervised.stderr.text();
    let message = stderr.strip_prefix("sandbox-exec: ")?.trim_end();
    if !is_launcher_message(message) {
        return None;
    }
    Some(if message == ALREADY_SANDBOXED {
        already_sandboxed()
    } else {
        SandboxError::setup("sandbox-exec failed", io::Error::other(message.to_owned()))
    })
}

fn already_sandboxed() -> SandboxError {
    SandboxError::unavailable(
        "seatbelt",
        "already inside a seatbelt sandbox",
        "sandboxes of macOS do not nest: start the host outside of one, or ship a WebAssembly module (wasm/skill.wasm)",
    )
}

/// Returns true if all lines are messages of `sandbox-exec`: about applying the sandbox or starting
/// the program in one line, about the profile with a location, or indented lines that explain it.
fn is_launcher_message(message: &str) -> bool {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let is_one_line = rest.is_empty();
    let is_start = first
        .strip_prefix("execvp() of '")
        .is_some_and(|rest| rest.contains("' failed: "));
    let is_applying = first.starts_with("sandbox_apply: ");
    (is_one_line && (is_start || is_applying))
        || (has_profile_location(first) && rest.lines().all(|line| line.starts_with([' ', '\t'])))
}

/// Returns true if a line begins with a profile name, a line and a column: `profile:3:1: `,
/// `<input string>:1:0:`.
fn has_profile_location(line: &str) -> bool {
    let parts: Vec<&str> = line.splitn(4, ':').collect();
    match parts.as_slice() {
        [name, line, column, _] => is_profile_name(name) && is_number(line) && is_number(column),
        _ => false,
    }
}

/// Creates an empty file for one profile, which only its owner can read, and which is removed on drop.
/// All users can create files in the directory, so the name is one that none can know before.
fn create_profile_file(directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(FILE_PREFIX)
        .suffix(".sb")
        .tempfile_in(directory)
}

fn is_profile_name(name: &str) -> bool {
    name == "profile" || name == "<input string>" || name.contains(FILE_PREFIX)
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}
