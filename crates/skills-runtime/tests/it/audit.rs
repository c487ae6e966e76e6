//! Tests of audit records.

use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use serde_json::json;
use skills_runtime::audit::{
    AuditError, AuditLog, AuditSink, Disposition, Event, Line, is_unfinished, tail, verify,
};
use skills_runtime::policy::FileGrant;
use skills_runtime::{
    Answer, CallContext, ErrorKind, Evidence, ExecutionOptions, Refusal, Refusals,
    RefusedOperation, Secrets, Termination, Workspace,
};
use skills_sandbox::HostConnections;

use crate::fixture::{Fixture, OptionsExt as _, UnresponsiveApprover};

#[derive(Default)]
struct Memory(Mutex<Vec<Event>>);

impl AuditSink for Memory {
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

impl Memory {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn a_record_is_complete_and_has_no_secrets() {
    let fixture = Fixture::new();
    fixture
        .skill(
            "deploy",
            "allowed-tools: Read, Bash(git:*)\nrequires: {env: [API_KEY]}\n",
        )
        .file("deploy/scripts/run.sh", "");
    let sink = Arc::new(Memory::default());
    *fixture.sandbox.stdout.lock().unwrap() = b"the key is hunter2hunter2".to_vec();
    *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Trapped {
        reason: "hunter2hunter2".to_owned(),
        frames: vec!["hunter2hunter2".to_owned()],
    });
    let secrets = Secrets::default().with("API_KEY", "hunter2hunter2");
    let runtime = fixture
        .recording()
        .secrets(secrets)
        .approver(Arc::new(Answer::AllowOnce))
        .audit(sink.clone())
        .clock(|| UNIX_EPOCH + Duration::from_secs(1))
        .build();
    let mut options = ExecutionOptions::default().input(json!({"a": 1}));
    options.memory_bytes = Some(256 << 20);
    let artifacts = runtime.execute_skill("deploy", options).await.unwrap();
    assert_eq!(artifacts.output, "the key is [redacted API_KEY]");
    let [mut event] = sink.take().try_into().unwrap();
    event.duration_ms = Some(1);
    event.digest = event.digest.map(|digest| format!("{} bytes", digest.len()));
    assert!(!serde_json::to_string(&event).unwrap().contains("hunter2"));
    insta::assert_json_snapshot!(event);
}

#[tokio::test]
async fn a_record_says_who_called_and_what_was_tried() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {env: [API_KEY]}\n")
        .file("deploy/scripts/run.sh", "");
    let sink = Arc::new(Memory::default());
    let mut refusals = Refusals::default();
    refusals.add_connections(Some("hunter2hunter2.evil.example".to_owned()), 3);
    let program = RefusedOperation::StartProgram {
        name: "git\u{1b}[2J".to_owned(),
    };
    refusals.add(Refusal::new(program, Evidence::ProgramOutput));
    for number in 0..20 {
        let path = format!("/{number}");
        refusals.add(Refusal::new(
            RefusedOperation::Read { path },
            Evidence::Kernel,
        ));
    }
    *fixture.sandbox.refusals.lock().unwrap() = refusals;
    *fixture.sandbox.connections.lock().unwrap() = vec![HostConnections {
        host: "hunter2hunter2.good.example".to_owned(),
        count: 2,
    }];
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(|job| {
        let files = job.grants().files();
        let is_workspace = |file: &&FileGrant| file.guest_path() == "/workspace";
        let workspace = files.iter().find(is_workspace).unwrap().path();
        for number in 0..900 {
            let name = format!("{number:03}-{}", "n".repeat(60));
            std::fs::write(workspace.join(name), "").unwrap();
        }
    }));
    let runtime = fixture.recording().audit(sink.clone()).build();
    let mut options = ExecutionOptions::default()
        .env("API_KEY", "hunter2hunter2")
        .workspace(Workspace::Private(Vec::new()));
    options.context = CallContext::default()
        .client("editor\n", "1.2")
        .principal("alice")
        .session("secret-session");
    let _ = runtime.execute_skill("deploy", options).await.unwrap();
    let [event] = sink.take().try_into().unwrap();
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(event.hosts_omitted, 0);
    assert!(!text.contains("hunter2") && !text.contains("secret-session"));
    let changed = event.changed_files.unwrap();
    assert_eq!(changed.count, 900);
    assert!((30..80).contains(&changed.paths.len()), "{changed:?}");
    assert_eq!(event.refused_omitted, 14);
    insta::assert_json_snapshot!((event.caller, event.hosts, &event.refused[..3]));
}

/// What does not fit into a record is counted there.
#[tokio::test]
async fn a_record_says_how_much_it_omits() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "")
        .file("deploy/scripts/run.sh", "");
    let sink = Arc::new(Memory::default());
    *fixture.sandbox.connections.lock().unwrap() = (0..20)
        .map(|number| HostConnections {
            host: format!("h{number}.example"),
            count: 2,
        })
        .collect();
    *fixture.sandbox.connections_omitted.lock().unwrap() = 5;
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(|job| {
        let files = job.grants().files();
        let is_workspace = |file: &&FileGrant| file.guest_path() == "/workspace";
        let workspace = files.iter().find(is_workspace).unwrap().path();
        for number in 0..1_010 {
            std::fs::write(workspace.join(number.to_string()), "").unwrap();
        }
    }));
    let runtime = fixture.recording().audit(sink.clone()).build();
    let options = ExecutionOptions::default().workspace(Workspace::Private(Vec::new()));
    let artifacts = runtime.execute_skill("deploy", options).await.unwrap();
    assert_eq!(artifacts.output_files.files.len(), 1_000);
    let [event] = sink.take().try_into().unwrap();
    assert_eq!((event.hosts.len(), event.hosts_omitted), (16, 13));
    assert_eq!(event.changed_files.unwrap().count, 1_010);
}

/// A host that is killed writes no end, so the start is on disk before the program runs.
#[tokio::test]
async fn the_start_is_recorded_before_the_program_runs() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "")
        .file("deploy/scripts/run.sh", "");
    let log = Arc::new(AuditLog::open(fixture.path("audit.jsonl")).unwrap());
    let during = Arc::new(Mutex::new(Vec::new()));
    let (files, seen) = (log.files().unwrap(), Arc::clone(&during));
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |_| {
        *seen.lock().unwrap() = tail(&files, 10).unwrap();
    }));
    let runtime = fixture.recording().audit(log.clone()).build();
    let _ = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap();
    let during = during.lock().unwrap();
    let [
        Line::Record {
            sequence, event, ..
        },
    ] = &during[..]
    else {
        panic!("{during:?}")
    };
    assert_eq!(event.disposition, Disposition::Started);
    assert_eq!(event.program.as_deref(), Some("scripts/run.sh"));
    assert!(event.limits.contains_key("wall_time_ms") && event.input.is_some());
    assert!(is_unfinished(&during[0], &during));
    let after = tail(&log.files().unwrap(), 10).unwrap();
    assert!(
        matches!(&after[1], Line::Record { event, .. } if event.start == Some(*sequence)),
        "{after:?}"
    );
}

#[tokio::test]
async fn nothing_runs_without_the_record_of_its_start() {
    struct NoStart;
    impl AuditSink for NoStart {
        fn record(&self, _: &Event) -> Result<(), AuditError> {
            Ok(())
        }
        fn record_start(&self, _: &Event) -> Result<Option<u64>, AuditError> {
            Err(AuditError::other(std::io::Error::other("the disk is full")))
        }
    }
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "")
        .file("deploy/scripts/run.sh", "");
    let runtime = fixture.recording().audit(Arc::new(NoStart)).build();
    let error = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Audit);
    assert!(fixture.sandbox.jobs().is_empty());
}

#[tokio::test]
async fn rejected_attempts_are_recorded() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "")
        .skill("empty", "")
        .skill("odd", "hooks: 7\n");
    fixture
        .skill("needy", "requires: {bins: [no-such-program]}\n")
        .file("needy/scripts/run.sh", "");
    let sink = Arc::new(Memory::default());
    let runtime = fixture.recording().audit(sink.clone()).build();
    let mut lines = Vec::new();
    for name in ["deploy", "empty", "odd", "needy", "absent"] {
        let options = ExecutionOptions {
            hosts: vec!["example.org".parse().unwrap()],
            ..ExecutionOptions::default()
        };
        let _ = runtime.execute_skill(name, options).await;
        let [event] = sink.take().try_into().unwrap();
        let outcome = event
            .termination
            .unwrap()
            .replace(&fixture.path("").display().to_string(), "ROOT/");
        lines.push(format!("{} {:?} {outcome}", event.skill, event.disposition));
    }
    let gone = ExecutionOptions {
        readable_paths: vec!["/no/such/file".into()],
        ..ExecutionOptions::default()
    };
    let _ = runtime.execute_skill("deploy", gone).await;
    lines.push(
        sink.take()
            .into_iter()
            .map(|event| format!("{} {:?}", event.skill, event.disposition))
            .collect(),
    );
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn a_dropped_run_is_recorded() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "");
    let sink = Arc::new(Memory::default());
    let runtime = fixture
        .recording()
        .approver(Arc::new(UnresponsiveApprover))
        .audit(sink.clone())
        .build();
    {
        let mut running = Box::pin(runtime.execute_skill("deploy", ExecutionOptions::default()));
        tokio::select! { biased; _ = &mut running => panic!("the approver never responds"), () = std::future::ready(()) => {} }
    }
    let [event] = sink.take().try_into().unwrap();
    assert_eq!(
        (event.termination.as_deref(), event.disposition),
        (Some("cancelled"), Disposition::Failed)
    );
}

#[tokio::test]
async fn nothing_runs_without_a_record() {
    struct Full;
    impl AuditSink for Full {
        fn check_writable(&self) -> Result<(), AuditError> {
            Err(AuditError::other(std::io::Error::other("the disk is full")))
        }
        fn record(&self, _: &Event) -> Result<(), AuditError> {
            panic!("it was not ready")
        }
    }
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "")
        .file("deploy/scripts/run.sh", "");
    let runtime = fixture.recording().audit(Arc::new(Full)).build();
    let error = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Audit);
    assert!(fixture.sandbox.jobs().is_empty());
    struct Half;
    impl AuditSink for Half {
        fn record(&self, _: &Event) -> Result<(), AuditError> {
            Err(AuditError::other(std::io::Error::other("the disk is full")))
        }
    }
    let runtime = fixture.recording().audit(Arc::new(Half)).build();
    *fixture.sandbox.stdout.lock().unwrap() = b"result".to_vec();
    let error = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Audit);
    assert_eq!(
        error
            .artifacts()
            .map(|artifacts| artifacts.stdout.text())
            .as_deref(),
        Some("result"),
        "the artifacts are attached to the error"
    );
}

#[tokio::test]
async fn a_skill_cannot_exceed_the_size_of_a_record() {
    let fixture = Fixture::new();
    let odd = "\\\\\"".repeat(60);
    let tools: Vec<String> = (0..100)
        .map(|number| format!("'Read(a{number}/{odd}/**)'"))
        .collect();
    let hook = format!(
        "hooks: {{Stop: [{{command: '{}'}}]}}\n",
        "\\".repeat(20_000)
    );
    fixture
        .skill(
            "deploy",
            &format!("allowed-tools: [{}, Bash]\n{hook}", tools.join(", ")),
        )
        .file("deploy/scripts/run.sh", "")
        .file("work/a", "");
    let log = Arc::new(AuditLog::open(fixture.path("audit.jsonl")).unwrap());
    let rules = skills_runtime::Policy::default().allow(
        skills_runtime::policy::RuleSource::Invocation,
        skills_runtime::Capability::Spawn,
    );
    let runtime = fixture.recording().policy(rules).audit(log.clone()).build();
    let options = ExecutionOptions::default()
        .workspace(skills_runtime::Workspace::Directory(fixture.path("work")));
    assert!(
        runtime
            .execute_skill("deploy", options)
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    let stop = skills_runtime::AgentEvent::Stop {
        reason: "done".to_owned(),
        stop_hook_active: false,
    };
    let options = skills_runtime::HookOptions::default();
    runtime.run_hooks("deploy", &stop, &options).await.unwrap();
    let log = log.files().unwrap();
    assert_eq!(
        verify(&log).unwrap().records,
        3,
        "start and end, and the hook, which is too long to be approved"
    );
    // Dangerous permissions are recorded, even if the list is truncated.
    let record = std::fs::read_to_string(&log[0]).unwrap();
    assert!(
        record.contains("granted by rule `allow spawn (invocation)`: spawn any program")
            && record.contains(" more\""),
        "{record}"
    );
}

/// Kinds of attempts.
#[derive(Debug, Clone)]
struct Try {
    skill: &'static str,
    answer: Option<Answer>,
    script: Option<&'static str>,
    env: Option<&'static str>,
}

fn any_try() -> impl Strategy<Value = Try> {
    let answer = proptest::option::of(proptest::sample::select(vec![
        Answer::AllowOnce,
        Answer::AllowSession,
        Answer::Deny,
    ]));
    let skill = proptest::sample::select(vec!["plain", "deploy", "broken", "empty", "absent"]);
    let script = proptest::option::of(proptest::sample::select(vec![
        "run",
        "scripts/run.sh",
        "../x.sh",
        "none",
    ]));
    (
        skill,
        answer,
        script,
        proptest::option::of(proptest::sample::select(vec!["KEY", "LD_PRELOAD"])),
    )
        .prop_map(|(skill, answer, script, env)| Try {
            skill,
            answer,
            script,
            env,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Invariant: every attempt writes exactly one record, and only granted ones reach the sandbox.
    #[test]
    fn every_attempt_writes_one_record(tries in proptest::collection::vec(any_try(), 1..8)) {
        let fixture = Fixture::new();
        fixture.skill("plain", "").file("plain/scripts/run.sh", "").skill("deploy", "allowed-tools: Bash\n").file("deploy/scripts/run.sh", "");
        fixture.skill("empty", "").skill("broken", "hooks: 3\n").file("broken/scripts/run.sh", "");
        let sink = Arc::new(Memory::default());
        let runtime = fixture.recording().audit(sink.clone()).build();
        let executor = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for attempt in tries {
            let mut options = ExecutionOptions::default();
            options = attempt.script.into_iter().fold(options, |options, script| options.script(script));
            options = attempt.answer.into_iter().fold(options, |options, answer| options.approver(Arc::new(answer)));
            options = attempt.env.into_iter().fold(options, |options, name| options.env(name, "12345678"));
            let before = fixture.sandbox.jobs().len();
            let result = executor.block_on(runtime.execute_skill(attempt.skill, options));
            let events = sink.take();
            prop_assert_eq!(events.len(), 1);
            let has_run = fixture.sandbox.jobs().len() > before;
            prop_assert_eq!(has_run, events[0].disposition == Disposition::Granted);
            prop_assert_eq!(result.is_err(), events[0].disposition == Disposition::Failed);
        }
    }
}
