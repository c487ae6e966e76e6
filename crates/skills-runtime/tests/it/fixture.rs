//! Skills in a temporary directory, and a sandbox that records its jobs.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use skills_runtime::policy::{AnswerFuture, Question};
use skills_runtime::{
    Approver, Builder, CancellationToken, CapturedOutput, EnforcementReport, ExecutionOptions,
    Refusals, Root, RunTarget, Sandbox, Scope, Secret, SkillRuntime, Termination, Workspace,
};
use skills_sandbox::{HostConnections, Job, ProgramStreams, RunFuture, RunOutput};
use skills_test_support::SkillTree;

pub(crate) struct Fixture {
    tree: SkillTree,
    pub(crate) sandbox: Arc<Recorder>,
}

impl Deref for Fixture {
    type Target = SkillTree;

    fn deref(&self) -> &SkillTree {
        &self.tree
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self {
            tree: SkillTree::new(""),
            sandbox: Arc::default(),
        }
    }

    pub(crate) fn builder(&self) -> Builder {
        SkillRuntime::builder().root(Root::new(self.path(""), Scope::Repo))
    }

    /// Returns a builder with the recording sandbox.
    pub(crate) fn recording(&self) -> Builder {
        self.builder()
            .wasm_sandbox(self.sandbox.clone())
            .native_sandbox(self.sandbox.clone())
    }
}

/// Short forms to set single options.
pub(crate) trait OptionsExt: Sized {
    fn options(&mut self) -> &mut ExecutionOptions;

    fn input(mut self, input: Value) -> Self {
        self.options().input = input;
        self
    }

    fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.options().timeout_ms = Some(timeout_ms);
        self
    }

    fn script(mut self, script: &str) -> Self {
        self.options().target = RunTarget::Script(script.to_owned());
        self
    }

    fn workspace(mut self, workspace: Workspace) -> Self {
        self.options().workspace = workspace;
        self
    }

    fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.options()
            .env
            .insert(name.to_owned(), Secret::new(value));
        self
    }

    fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        let context = std::mem::take(&mut self.options().context);
        self.options().context = context.approver(approver);
        self
    }

    fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        let context = std::mem::take(&mut self.options().context);
        self.options().context = context.cancellation(cancellation);
        self
    }
}

impl OptionsExt for ExecutionOptions {
    fn options(&mut self) -> &mut ExecutionOptions {
        self
    }
}

/// An approver that never responds.
pub(crate) struct UnresponsiveApprover;

impl Approver for UnresponsiveApprover {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(std::future::pending())
    }
}

/// Records jobs and returns the same output for each.
type Act = Box<dyn Fn(&Job) + Send>;

#[derive(Default)]
pub(crate) struct Recorder {
    /// Side effect of the program, if any.
    pub(crate) act: Mutex<Option<Act>>,
    pub(crate) stderr: Mutex<Vec<u8>>,
    jobs: Mutex<Vec<Job>>,
    pub(crate) stdout: Mutex<Vec<u8>>,
    pub(crate) termination: Mutex<Option<Termination>>,
    pub(crate) refusals: Mutex<Refusals>,
    pub(crate) connections: Mutex<Vec<HostConnections>>,
    pub(crate) connections_omitted: Mutex<u64>,
    pub(crate) read_only_paths: Mutex<Vec<PathBuf>>,
}

impl Recorder {
    pub(crate) fn jobs(&self) -> Vec<Job> {
        self.jobs.lock().unwrap().clone()
    }
}

impl Sandbox for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        // Streams of a run that ended stay open otherwise.
        let kept = job.streams(ProgramStreams::default());
        self.jobs.lock().unwrap().push(kept);
        let mut stdout = CapturedOutput::default();
        stdout.push(&self.stdout.lock().unwrap(), 1_000);
        let mut stderr = CapturedOutput::default();
        stderr.push(&self.stderr.lock().unwrap(), 1_000);
        if let Some(act) = &*self.act.lock().unwrap() {
            act(self.jobs.lock().unwrap().last().unwrap());
        }
        let termination = self
            .termination
            .lock()
            .unwrap()
            .clone()
            .unwrap_or(Termination::Exited { code: 0 });
        let outcome = RunOutput::new(
            termination,
            stdout,
            stderr,
            Duration::ZERO,
            EnforcementReport::new("recorder"),
        )
        .refusals(self.refusals.lock().unwrap().clone())
        .read_only_paths(self.read_only_paths.lock().unwrap().clone())
        .connections(
            self.connections.lock().unwrap().clone(),
            *self.connections_omitted.lock().unwrap(),
        );
        Box::pin(std::future::ready(Ok(outcome)))
    }
}
