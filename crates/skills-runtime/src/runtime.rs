//! The entry point of this crate.

use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::{Root, Scope};
use skills_policy::{Approver, Authorization, Policy, Question};

use crate::session::{approve_hook, preview_hooks, run_hooks};
use crate::{
    AgentEvent, Builder, ExecutionArtifacts, ExecutionOptions, Executor, HookOptions, HookPreview,
    HookReport, Library, LoadedSkill, PromptRenderer, RuntimeError, SkillDescriptor, SkillSession,
};

/// Discovers, loads and runs skills.
///
/// The runtime has three parts: a [library](Self::library) of skills, a
/// [prompt renderer](Self::prompt) for models, and an [executor](Self::executor) for programs. The
/// methods here cover most uses; each part has more. It is `Send + Sync` and cheap
/// to clone; clones share the catalog, the backends and the approvals of sessions. Runs need a
/// Tokio runtime, everything else is synchronous and reads the file system.
///
/// ```
/// use skills_runtime::SkillRuntime;
///
/// # let directory = tempfile::tempdir()?;
/// let runtime = SkillRuntime::from_directory(directory.path());
/// assert!(runtime.discover_skills().is_empty());
///
/// std::fs::create_dir(directory.path().join("greet"))?;
/// std::fs::write(
///     directory.path().join("greet/SKILL.md"),
///     "---\nname: greet\ndescription: Says hello.\n---\nHi\n",
/// )?;
/// let library = runtime.library();
/// assert!(library.catalog().entries().is_empty(), "the last scan is cached");
/// assert_eq!(library.refresh().entries().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SkillRuntime {
    prompt: PromptRenderer,
    executor: Executor,
}

impl Default for SkillRuntime {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl SkillRuntime {
    /// Creates a runtime with the defaults of [`Builder`] and without roots: it has no skills, and
    /// runs host commands only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a runtime for the trusted skills in `directory`, with the defaults of [`Builder`].
    ///
    /// ```
    /// use skills_runtime::SkillRuntime;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::from_directory(directory.path());
    /// assert_eq!(runtime.discover_skills()[0].id, "greet");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_directory(directory: impl Into<PathBuf>) -> Self {
        Self::builder()
            .root(Root::new(directory, Scope::Custom))
            .build()
    }

    /// Returns a builder with default configuration.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn from_parts(library: Library, executor: Executor) -> Self {
        Self {
            prompt: PromptRenderer::new(library),
            executor,
        }
    }

    /// Returns a runtime with another policy that shares everything else: skills, backends, permits
    /// and the approvals of sessions. For callers whose directories differ, such as the clients of a
    /// server.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self {
            prompt: self.prompt.clone(),
            executor: self.executor.with_policy(policy),
        }
    }

    /// Returns the skills: catalog, generations, requirements.
    #[must_use]
    pub fn library(&self) -> &Library {
        self.executor.library()
    }

    /// Returns the renderer of what a model sees: skills section, mentions, injections.
    #[must_use]
    pub fn prompt(&self) -> &PromptRenderer {
        &self.prompt
    }

    /// Returns the executor: runs, previews, approvals, backends.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Scans the roots and lists the active skills, in the order of the catalog. Inactive and
    /// skipped entries are in the [catalog](Library::catalog); a skill that cannot be parsed never
    /// hides the others.
    ///
    /// ```
    /// use skills_runtime::SkillRuntime;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::from_directory(directory.path());
    /// std::fs::create_dir(directory.path().join("broken"))?;
    /// std::fs::write(directory.path().join("broken/SKILL.md"), "no frontmatter")?;
    /// let skills = runtime.discover_skills();
    /// assert_eq!(skills.len(), 1);
    /// assert_eq!((skills[0].id.as_str(), skills[0].description.as_str()), ("greet", "Says hello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.library().discover_skills()
    }

    /// Reads a skill's instructions and lists its files. `name` is the name or the directory of the
    /// skill; a directory selects one of several skills of the same name. The current file is read,
    /// which can differ from the one of the scan.
    ///
    /// ```
    /// use skills_runtime::{ErrorKind, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::from_directory(directory.path());
    /// let skill = runtime.get_skill("greet")?;
    /// assert_eq!(skill.manifest.description(), "Says hello.");
    /// assert_eq!(skill.instructions, "Hi\n");
    ///
    /// let error = runtime.get_skill("gret").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownSkill);
    /// assert_eq!(error.suggestions(), ["greet"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the skill is not found, ambiguous or inactive, or if its files cannot be read.
    pub fn get_skill(&self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        Ok(self.library().get_skill(name)?)
    }

    /// Runs a skill's program in a sandbox.
    ///
    /// A program that fails, is killed or is denied is returned as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called in a Tokio runtime with
    /// time and I/O enabled. Dropping the future kills the program. With an [audit
    /// log](crate::Builder::audit), each call writes exactly one record.
    ///
    /// The program of this example runs in a backend for tests, which returns its input. Without
    /// [`native_sandbox`](crate::Builder::native_sandbox) it runs in the backend of the system.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use serde_json::json;
    /// use skills_runtime::{ExecutionOptions, ExecutionStatus, HostCommand, Root, RunTarget, Scope};
    /// use skills_runtime::SkillRuntime;
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
    ///     .root(Root::new(directory.path(), Scope::User))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let options = ExecutionOptions {
    ///     input: json!({"name": "Ada"}),
    ///     timeout_ms: Some(5_000),
    ///     ..ExecutionOptions::default()
    /// };
    /// let artifacts = runtime.execute_skill("greet", options.clone()).await?;
    /// assert!(artifacts.exit_status.is_success());
    /// assert_eq!(artifacts.output, json!({"name": "Ada"}));
    ///
    /// // Rules do not allow this command and there is no approver: the result is a denial, not an error.
    /// let target = RunTarget::Command(HostCommand::Program("git".to_owned()));
    /// let options = ExecutionOptions { target, ..options };
    /// let artifacts = runtime.execute_skill("greet", options).await?;
    /// assert!(matches!(artifacts.exit_status, ExecutionStatus::PermissionDenied { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the skill or its program is not found, if a declared restriction cannot be parsed,
    /// if requirements are missing, if no sandbox is available, or if the skill changed after it
    /// was authorized; then nothing ran. Also fails if the audit record cannot be written, in which
    /// case the error can have the [artifacts](RuntimeError::artifacts).
    pub async fn execute_skill(
        &self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.executor.execute(name, options).await
    }

    /// Starts a session of a skill. `approver` replaces the approver of the runtime for its
    /// programs and hooks.
    ///
    /// # Errors
    /// Same as [`get_skill`](Self::get_skill); also fails if a declared restriction cannot be
    /// parsed.
    pub fn start_session(
        &self,
        name: &str,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<SkillSession, RuntimeError> {
        SkillSession::start(&self.executor, name, approver)
    }

    /// Runs the hooks of a skill for an event, one after another, until one blocks.
    ///
    /// A command must be a script of the skill with plain arguments. It is never passed to a shell,
    /// and runs in the skill directory. It receives the event as JSON on standard input, with the
    /// field names of Claude Code (`hook_event_name`, `tool_name`, `tool_input`, `tool_response`).
    /// It blocks with exit code 2 and the reason on standard error, or with exit code 0 and JSON:
    /// `{"decision": "block", "reason": …}`, `{"continue": false, "stopReason": …}`, or
    /// `hookSpecificOutput.permissionDecision` of `deny` or `ask`.
    ///
    /// A hook runs only if it was approved for this content digest; rules cannot allow hooks. A
    /// hook before a tool use blocks the tool if it is not approved, cannot run, fails or times
    /// out, because it might have blocked it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use serde_json::json;
    /// use skills_runtime::{AgentEvent, Answer, CallContext, HookDecision, HookOptions};
    /// use skills_runtime::{Root, Scope, SkillRuntime};
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
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\nhooks: {PreToolUse: [{matcher: Edit, command: scripts/greet.sh}]}\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// // The frontmatter of the skill: `hooks: {PreToolUse: [{matcher: Edit, command: scripts/greet.sh}]}`
    /// let runtime = SkillRuntime::builder()
    ///     .root(Root::new(directory.path(), Scope::User))
    ///     .native_sandbox(Arc::new(Echo))
    ///     .build();
    /// let edit = AgentEvent::PreToolUse { tool: "Edit".to_owned(), input: json!({"file": "a.txt"}) };
    ///
    /// // A hook that is not approved cannot run, so it blocks the tool that it guards.
    /// let report = runtime.run_hooks("greet", &edit, &HookOptions::default()).await?;
    /// assert!(matches!(report.decision, HookDecision::Block { .. }));
    ///
    /// let approver = Arc::new(Answer::AllowOnce);
    /// let mut options = HookOptions::default();
    /// options.execution.context = CallContext::default().approver(approver);
    /// let report = runtime.run_hooks("greet", &edit, &options).await?;
    /// assert_eq!((report.decision, report.runs.len()), (HookDecision::Continue, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the skill is not found or declares a restriction that cannot be parsed.
    pub async fn run_hooks(
        &self,
        name: &str,
        event: &AgentEvent,
        options: &HookOptions,
    ) -> Result<HookReport, RuntimeError> {
        run_hooks(&self.executor, name, event, options).await
    }

    /// Previews the hooks of a skill, in the order of their declaration, without asking an approver
    /// or running anything. Hooks with the same event and command are listed once.
    ///
    /// # Errors
    /// Same as [`run_hooks`](Self::run_hooks).
    pub fn preview_hooks(
        &self,
        name: &str,
        options: &HookOptions,
    ) -> Result<Vec<HookPreview>, RuntimeError> {
        preview_hooks(&self.executor, name, options)
    }

    /// Stores a permanent approval of a hook for exactly the request that was shown; see
    /// [`Executor::approve`]. The requests of the other hooks change with it, so preview them again.
    ///
    /// # Errors
    /// Same as [`Executor::approve`].
    pub fn approve_hook(
        &self,
        name: &str,
        hook: &HookPreview,
        shown: &Question,
    ) -> Result<Authorization, RuntimeError> {
        approve_hook(&self.executor, name, hook, shown)
    }
}
