//! Tests of `execute_skill` with a sandbox that records its jobs.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use skills_runtime::policy::{
    Access, FileGrant, NewContentPolicy, Permission, RuleSource, SpawnGrant,
};
use skills_runtime::{
    Answer, CancellationToken, Capability, CapturedOutput, EnforcementReport, ExecutionOptions,
    ExecutionStatus, OutputStream, Policy, RunEvent, Sandbox, Termination, Workspace,
};
use skills_sandbox::{Job, RunFuture, RunOutput};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

#[tokio::test]
async fn the_job_has_exactly_what_was_granted() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read, Bash(git:*)\n")
        .file("pdf/scripts/run.py", "");
    let runtime = fixture
        .recording()
        .policy(
            Policy::default()
                .allow(RuleSource::User, Capability::Spawn)
                .with_new_content(NewContentPolicy::Allow),
        )
        .build();
    let mut options = ExecutionOptions::default()
        .input(json!({"a": 1}))
        .timeout_ms(1_500);
    options.args = vec!["--x".to_owned(), "y z".to_owned()];
    options.memory_bytes = Some(256 << 20);
    let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
    assert_eq!(artifacts.permissions_used, ["Read", "Bash(git:*)"]);
    let [job] = fixture.sandbox.jobs().try_into().unwrap();
    let root = fixture.path("").display().to_string();
    let copy = job.grants().files()[0].location().display().to_string();
    assert_snapshot!(
        format!("{job:#?}")
            .replace(root.trim_end_matches('/'), "ROOT")
            .replace(&copy, "COPY")
    );
}

#[tokio::test]
async fn without_an_approver_only_what_the_caller_asks_for_denies_a_run() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: [Read, Write, \"Bash(rm:*)\"]\n")
        .file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    let artifacts = runtime
        .execute_skill("pdf", ExecutionOptions::default())
        .await
        .unwrap();
    assert!(artifacts.exit_status.is_success());
    let decisions = artifacts.decisions.iter().map(ToString::to_string);
    assert_snapshot!(decisions.collect::<Vec<_>>().join("\n"), @"omitted, no rule allows it: spawn `rm` (requested by `Bash(rm:*)`)");
    let job = fixture.sandbox.jobs().pop().unwrap();
    assert_eq!(*job.grants().spawn(), SpawnGrant::None);
    let options = ExecutionOptions {
        hosts: vec!["example.org".parse().unwrap()],
        ..ExecutionOptions::default()
    };
    let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
    let ExecutionStatus::PermissionDenied { denial } = &artifacts.exit_status else {
        panic!("{:?}", artifacts.exit_status)
    };
    assert_snapshot!(denial, @"permission denied: connect to `example.org` (requested by the caller): the `allowed-tools` of the skill do not include it");
    assert_eq!(fixture.sandbox.jobs().len(), 1);
    let options = ExecutionOptions {
        dropped_capabilities: vec![Capability::Write, Capability::Spawn],
        ..ExecutionOptions::default()
    };
    let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
    assert!(artifacts.exit_status.is_success());
    assert_eq!(artifacts.permissions_used, ["Read"]);
}

#[tokio::test]
async fn a_workspace_gives_write_permissions_an_effect() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read, Write\n")
        .file("pdf/scripts/run.py", "")
        .file("work/in.txt", "");
    let runtime = fixture
        .recording()
        .policy(Policy::default().allow(RuleSource::Invocation, Capability::Write))
        .build();
    let without = runtime
        .execute_skill("pdf", ExecutionOptions::default())
        .await
        .unwrap();
    assert_eq!(without.permissions_used, ["Read"]);
    let options = ExecutionOptions {
        workspace: Workspace::Directory(fixture.path("work")),
        ..ExecutionOptions::default()
    };
    assert_eq!(
        runtime
            .execute_skill("pdf", options)
            .await
            .unwrap()
            .permissions_used,
        ["Read", "Write"]
    );
    let grants = fixture.sandbox.jobs().pop().unwrap().grants().clone();
    assert_eq!(grants.files()[1].path(), fixture.path("work"));
}

/// A workspace that is the skill would let it change its own instructions, with any spelling of the
/// path. In a workspace around it the skill stays read-only.
#[tokio::test]
async fn no_spelling_of_a_workspace_makes_the_skill_writable() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Write\n")
        .file("pdf/scripts/run.py", "")
        .file("work/in.txt", "");
    std::os::unix::fs::symlink(fixture.path(""), fixture.path("work/up")).unwrap();
    let runtime = fixture
        .recording()
        .policy(Policy::default().allow(RuleSource::Invocation, Capability::Write))
        .build();
    for spelling in ["work/..", "pdf/../pdf", "work/up"] {
        let options = ExecutionOptions {
            workspace: Workspace::Directory(fixture.path(spelling)),
            ..ExecutionOptions::default()
        };
        let status = runtime
            .execute_skill("pdf", options)
            .await
            .unwrap()
            .exit_status;
        let job = fixture.sandbox.jobs().pop();
        if spelling == "pdf/../pdf" {
            assert!(status.is_success(), "{spelling}: {status:?}");
            let files = job.unwrap().grants().files().to_owned();
            let mut accesses = files.iter().map(FileGrant::access);
            assert!(
                accesses.all(|access| access == Access::ReadOnly),
                "{files:?}"
            );
        } else {
            let job = job.unwrap();
            let skill = fixture.path("pdf");
            assert_eq!(job.grants().skill_in_writable(), Some(skill.as_path()));
            assert!(job.grants().protected().contains(&skill), "{spelling}");
        }
    }
    assert_eq!(fixture.sandbox.jobs().len(), 3);
}

#[tokio::test]
async fn the_current_file_determines_the_request() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    assert!(
        runtime
            .execute_skill("pdf", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    fixture.skill("pdf", "allowed-tools: Bash\n");
    let artifacts = runtime
        .execute_skill("pdf", ExecutionOptions::default())
        .await
        .unwrap();
    let decision = &artifacts.decisions[0];
    assert_eq!(decision.permission(), &Permission::AnyProgram);
}

#[tokio::test]
async fn output_is_json_if_all_of_it_is_json() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    for (stdout, expected) in [
        ("", Value::Null),
        ("{\"a\": 1}\n", json!({"a": 1})),
        ("a\n{}", json!("a\n{}")),
        ("{\"a\"", json!("{\"a\"")),
    ] {
        *fixture.sandbox.stdout.lock().unwrap() = stdout.as_bytes().to_vec();
        let artifacts = runtime
            .execute_skill("pdf", ExecutionOptions::default())
            .await
            .unwrap();
        assert_eq!(artifacts.output, expected);
    }
}

#[tokio::test]
async fn truncated_output_is_text_even_if_its_head_is_json() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    *fixture.sandbox.stdout.lock().unwrap() =
        format!("{{}}{}garbage", " ".repeat(2_000)).into_bytes();
    assert!(
        runtime
            .execute_skill("pdf", ExecutionOptions::default())
            .await
            .unwrap()
            .output
            .is_string()
    );
}

#[tokio::test]
async fn terminations_become_statuses() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    let failed = |termination: Termination| ExecutionStatus::Failed { termination };
    let (code, memory) = (
        Termination::Exited { code: 3 },
        Termination::MemoryLimit { limit_bytes: 1 },
    );
    let timeout = (
        Termination::TimedOut { limit_ms: 5 },
        ExecutionStatus::Timeout { limit_ms: 5 },
    );
    for (termination, status) in [
        (code.clone(), failed(code)),
        (memory.clone(), failed(memory)),
        timeout,
    ] {
        *fixture.sandbox.termination.lock().unwrap() = Some(termination);
        assert_eq!(
            runtime
                .execute_skill("pdf", ExecutionOptions::default())
                .await
                .unwrap()
                .exit_status,
            status
        );
    }
}

#[tokio::test]
async fn long_input_is_passed_on_standard_input_only() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture.recording().build();
    for (length, in_variable) in [(131_056, true), (131_057, false)] {
        let options = ExecutionOptions::default().input(json!("x".repeat(length)));
        let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
        assert_eq!(
            artifacts
                .notes
                .iter()
                .any(|note| note.contains("SKILL_INPUT")),
            !in_variable,
            "{:?}",
            artifacts.notes
        );
        let job = fixture.sandbox.jobs().pop().unwrap();
        assert_eq!(job.stdin_bytes().len(), length + 2);
        assert_eq!(
            job.envs().any(|(name, _)| name == "SKILL_INPUT"),
            in_variable,
            "{length}"
        );
    }
}

/// A sandbox whose program writes a secret in two pieces, and ends when it is asked to.
struct Leaky;

impl Sandbox for Leaky {
    fn name(&self) -> &'static str {
        "leaky"
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        Box::pin(async move {
            let events = job.program_streams().events.clone().unwrap();
            for piece in ["key hunter2", "-hunter2 end hunt"] {
                let sent = events.output(OutputStream::Stdout, piece.into()).await;
                sent.unwrap();
            }
            let cancellation = job.cancellation_token().unwrap();
            cancellation.cancelled().await;
            assert!(cancellation.grace() > Duration::from_secs(5));
            Ok(RunOutput::new(
                Termination::HostPanic {
                    message: "at hunter2-hunter2".to_owned(),
                },
                CapturedOutput::default(),
                CapturedOutput::default(),
                Duration::ZERO,
                EnforcementReport::new("leaky"),
            ))
        })
    }
}

/// A sandbox whose program never ends, and that tells when its run is dropped.
struct Endless(tokio::sync::mpsc::UnboundedSender<()>);

struct TellsDrop(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for TellsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Sandbox for Endless {
    fn name(&self) -> &'static str {
        "endless"
    }

    fn run(&self, _job: Job) -> RunFuture<'_> {
        let guard = TellsDrop(self.0.clone());
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(guard);
            unreachable!("it never ends")
        })
    }
}

#[tokio::test]
async fn events_are_complete_and_redacted() {
    let fixture = Fixture::new();
    fixture.skill("one", "").script("one", "main.py", "");
    let runtime = fixture.builder().native_sandbox(Arc::new(Leaky)).build();
    let mut options = ExecutionOptions::default().env("KEY", "hunter2-hunter2");
    let of_session = CancellationToken::new();
    let context = options.context.cancellation(of_session.clone());
    options.context = context.approver(Arc::new(Answer::AllowOnce));
    let mut run = runtime.executor().start("one", options);
    let mut shown = String::new();
    while let Some(event) = run.next_event().await {
        match event {
            RunEvent::Started => shown += "started: ",
            RunEvent::Output { stream, bytes } => {
                assert_eq!(stream, OutputStream::Stdout);
                shown += std::str::from_utf8(&bytes).unwrap();
                run.cancel(Duration::from_secs(7));
            }
            RunEvent::Finished(termination) => shown += &format!(" ({termination})"),
            event => panic!("{event:?}"),
        }
    }
    // The program was stopped, perhaps in the middle of the value.
    assert_eq!(
        shown,
        "started: key [redacted KEY] end [redacted KEY] (stopped because the host panicked: at [redacted KEY])"
    );
    let artifacts = run.outcome().await.unwrap();
    assert!(!artifacts.exit_status.is_success());
    // The token of the caller can be that of other runs.
    assert!(!of_session.is_cancelled());
}

#[tokio::test]
async fn a_cancelled_caller_cancels_its_run_with_the_same_grace() {
    let fixture = Fixture::new();
    fixture.skill("one", "").script("one", "main.py", "");
    let runtime = fixture.builder().native_sandbox(Arc::new(Leaky)).build();
    let of_session = CancellationToken::new();
    let mut options = ExecutionOptions::default();
    options.context = options.context.cancellation(of_session.clone());
    let mut run = runtime.executor().start("one", options);
    assert_eq!(run.next_event().await, Some(RunEvent::Started));
    of_session.cancel_after(Duration::from_secs(7));
    assert!(!run.outcome().await.unwrap().exit_status.is_success());
}

#[tokio::test]
async fn a_dropped_handle_ends_its_run() {
    let fixture = Fixture::new();
    fixture.skill("one", "").script("one", "main.py", "");
    let (dropped, mut of_test) = tokio::sync::mpsc::unbounded_channel();
    let endless = Arc::new(Endless(dropped));
    let runtime = fixture.builder().native_sandbox(endless).build();
    let executor = runtime.executor();
    let mut run = executor.start("one", ExecutionOptions::default());
    assert_eq!(run.next_event().await, Some(RunEvent::Started));
    drop(run);
    of_test.recv().await.unwrap();
}
