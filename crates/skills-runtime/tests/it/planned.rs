//! Tests of runs that are planned before they start.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skills_runtime::audit::{AuditError, AuditSink, Disposition, Event};
use skills_runtime::{
    AgentEvent, Answer, CapturedOutput, DeclaredHooks, EnforcementReport, ErrorKind,
    ExecutionOptions, HookDecision, HookOptions, RuntimeError, Sandbox, SandboxChoice, ScriptType,
    SkillRuntime, Termination, Workspace,
};
use skills_sandbox::{Job, RunFuture, RunOutput};

use crate::fixture::{Fixture, OptionsExt as _};

/// Keeps records, unless it cannot be written.
#[derive(Default)]
struct Log {
    events: Mutex<Vec<Event>>,
    is_full: bool,
}

impl AuditSink for Log {
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.events.lock().unwrap().push(event.clone());
        Ok(())
    }

    fn check_writable(&self) -> Result<(), AuditError> {
        let full = || AuditError::other(std::io::Error::other("full"));
        if self.is_full { Err(full()) } else { Ok(()) }
    }
}

impl Log {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

/// Ends each program at once. In contrast to the recorder it keeps no job, and with it no events.
struct Ended;

impl Sandbox for Ended {
    fn name(&self) -> &'static str {
        "ended"
    }

    fn run(&self, _: Job) -> RunFuture<'_> {
        let (out, err) = (CapturedOutput::default(), CapturedOutput::default());
        let report = EnforcementReport::new("ended");
        let exited = Termination::Exited { code: 0 };
        let output = RunOutput::new(exited, out, err, Duration::ZERO, report);
        Box::pin(std::future::ready(Ok(output)))
    }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("one", "").script("one", "main.sh", "true");
    fixture
}

fn kind<T>(result: Result<T, RuntimeError>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[tokio::test]
async fn a_plan_leaves_no_record_until_it_starts() {
    let fixture = fixture();
    let log = Arc::<Log>::default();
    let builder = fixture.builder().native_sandbox(Arc::new(Ended));
    let runtime = builder.audit(log.clone()).build();
    let executor = runtime.executor();
    let plan = || executor.plan("one", ExecutionOptions::default()).unwrap();
    assert_eq!(plan().mode().program(), "scripts/main.sh");
    assert_eq!(log.take().len(), 0);

    let executed = plan().execute().await.unwrap();
    let started = plan().start().outcome().await.unwrap();
    assert!(executed.exit_status.is_success() && started.exit_status.is_success());
    let events = log.take();
    assert_eq!(events.len(), 2);
    for event in events {
        let program = event.program.as_deref();
        assert_eq!(
            (event.skill.as_str(), program),
            ("one", Some("scripts/main.sh"))
        );
        assert_eq!(event.disposition, Disposition::Granted);
        assert!(event.digest.is_some());
    }

    // An error while planning is a failed attempt; a preview is not an attempt.
    let unknown = || ExecutionOptions::default().script("other.sh");
    assert_eq!(
        kind(executor.preview("one", &unknown())),
        Some(ErrorKind::UnknownProgram)
    );
    assert_eq!(log.take().len(), 0);
    let missing = Workspace::Directory(fixture.path("missing"));
    for (skill, options) in [
        ("one", unknown()),
        ("two", ExecutionOptions::default()),
        ("one", ExecutionOptions::default().workspace(missing)),
    ] {
        assert!(executor.plan(skill, options).is_err());
        let [event] = log.take().try_into().unwrap();
        assert_eq!(
            (event.skill.as_str(), event.disposition),
            (skill, Disposition::Failed)
        );
    }
}

#[tokio::test]
async fn without_a_log_that_can_be_written_no_plan_runs() {
    let fixture = fixture();
    let log = Log {
        is_full: true,
        ..Log::default()
    };
    let runtime = fixture.recording().audit(Arc::new(log)).build();
    let executor = runtime.executor();
    let plan = |skill| executor.plan(skill, ExecutionOptions::default());
    let audit = Some(ErrorKind::Audit);
    assert_eq!(kind(plan("one").unwrap().execute().await), audit);
    assert_eq!(kind(plan("one").unwrap().start().outcome().await), audit);
    assert_eq!(kind(plan("two")), audit);
    assert!(fixture.sandbox.jobs().is_empty());
}

/// Plans a run, changes a file of the skill, and runs what was planned, with and without a log.
async fn run_after_change(file: &str, text: &str) -> [Option<ErrorKind>; 2] {
    let mut results = [None; 2];
    for (result, has_log) in results.iter_mut().zip([true, false]) {
        let fixture = fixture();
        let mut builder = fixture.recording();
        let log = Arc::<Log>::default();
        if has_log {
            builder = builder.audit(log.clone());
        }
        let runtime = builder.build();
        let planned = runtime.executor().plan("one", ExecutionOptions::default());
        fixture.file(&format!("one/{file}"), text);
        *result = kind(planned.unwrap().execute().await);
        let is_run = result.is_none();
        assert_eq!(fixture.sandbox.jobs().len(), usize::from(is_run));
        if has_log {
            let [event] = log.take().try_into().unwrap();
            assert_eq!(event.disposition == Disposition::Granted, is_run);
            let current = runtime.executor();
            let current = current.preview("one", &ExecutionOptions::default());
            assert_eq!(event.digest.is_some(), is_run);
            assert!(!is_run || event.digest == current.unwrap().digest);
        }
    }
    results
}

#[tokio::test]
async fn what_a_plan_requested_must_still_be_requested_when_it_starts() {
    let changed = [Some(ErrorKind::ContentChanged); 2];
    let document = "---\nname: one\ndescription: d\nallowed-tools: Read\n---\n";
    assert_eq!(run_after_change("SKILL.md", document).await, changed);
    let metadata = "dependencies:\n  tools:\n    - {type: env_var, value: API_KEY}\n";
    let file = "agents/openai.yaml";
    assert_eq!(run_after_change(file, metadata).await, changed);
}

/// The content is that of the start, and so is its digest.
#[tokio::test]
async fn the_content_of_a_planned_run_is_read_when_it_starts() {
    assert_eq!(
        run_after_change("scripts/main.sh", "false").await,
        [None; 2]
    );
    let body = "---\nname: one\ndescription: About one.\n---\n# Another text\n";
    assert_eq!(run_after_change("SKILL.md", body).await, [None; 2]);
}

#[tokio::test]
async fn paths_are_checked_when_a_planned_run_starts() {
    let fixture = fixture();
    fixture.file("work/a.txt", "").file("other/a.txt", "");
    let link = fixture.path("link");
    symlink(fixture.path("other/a.txt"), &link).unwrap();
    let runtime = fixture.recording().protect([&link]).build();
    let plan = || {
        let workspace = Workspace::Directory(fixture.path("work"));
        let options = ExecutionOptions::default().workspace(workspace);
        runtime.executor().plan("one", options).unwrap()
    };
    // What a protected symlink leads to is that of the start.
    let planned = plan();
    fs::remove_file(&link).unwrap();
    symlink(fixture.path("work/a.txt"), &link).unwrap();
    let _ = planned.execute().await.unwrap();
    let job = fixture.sandbox.jobs().pop().unwrap();
    let protected = job.grants().protected();
    assert!(protected.contains(&fixture.path("work/a.txt")));

    let planned = plan();
    fs::rename(fixture.path("work"), fixture.path("moved")).unwrap();
    symlink(fixture.path("other"), fixture.path("work")).unwrap();
    assert!(planned.execute().await.is_err());
    assert_eq!(fixture.sandbox.jobs().len(), 1);
}

#[tokio::test]
async fn a_preview_is_made_of_the_plan() {
    let fixture = fixture();
    let runtime = fixture.recording().build();
    let options = ExecutionOptions::default();
    let planned = runtime.executor().plan("one", options.clone()).unwrap();
    let preview = runtime.executor().preview("one", &options).unwrap();
    assert_eq!(format!("{:?}", planned.preview()), format!("{preview:?}"));
}

fn guarded() -> (Fixture, SkillRuntime) {
    let fixture = Fixture::new();
    let hooks = "hooks: {PreToolUse: [{command: scripts/check.py}]}\n";
    fixture
        .skill("one", hooks)
        .script("one", "main.py", "")
        .script("one", "check.py", "");
    let runtime = fixture
        .recording()
        .container_sandbox(fixture.sandbox.clone())
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    (fixture, runtime)
}

#[tokio::test]
async fn hooks_and_program_of_a_plan_have_its_interpreter() {
    let (fixture, runtime) = guarded();
    let python = fixture.path("venv/bin/python");
    for sandbox in [SandboxChoice::Auto, SandboxChoice::Container] {
        let options = ExecutionOptions {
            sandbox,
            ..ExecutionOptions::default().script("main.py")
        };
        let planned = runtime.executor().plan("one", options).unwrap();
        let planned = planned.with_interpreter(ScriptType::Python, &python);
        let mut options = HookOptions::default();
        options.execution.sandbox = sandbox;
        let event = AgentEvent::PreToolUse {
            tool: "Bash".to_owned(),
            input: serde_json::Value::Null,
        };
        let report = DeclaredHooks::of_run(&planned).run(&event, &options).await;
        assert_eq!(report.decision, HookDecision::Continue);
        let _ = planned.execute().await.unwrap();
    }
    let jobs = fixture.sandbox.jobs();
    let chosen = jobs
        .iter()
        .map(|job| job.interpreters().get(&ScriptType::Python));
    let expected = [Some(&python), Some(&python), None, None];
    assert!(chosen.eq(expected), "an image has its own interpreters");
    // The plan of another run has the configured ones.
    let options = ExecutionOptions::default().script("main.py");
    let planned = runtime.executor().plan("one", options).unwrap();
    let _ = planned.execute().await.unwrap();
    assert!(fixture.sandbox.jobs()[4].interpreters().is_empty());
}

/// A hook guards what was planned, also if the skill does not declare it any more.
#[tokio::test]
async fn the_hooks_of_a_plan_are_those_that_it_read() {
    let (fixture, runtime) = guarded();
    let options = ExecutionOptions::default().script("main.py");
    let planned = runtime.executor().plan("one", options).unwrap();
    fixture.skill("one", "");
    let event = AgentEvent::PreToolUse {
        tool: "Bash".to_owned(),
        input: serde_json::Value::Null,
    };
    let hooks = DeclaredHooks::of_run(&planned);
    let report = hooks.run(&event, &HookOptions::default()).await;
    assert_eq!(report.runs.len(), 1);
    assert_eq!(
        kind(planned.execute().await),
        Some(ErrorKind::ContentChanged)
    );
}
