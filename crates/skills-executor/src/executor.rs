//! The entry point: runs, previews, approvals, packages.

use std::path::{Path, PathBuf};

use skills_library::{Library, find_entry};
use skills_policy::{Access, Authorization, PermissionManager, Policy, Question, Request};
use skills_process::SCRATCH_PREFIX;
use skills_sandbox::{EnforcementReport, Preparation, SandboxError};
use skills_store::PrivateDir;

use crate::artifacts::ExecutionArtifacts;
use crate::call_context::CallContext;
use crate::drive;
use crate::error::{Repr, RuntimeError};
use crate::host_command::HostCommand;
use crate::options::ExecutionOptions;
#[cfg(all(feature = "packages", unix))]
use crate::package_plans::{self, PackagePlan, PackageStatus};
use crate::plan::Planned;
use crate::planned_run::PlannedRun;
use crate::precompile;
use crate::preview::{PlannedContent, Preview};
use crate::request::with_read_only_paths;
use crate::run_handle::RunHandle;
use crate::run_subject::HOST_COMMAND_NAME;
use crate::services::{ExecutorConfig, Services};
use crate::session_directory::SessionDirectory;

/// The part of a runtime that runs programs of skills and commands in sandboxes.
///
/// `SkillRuntime::executor` returns it. Every run is planned from
/// the current files, authorized by policy, run by the backend for its type, and recorded. Cheap to
/// clone; clones share the backends, permits and approvals of sessions.
#[derive(Clone)]
pub struct Executor {
    services: Services,
}

impl Executor {
    /// Creates an executor for the skills of a library. Nothing is read or started yet.
    #[must_use]
    pub fn new(library: Library, permissions: PermissionManager, config: ExecutorConfig) -> Self {
        Self {
            services: Services::new(library, permissions, config),
        }
    }

    pub(crate) fn from_services(services: Services) -> Self {
        Self { services }
    }

    /// Returns an executor with another policy that shares everything else.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self {
            services: self.services.with_policy(policy),
        }
    }

    /// Returns the library with the skills.
    #[must_use]
    pub fn library(&self) -> &Library {
        self.services.library()
    }

    /// Runs a skill's program; see
    /// `SkillRuntime::execute_skill`.
    ///
    /// # Errors
    /// Fails if nothing ran, or if the audit record cannot be written.
    pub async fn execute(
        &self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        drive::run_skill(&self.services, name, options, None, None).await
    }

    /// Starts a skill's program, and returns while it runs. In contrast to
    /// [`execute`](Self::execute) all of its output comes as [events](skills_sandbox::RunEvent), it can
    /// get input while it runs, and it can be asked to end.
    ///
    /// Must be called in a Tokio runtime. Everything that is checked, asked and recorded is the same.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use skills_runtime::{ExecutionOptions, InputSink, Root, RunEvent, Scope, SkillRuntime};
    ///
    /// # use skills_runtime::{CapturedOutput, EnforcementReport, OutputStream, Sandbox, Termination};
    /// # use skills_sandbox::{Job, RunFuture, RunOutput};
    /// # struct Echo;
    /// # impl Sandbox for Echo {
    /// #     fn name(&self) -> &'static str { "echo" }
    /// #     fn run(&self, job: Job) -> RunFuture<'_> {
    /// #         let mut text = String::new();
    /// #         let streams = job.program_streams();
    /// #         let mut input = streams.input.as_ref().unwrap().take().unwrap().unwrap();
    /// #         let events = streams.events.clone().unwrap();
    /// #         Box::pin(async move {
    /// #             let read = tokio::task::spawn_blocking(move || input.read_to_string(&mut text).map(|_| text));
    /// #             let text = read.await.unwrap().unwrap();
    /// #             events.output(OutputStream::Stdout, text.into()).await.unwrap();
    /// #             let exited = Termination::Exited { code: 0 };
    /// #             let (out, err) = (CapturedOutput::default(), CapturedOutput::default());
    /// #             Ok(RunOutput::new(exited, out, err, std::time::Duration::ZERO, EnforcementReport::new("echo")))
    /// #         })
    /// #     }
    /// # }
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let runtime = SkillRuntime::builder()
    ///     .root(Root::new(directory.path(), Scope::User))
    /// #     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let (input, stream) = InputSink::new();
    /// let options = ExecutionOptions { input_stream: Some(stream), ..ExecutionOptions::default() };
    /// let mut run = runtime.executor().start("greet", options);
    /// input.send("Hi Ada").await?;
    /// drop(input);
    /// while let Some(event) = run.next_event().await {
    ///     if let RunEvent::Output { bytes, .. } = event {
    ///         assert_eq!(bytes, "Hi Ada");
    ///     }
    /// }
    /// assert!(run.outcome().await?.exit_status.is_success());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(&self, name: impl Into<String>, options: ExecutionOptions) -> RunHandle {
        RunHandle::start(self.services.clone(), name.into(), options)
    }

    /// Plans a run of a skill's program, which the caller [executes](PlannedRun::execute),
    /// [starts](PlannedRun::start) or drops. Reads the current files of the skill, asks no approver and
    /// runs nothing. Synchronous: it waits for a skill of a server, unless it was
    /// [read](Library::read_from_source) before.
    ///
    /// A plan leaves no audit record; an error does, as an attempt to run something. A caller that does
    /// not mean to run anything calls [`preview`](Self::preview), which leaves none.
    ///
    /// # Errors
    /// Same as [`execute`](Self::execute) for errors before authorization, except that missing
    /// requirements are an error of the run.
    pub fn plan(&self, name: &str, options: ExecutionOptions) -> Result<PlannedRun, RuntimeError> {
        drive::plan_skill(&self.services, name, options).map(PlannedRun::new)
    }

    /// Runs a host command on a directory, without a skill. The
    /// command can read the directory unless a rule denies it, and write it if that is
    /// [requested](ExecutionOptions::writable_paths) and allowed. The directory is its default
    /// working directory. The target and the workspace of `options` are ignored.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::{Answer, ExecutionOptions, HostCommand, SkillRuntime};
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
    ///     .approver(Arc::new(Answer::AllowOnce))
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
    /// [`execute`](Self::execute).
    pub async fn execute_command(
        &self,
        directory: &Path,
        command: HostCommand,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        drive::run_command(&self.services, directory, command, options).await
    }

    /// Returns true if rules let host commands on a directory access a path without a question, where a
    /// caller does on behalf of a command what a program would do. Both paths are canonical.
    #[must_use]
    pub fn allows_path(&self, directory: &Path, path: &Path, access: Access) -> bool {
        let request = Request::for_host_command(directory);
        self.is_allowed(match access {
            Access::ReadOnly => request.read(path),
            Access::ReadWrite => request.write(path),
        })
    }

    /// Returns true if rules let host commands on a directory start any program without a question.
    #[must_use]
    pub fn allows_any_program(&self, directory: &Path) -> bool {
        self.is_allowed(Request::for_host_command(directory).spawn_any())
    }

    /// Returns true if commands of a skill, or those without one, can be
    /// [confined](Request::confine), which a [free program](skills_policy::FreeProgram) that does more
    /// than read needs.
    #[must_use]
    pub fn confines_commands(&self, skill: Option<&str>) -> bool {
        let backends = &self.services.config().backends;
        let name = skill.unwrap_or(HOST_COMMAND_NAME);
        let mode = HostCommand::Program(String::new()).mode();
        let backend = backends.for_run(name, &mode, backends.preferred(name));
        backend.is_ok_and(|backend| backend.confines_commands())
    }

    /// Returns true if a rule or an approval decides about a program of host commands on a directory:
    /// allows, denies or asks. Then a caller does not do itself what the program would do.
    #[must_use]
    pub fn decides_program(&self, directory: &Path, program: &str) -> bool {
        let request = Request::for_host_command(directory).spawn(program);
        let authorization = self.services.permissions().preview(&request);
        let mut decisions = authorization.decisions().iter();
        matches!(authorization, Authorization::Granted(_))
            || decisions.any(|decision| decision.is_final() || decision.ask_rule().is_some())
    }

    fn is_allowed(&self, request: Request) -> bool {
        let request = with_read_only_paths(&self.services, request);
        let authorization = self.services.permissions().preview(&request);
        matches!(authorization, Authorization::Granted(_))
    }

    /// Previews a run without asking an approver or running anything.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::{Authorization, ExecutionOptions, FileApprovalStore, Root, Scope};
    /// use skills_runtime::{SkillRuntime, format_question, policy::Permission};
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
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\nallowed-tools: Bash(git:*)\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// // The frontmatter of the skill: `allowed-tools: Bash(git:*)`
    /// let runtime = SkillRuntime::builder()
    ///     .root(Root::new(directory.path(), Scope::User))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .approval_store(Arc::new(FileApprovalStore::new(directory.path().join("approvals.json"))))
    ///     .build();
    /// let options = ExecutionOptions::default();
    /// let preview = runtime.executor().preview("greet", &options)?;
    /// assert!(matches!(preview.authorization, Authorization::Denied(_)));
    /// // Without an approver it runs, and starts no program.
    /// assert_eq!(preview.omitted, [Permission::Program("git".to_owned())]);
    ///
    /// let question = preview.question.expect("rules leave it open");
    /// println!("{}", format_question(&question));
    /// let authorization = runtime.executor().approve("greet", &options, &question)?;
    /// assert!(matches!(authorization, Authorization::Granted(_)));
    /// assert!(runtime.executor().preview("greet", &options)?.question.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`execute`](Self::execute) for errors before authorization, except that
    /// missing requirements are not an error.
    pub fn preview(&self, name: &str, options: &ExecutionOptions) -> Result<Preview, RuntimeError> {
        let planned = self.planned(name, options, None)?;
        Ok(PlannedContent::new(&planned).preview())
    }

    /// Stores a permanent approval for exactly the request of a [`Preview`] that was shown. Stores
    /// nothing if the request no longer needs approval.
    ///
    /// # Errors
    /// Same as [`preview`](Self::preview); also fails if the skill or its request
    /// changed since it was shown, or if the approval cannot be stored.
    pub fn approve(
        &self,
        name: &str,
        options: &ExecutionOptions,
        shown: &Question,
    ) -> Result<Authorization, RuntimeError> {
        let planned = self.planned(name, options, None)?;
        PlannedContent::new(&planned).approve(shown)
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
        precompile::precompile(
            find_entry(&catalog, name)?,
            &self.services.config().backends,
        )
        .await
    }

    /// Waits for compilations that continue after the deadlines of their runs, so that the next run
    /// takes the code from the cache. `None` if there are none, or without a code cache.
    ///
    /// A process that ends after a run awaits the future; one that serves further runs need not.
    /// The limits of the compile command bound how long it
    /// takes, by default five minutes. Dropping the future stops the compilations.
    ///
    /// # Errors
    /// The future fails if a program cannot be compiled.
    pub fn unfinished_compilations(
        &self,
    ) -> Option<impl Future<Output = Result<Preparation, RuntimeError>>> {
        let wasm = self.services.config().backends.wasm.as_ref()?;
        let unfinished = wasm.unfinished_preparation()?;
        Some(async { Ok(unfinished.await?) })
    }

    /// Probes the backends and returns the restrictions that they would enforce on this machine. No
    /// skill runs.
    ///
    /// The names of the results are `scripts`, `wasm` and, if there is a [container
    /// backend](crate::Backends::container), `containers`, in this order. An unavailable backend
    /// returns the same error as a run.
    ///
    /// ```
    /// use skills_runtime::SkillRuntime;
    ///
    /// let probed = SkillRuntime::new().executor().probe();
    /// assert!(probed.iter().map(|(name, _)| *name).eq(["scripts", "wasm"]));
    /// ```
    pub fn probe(&self) -> Vec<(&'static str, Result<EnforcementReport, SandboxError>)> {
        self.services.config().backends.probe()
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
        &self.services.config().directories.scratch
    }

    /// Returns the directories in which private copies of skills are created: the [scratch
    /// directory](Self::scratch_directory) and, if configured, one in memory.
    pub fn copy_directories(&self) -> impl Iterator<Item = &Path> {
        self.services.copy_directories()
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
    /// ([`hidden_directories`](crate::ExecutorConfig::hidden_directories)), as configured.
    #[must_use]
    pub fn hidden_directories(&self) -> &[PathBuf] {
        &self.services.config().hidden_directories
    }

    /// Removes the approvals of a [session](CallContext::session). Call it when the client
    /// disconnects; approvals of other sessions and permanent approvals stay valid.
    pub fn clear_session_approvals(&self, session: &str) {
        self.services.permissions().clear_session(session);
    }

    /// Returns the store of environments, if packages are [configured](crate::ExecutorConfig::packages).
    #[cfg(all(feature = "packages", unix))]
    #[must_use]
    pub fn package_store(&self) -> Option<&skills_deps::Store> {
        Some(self.services.config().packages.as_ref()?.store())
    }

    /// Returns the packages of the program that `options` select. Nothing is asked of an index.
    ///
    /// # Errors
    /// The same as [`preview`](Self::preview).
    #[cfg(all(feature = "packages", unix))]
    pub fn package_status(
        &self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<PackageStatus, RuntimeError> {
        package_plans::status(&self.services, name, options)
    }

    /// Returns the scripts of a skill that declare packages apart from it, which are not installed.
    ///
    /// # Errors
    /// The same as [`preview`](Self::preview).
    #[cfg(all(feature = "packages", unix))]
    pub fn scripts_without_packages(
        &self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Vec<String>, RuntimeError> {
        package_plans::scripts_without_packages(&self.services, name, options)
    }

    /// Selects versions of the missing packages of the program that `options` select; `None` if
    /// nothing is missing. The index is asked, nothing is installed. A plan is kept until
    /// `refresh`, which asks for the newest versions.
    ///
    /// # Errors
    /// Fails if packages are not configured, if a rule denies one, or if they cannot be planned.
    #[cfg(all(feature = "packages", unix))]
    pub async fn plan_packages(
        &self,
        name: &str,
        options: &ExecutionOptions,
        refresh: bool,
    ) -> Result<Option<PackagePlan>, RuntimeError> {
        package_plans::plan(&self.services, name, options, refresh).await
    }

    /// Installs a plan. The caller has the agreement of its user, who saw the plan.
    ///
    /// # Errors
    /// Fails if the packages cannot be installed; then nothing changed.
    #[cfg(all(feature = "packages", unix))]
    pub async fn install_packages(
        &self,
        plan: &PackagePlan,
        call: &CallContext,
    ) -> Result<skills_deps::Environment, RuntimeError> {
        package_plans::install(plan, call).await
    }

    /// Runs a program as a hook with this title, which an approval names. Its exit code is an answer,
    /// which the usage ledger does not count.
    ///
    /// # Errors
    /// Same as [`execute`](Self::execute).
    #[doc(hidden)]
    pub async fn execute_hook(
        &self,
        name: &str,
        options: ExecutionOptions,
        hook: &str,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        drive::run_skill(&self.services, name, options, Some(hook), None).await
    }

    /// Previews a run of a hook with this title.
    ///
    /// # Errors
    /// Same as [`preview`](Self::preview).
    #[doc(hidden)]
    pub fn preview_hook(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: &str,
    ) -> Result<Preview, RuntimeError> {
        let planned = self.planned(name, options, Some(hook))?;
        Ok(PlannedContent::new(&planned).preview())
    }

    /// Stores a permanent approval for a run of a hook with this title; see
    /// [`approve`](Self::approve).
    ///
    /// # Errors
    /// Same as [`approve`](Self::approve).
    #[doc(hidden)]
    pub fn approve_hook(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: &str,
        shown: &Question,
    ) -> Result<Authorization, RuntimeError> {
        let planned = self.planned(name, options, Some(hook))?;
        PlannedContent::new(&planned).approve(shown)
    }

    fn planned(
        &self,
        name: &str,
        options: &ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<Planned, RuntimeError> {
        let options = options.clone().resolve_paths()?;
        Planned::of_skill(&self.services, name, options, hook)
    }

    /// Records a hook that was rejected before its run was planned. Returns the error if the record
    /// cannot be written.
    #[doc(hidden)]
    pub fn record_rejected_hook(
        &self,
        name: &str,
        program: &str,
        reason: &'static str,
    ) -> Option<RuntimeError> {
        // An agent's event has no caller that is known.
        let context = CallContext::default();
        let mut record = match self.services.config().recorder.begin(name, &context) {
            Ok(record) => record,
            Err(error) => return Some(error),
        };
        record.set_program(program);
        Some(record.fail(Repr::Hook { reason }.into()))
    }
}
