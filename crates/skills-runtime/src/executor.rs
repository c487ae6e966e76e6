//! The executor part of a runtime: plans, authorizes, runs and records.

mod approval_queue;
mod artifacts;
mod authorization;
mod backends;
mod call_context;
mod cancellation;
mod checked_skills;
mod execution_mode;
mod failure_cause;
mod findings;
mod grant_checks;
mod host_command;
mod input_protocol;
mod job;
mod missing_paths;
mod obstacles;
mod optional_mounts;
mod options;
mod output_files;
#[cfg(all(feature = "packages", unix))]
mod packages;
#[cfg(not(all(feature = "packages", unix)))]
#[path = "executor/no_packages.rs"]
mod packages;
mod precompile;
mod preview;
mod program_detection;
mod program_messages;
mod readable_skills;
mod redacted_texts;
mod refusals;
mod requirements;
mod results;
mod run_notes;
mod run_plan;
mod run_record;
mod run_streams;
mod run_subject;
mod run_use;
mod session_directory;
mod skill_copies;
mod workspace;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skills_audit::{ContentHash, Disposition};
use skills_library::{ContentDigests, Library, OnMissing, Secrets, find_entry};
use skills_policy::{Authorization, Grants, PermissionManager, Policy};
use skills_process::SCRATCH_PREFIX;
use skills_sandbox::{EnforcementReport, Job, Preparation, RunOutput, Sandbox, SandboxError};
use skills_store::PrivateDir;
use tokio::sync::Semaphore;

use crate::error::{Repr, RuntimeError};
use approval_queue::ApprovalQueue;
use cancellation::unless_cancelled;
use grant_checks::{check_canonical, is_writable};
use job::build_job;
use missing_paths::CreatedFiles;
use packages::RunPackages;
use run_plan::RunPlan;
use run_record::RunRecord;
use run_streams::RunStreams;
use run_subject::HOST_COMMAND_NAME;
use run_use::RunUse;
pub(crate) use skill_copies::CopyDirectories;
use skill_copies::{SkillCopy, SkillCopyCache};
use workspace::ActiveWorkspace;

pub use artifacts::{ExecutionArtifacts, ExecutionStatus, UnreadableSkill};
pub(crate) use backends::{Backends, WasmConfig};
pub use call_context::{CallContext, ProgressReporter};
pub use execution_mode::ExecutionMode;
pub use failure_cause::{DeclaredPackages, FailureCause, LimitKind};
pub use findings::{ProgramFiles, RunFinding};
pub use host_command::HostCommand;
pub use input_protocol::InputProtocol;
pub use options::{ExecutionOptions, InputFile, RunTarget, Workspace};
pub use output_files::{OutputFile, OutputFiles};
#[cfg(all(feature = "packages", unix))]
pub use packages::{PackageConfig, PackagePlan, PackageStatus};
pub use precompile::Precompile;
pub(crate) use precompile::spawn_precompile;
pub use preview::Preview;
pub use program_detection::detect_execution_mode;
pub(crate) use run_record::Recorder;
pub use session_directory::SessionDirectory;

/// The part of a runtime that runs programs of skills and commands in sandboxes.
///
/// [`SkillRuntime::executor`](crate::SkillRuntime::executor) returns it. Every run is planned from
/// the current files, authorized by policy, run by the backend for its type, and recorded. Cheap to
/// clone; clones share the backends, permits and approvals of sessions.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
    permissions: Arc<PermissionManager>,
}

struct Shared {
    library: Library,
    config: Config,
    /// Permits for concurrent runs.
    run_permits: Semaphore,
    approval_queue: ApprovalQueue,
    copies: SkillCopyCache,
}

/// A run that is authorized and has not started.
struct GrantedRun {
    plan: RunPlan,
    grants: Grants,
    /// The authorized copy; `None` if the decision did not depend on the content.
    content: Option<Arc<SkillCopy>>,
    sandbox: Arc<dyn Sandbox>,
    workspace: Option<ActiveWorkspace>,
    packages: RunPackages,
}

/// What the builder configures.
pub(crate) struct Config {
    pub(crate) backends: Arc<Backends>,
    /// Variables that programs of skills can get.
    pub(crate) secrets: Secrets,
    pub(crate) digests: Arc<ContentDigests>,
    pub(crate) recorder: Recorder,
    pub(crate) directories: CopyDirectories,
    pub(crate) approval_timeout: Duration,
    pub(crate) on_missing_requirements: OnMissing,
    /// Directories that are hidden from all programs.
    pub(crate) hidden_directories: Vec<PathBuf>,
    /// Paths that no program may write.
    pub(crate) read_only_paths: Vec<PathBuf>,
    /// Paths that programs may write only if a rule or an approval is for exactly them.
    pub(crate) protected_paths: Vec<PathBuf>,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) max_concurrent_runs: usize,
    #[cfg(all(feature = "packages", unix))]
    pub(crate) packages: Option<PackageConfig>,
}

impl Executor {
    pub(crate) fn new(library: Library, permissions: PermissionManager, config: Config) -> Self {
        let copies = SkillCopyCache::new(Arc::clone(&config.digests));
        // `Semaphore::new` panics above this number.
        let permits = config.max_concurrent_runs.min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            library,
            config,
            run_permits: Semaphore::new(permits),
            approval_queue: ApprovalQueue::default(),
            copies,
        };
        Self {
            shared: Arc::new(shared),
            permissions: Arc::new(permissions),
        }
    }

    /// Returns an executor with another policy that shares everything else.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            permissions: Arc::new(self.permissions.with_policy(policy)),
        }
    }

    /// Runs a skill's program; see
    /// [`SkillRuntime::execute_skill`](crate::SkillRuntime::execute_skill).
    ///
    /// # Errors
    /// Fails if nothing ran, or if the audit record cannot be written.
    pub async fn execute(
        &self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.execute_as(name, options, None).await
    }

    /// Runs a host command on a directory, without a skill. The
    /// command can read the directory unless a rule denies it, and write it if that is
    /// [requested](ExecutionOptions::writable_paths) and allowed. The directory is its default
    /// working directory. The target and the workspace of `options` are ignored.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::{ApprovalResponse, ExecutionOptions, HostCommand, SkillRuntime};
    ///
    /// # use skills_runtime::{CapturedOutput, EnforcementReport, Sandbox, Termination};
    /// # use skills_sandbox::{Job, RunFuture, RunOutput};
    /// # struct Echo;
    /// # impl Sandbox for Echo {
    /// #     fn name(&self) -> &'static str { "echo" }
    /// #     fn run(&self, job: Job) -> RunFuture<'_> {
    /// #         let mut stdout = CapturedOutput::default();
    /// #         stdout.push(job.stdin_bytes(), 1_000);
    /// #         let exited = Termination::Exited { code: 0 };
    /// #         let report = EnforcementReport::new("echo");
    /// #         let output = RunOutput::new(exited, stdout, CapturedOutput::default(), std::time::Duration::ZERO, report);
    /// #         Box::pin(std::future::ready(Ok(output)))
    /// #     }
    /// # }
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let runtime = SkillRuntime::builder()
    ///     .approver(Arc::new(ApprovalResponse::AllowOnce))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let command = HostCommand::Program("ls".to_owned());
    /// let options = ExecutionOptions { args: vec!["-l".to_owned()], ..ExecutionOptions::default() };
    /// let artifacts = runtime.executor().execute_command(directory.path(), command, options).await?;
    /// assert_eq!(artifacts.mode.program(), "ls");
    /// assert!(artifacts.exit_status.is_success());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the directory does not exist; otherwise the same as
    /// [`execute_skill`](crate::SkillRuntime::execute_skill).
    pub async fn execute_command(
        &self,
        directory: &Path,
        command: HostCommand,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        // First: without a writable log nothing runs, and from here on every return leaves a
        // record.
        let context = &options.context;
        let mut record = self.config().recorder.begin(HOST_COMMAND_NAME, context)?;
        let result = async {
            let directory = directory
                .canonicalize()
                .map_err(|source| Repr::OptionalPath {
                    path: directory.to_owned(),
                    source,
                })?;
            let workspace = ActiveWorkspace::new(
                &Workspace::Directory(directory.clone()),
                self.scratch_directory(),
            )?;
            let plan = self.plan_command(&directory, command, options.resolve_paths()?)?;
            record.set_program(plan.mode.program());
            self.execute_plan(&mut record, plan, workspace).await
        };
        let result = result.await;
        record.close(result)
    }

    /// Compiles the WebAssembly of a skill, so that its first run does not have to. Does nothing
    /// for scripts.
    ///
    /// Nothing is authorized or run. Useful with an on-disk code cache, or in a long-lived process.
    ///
    /// # Errors
    /// Fails if the skill is not found, or if its program cannot be read or compiled.
    pub async fn precompile(&self, name: &str) -> Result<Preparation, RuntimeError> {
        let catalog = self.library().catalog();
        precompile::precompile(find_entry(&catalog, name)?, &self.config().backends).await
    }

    /// Waits for compilations that continue after the deadlines of their runs, so that the next run
    /// takes the code from the cache. `None` if there are none, or without a code cache.
    ///
    /// A process that ends after a run awaits the future; one that serves further runs need not.
    /// The limits of the [compile command](crate::Builder::wasm_compile_command) bound how long it
    /// takes, by default five minutes. Dropping the future stops the compilations.
    ///
    /// # Errors
    /// The future fails if a program cannot be compiled.
    pub fn unfinished_compilations(
        &self,
    ) -> Option<impl Future<Output = Result<Preparation, RuntimeError>>> {
        let wasm = self.config().backends.wasm.as_ref()?;
        let unfinished = wasm.unfinished_preparation()?;
        Some(async { Ok(unfinished.await?) })
    }

    /// Probes the backends and returns the restrictions that they would enforce on this machine. No
    /// skill runs.
    ///
    /// The names of the results are `scripts`, `wasm` and, if there is a [container
    /// backend](crate::Builder::container_sandbox), `containers`, in this order. An unavailable backend
    /// returns the same error as a run.
    ///
    /// ```
    /// use skills_runtime::SkillRuntime;
    ///
    /// let probed = SkillRuntime::new().executor().probe();
    /// assert!(probed.iter().map(|(name, _)| *name).eq(["scripts", "wasm"]));
    /// ```
    pub fn probe(&self) -> Vec<(&'static str, Result<EnforcementReport, SandboxError>)> {
        self.config().backends.probe()
    }

    /// Creates a temporary directory for the files of several runs, in the [scratch
    /// directory](Self::scratch_directory).
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub fn session_directory(&self) -> Result<SessionDirectory, RuntimeError> {
        SessionDirectory::new(self.scratch_directory())
    }

    /// Returns the parent directory of scratch directories and private copies of skills, as
    /// configured.
    #[must_use]
    pub fn scratch_directory(&self) -> &Path {
        &self.config().directories.scratch
    }

    /// Returns the directories in which private copies of skills are created: the [scratch
    /// directory](Self::scratch_directory) and, if configured, one in memory.
    pub fn copy_directories(&self) -> impl Iterator<Item = &Path> {
        let directories = &self.config().directories;
        let memory = directories.memory.iter();
        memory.chain([&directories.scratch]).map(PathBuf::as_path)
    }

    /// Removes the directories that killed processes of this user left in the [directories for
    /// copies](Self::copy_directories), on a background thread: private copies of skills, private
    /// workspaces, and directories of sessions and runs. A directory of a process that is alive is
    /// locked, and stays.
    ///
    /// The first run of a process does the same. A server calls it when it starts, since its first
    /// run may be far away.
    pub fn sweep_scratch_directory(&self) {
        self.copy_directories()
            .for_each(|parent| PrivateDir::sweep(parent, SCRATCH_PREFIX));
    }

    /// Returns the directories that are hidden from programs
    /// ([`Builder::hide`](crate::Builder::hide)), as configured.
    #[must_use]
    pub fn hidden_directories(&self) -> &[PathBuf] {
        &self.config().hidden_directories
    }

    /// Removes the approvals of a [session](CallContext::session). Call it when the client
    /// disconnects; approvals of other sessions and permanent approvals stay valid.
    pub fn clear_session_approvals(&self, session: &str) {
        self.permissions.clear_session(session);
    }

    pub(crate) fn library(&self) -> &Library {
        &self.shared.library
    }

    fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Runs a program, optionally as a hook.
    pub(crate) async fn execute_as(
        &self,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut record = self.config().recorder.begin(name, &options.context)?;
        let result = self
            .execute_recorded(&mut record, name, options, hook)
            .await;
        record.close(result)
    }

    /// Records an attempt that was rejected before it started. Returns the error if the record
    /// cannot be written.
    pub(crate) fn record_rejection(
        &self,
        name: &str,
        program: &str,
        reason: &'static str,
    ) -> Option<RuntimeError> {
        // An agent's event has no caller that is known.
        let context = CallContext::default();
        let mut record = match self.config().recorder.begin(name, &context) {
            Ok(record) => record,
            Err(error) => return Some(error),
        };
        record.set_program(program);
        record.close(Err(Repr::Hook { reason }.into())).err()
    }

    async fn execute_recorded(
        &self,
        record: &mut RunRecord,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let options = options.resolve_paths()?;
        // After the paths are resolved, since policy and sandbox compare canonical paths.
        let workspace = ActiveWorkspace::new(&options.workspace, self.scratch_directory())?;
        let mut plan = self.plan(name, options, workspace.as_ref())?;
        match hook {
            Some(hook) => plan.request = plan.request.hook(hook),
            // The exit code of a hook is an answer.
            None => record.run_use = self.begin_use(&plan),
        }
        record.set_program(hook.unwrap_or_else(|| plan.mode.program()));
        self.execute_plan(record, plan, workspace).await
    }

    /// Starts the record of a run in the usage ledger.
    fn begin_use(&self, plan: &RunPlan) -> RunUse {
        let usage = self.library().usage();
        plan.subject.skill().map_or_else(RunUse::default, |skill| {
            RunUse::new(usage, &skill.entry, &plan.mode, &plan.options.context)
        })
    }

    /// Authorizes and runs a plan, and collects its results.
    async fn execute_plan(
        &self,
        record: &mut RunRecord,
        plan: RunPlan,
        workspace: Option<ActiveWorkspace>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut plan = self.with_optional_files(plan).await;
        let manifest = plan.subject.skill().map(|skill| &skill.manifest);
        record.set_skill(plan.subject.name(), None, manifest);
        let missing = self.missing_for_run(&plan);
        let sandbox = self.check_startable(&plan, &missing)?;
        // From here on the record is redacted, whether the run is denied, fails or succeeds.
        record.redactor = plan.redactor();
        self.request_required_keys(&mut plan, &sandbox).await?;
        let mut packages = self.find_packages(&mut plan).await?;
        let (authorization, content) = self
            .authorize_with_packages(&mut plan, &mut packages, record)
            .await?;
        match authorization {
            Authorization::Granted(grants) => {
                self.install_packages_of_run(&plan, &mut packages).await?;
                let mut granted = GrantedRun {
                    plan,
                    grants,
                    content,
                    sandbox,
                    workspace,
                    packages,
                };
                let notes = self.notes_before_run(&granted, record, &missing.to_lines());
                let output = self.run(&mut granted, record).await?;
                Ok(self.artifacts(granted, output, notes, &record.redactor))
            }
            Authorization::Denied(denial) => {
                record.record_decision(Disposition::Denied, denial.decisions());
                let skill = plan.subject.name().to_owned();
                Ok(ExecutionArtifacts::denied(skill, plan.mode, denial))
            }
        }
    }

    /// Rejects a granted directory that contains a directory for copies: the program could access
    /// private copies and workspaces of other runs.
    fn check_outside_scratch(&self, grants: &Grants) -> Result<(), RuntimeError> {
        for directory in self.copy_directories() {
            // Granted paths are canonical, so the directory is compared in that form.
            let scratch = directory.canonicalize();
            let scratch = scratch.unwrap_or_else(|_| directory.to_owned());
            let mut files = grants.files().iter();
            if let Some(file) = files.find(|file| scratch.starts_with(file.path())) {
                let path = file.path().to_owned();
                return Err(Repr::ContainsScratch { path, scratch }.into());
            }
        }
        Ok(())
    }

    /// Acquires a run permit, verifies that paths and content digest are unchanged, then runs.
    async fn run(
        &self,
        granted: &mut GrantedRun,
        record: &mut RunRecord,
    ) -> Result<RunOutput, RuntimeError> {
        let GrantedRun {
            plan,
            grants,
            content,
            sandbox,
            workspace,
            packages,
        } = granted;
        record.record_limits(grants.limits());
        record.record_decision(Disposition::Granted, grants.decisions());
        // Files in a workspace that the program cannot write are not its output.
        *workspace = workspace
            .take()
            .filter(|workspace| is_writable(workspace, grants));
        let cancellation = plan.options.context.cancellation.clone();
        let cancellation = cancellation.as_ref();
        // Before the job starts, so that the wait does not count as time of the run.
        let _permit = unless_cancelled(cancellation, self.shared.run_permits.acquire())
            .await?
            .map_err(|_| Repr::Closed)?;
        // Paths are checked after the wait for a permit, which can take minutes in which another
        // program may replace a directory by a symlink.
        let user_home = self.config().user_home.as_deref();
        let created = CreatedFiles::create(grants, plan.workspace.as_deref())?;
        check_canonical(grants)?;
        self.check_outside_scratch(grants)?;
        // The backend takes the grants; the original explains what the program could not do.
        let streams = RunStreams::open(plan, grants.limits().wall_time).await?;
        let job = packages.add_to(build_job(plan, content.as_deref(), grants.clone())?);
        let job = job.streams(streams.for_job());
        let job = user_home.into_iter().fold(job, Job::user_home);
        let uncovered = self
            .check_content_unchanged(&plan.subject, content.as_deref())
            .await?;
        self.check_readable_unchanged(&plan.readable_skills).await?;
        let job = uncovered.into_iter().fold(job, Job::hide);
        // As late as possible: what others changed during the wait is not output of this program.
        if let Some(workspace) = workspace {
            workspace.snapshot();
        }
        // Only size and hash, since a record contains no content.
        record.update(|event| event.input = Some(ContentHash::new(job.stdin_bytes())));
        record.start()?;
        let output = sandbox.run(job).await?;
        streams.finish(&output.termination);
        let input = streams.input_hash();
        record.update(|event| event.input = input.or(event.input.take()));
        record.record_connections(&output);
        drop(created);
        Ok(output)
    }
}
