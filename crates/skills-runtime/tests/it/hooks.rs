//! Tests of hooks: their decisions, and that they need approval.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use skills_runtime::policy::{ApprovalMode, RuleSource};
use skills_runtime::{
    AgentEvent, Answer, CallContext, Capability, FileApprovalStore, HookDecision, HookOptions,
    HookReport, Policy, SkillRuntime, Termination, Workspace,
};

use crate::fixture::Fixture;

const YAML: &str = "hooks:\n  PreToolUse:\n    - matcher: Edit|Write\n      hooks:\n        - {type: command, command: ./scripts/check.sh --strict, timeout: 2}\n    - matcher: mcp__*\n      command: scripts/check.sh\n  PostToolUse: [{command: scripts/check.sh}]\n  Stop: [{matcher: ignored, command: scripts/check.sh}]\n";

fn before(tool: &str) -> AgentEvent {
    AgentEvent::PreToolUse {
        tool: tool.to_owned(),
        input: json!({"file": "a.txt"}),
    }
}

async fn report(runtime: &SkillRuntime, event: &AgentEvent) -> HookReport {
    runtime
        .run_hooks("guard", event, &HookOptions::default())
        .await
        .unwrap()
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("guard", YAML)
        .file("guard/scripts/check.sh", "");
    fixture
}

#[tokio::test]
async fn a_hook_is_a_job_with_the_event_as_input() {
    let fixture = fixture();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowSession))
        .build();
    let report = report(&runtime, &before("Edit")).await;
    assert_eq!(
        (report.decision, report.runs.len()),
        (HookDecision::Continue, 1)
    );
    let job = fixture.sandbox.jobs().pop().unwrap();
    assert_eq!(job.args(), ["--strict"]);
    assert_eq!(job.grants().limits().wall_time.as_secs(), 2);
    let event: Value = serde_json::from_slice(job.stdin_bytes()).unwrap();
    assert_eq!(
        event,
        json!({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file": "a.txt"}})
    );
    assert!(
        !job.grants().includes(Capability::Spawn) && !job.grants().includes(Capability::Network)
    );
}

#[tokio::test]
async fn matchers_match_the_whole_name() {
    let fixture = fixture();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowSession))
        .build();
    for (tool, runs) in [
        ("Edit", 1),
        ("Write", 1),
        ("MultiEdit", 0),
        ("Writer", 0),
        ("mcp__github__list", 1),
        ("Bash", 0),
    ] {
        assert_eq!(
            report(&runtime, &before(tool)).await.runs.len(),
            runs,
            "{tool}"
        );
    }
    assert_eq!(
        report(
            &runtime,
            &AgentEvent::Stop {
                reason: "done".to_owned(),
                stop_hook_active: false
            }
        )
        .await
        .runs
        .len(),
        1
    );
    fixture.skill(
        "guard",
        "hooks:\n  PreToolUse: [{matcher: \"(\", command: scripts/check.sh}]\n",
    );
    assert_eq!(report(&runtime, &before("Bash")).await.runs.len(), 1);
}

#[tokio::test]
async fn hooks_use_the_decisions_of_claude_code() {
    let fixture = fixture();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowSession))
        .build();
    let say = async |stdout: &str, stderr: &str, code: i32, event: &AgentEvent| {
        *fixture.sandbox.stdout.lock().unwrap() = stdout.as_bytes().to_vec();
        *fixture.sandbox.stderr.lock().unwrap() = stderr.as_bytes().to_vec();
        *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Exited { code });
        serde_json::to_string(&report(&runtime, event).await.decision).unwrap()
    };
    let edit = before("Edit");
    assert_snapshot!(say("", "not this file\n", 2, &edit).await, @r#"{"kind":"block","reason":"not this file"}"#);
    assert_snapshot!(say(r#"{"decision": "block", "reason": "no"}"#, "", 0, &edit).await, @r#"{"kind":"block","reason":"no"}"#);
    let deny = r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "never"}}"#;
    assert_snapshot!(say(deny, "", 0, &edit).await, @r#"{"kind":"block","reason":"never"}"#);
    assert_snapshot!(say(&deny.replace("deny", "ask"), "", 0, &edit).await, @r#"{"kind":"ask","reason":"never"}"#);
    assert_snapshot!(say(&deny.replace("deny", "allow"), "", 0, &edit).await, @r#"{"kind":"continue"}"#);
    assert_snapshot!(say(r#"{"continue": false, "stopReason": "enough"}"#, "", 0, &edit).await, @r#"{"kind":"block","reason":"enough"}"#);
    let both = r#"{"decision": "block", "reason": "no", "hookSpecificOutput": {"permissionDecision": "allow"}}"#;
    assert_snapshot!(say(both, "", 0, &edit).await, @r#"{"kind":"block","reason":"no"}"#);
    let long = format!(
        "{{\"decision\": \"block\", \"reason\": \"{}\"}}",
        "x".repeat(2_000)
    );
    assert_snapshot!(say(&long, "", 0, &edit).await, @r#"{"kind":"block","reason":"the output of the hook was truncated"}"#);
    assert_snapshot!(say("all is well", "", 0, &edit).await, @r#"{"kind":"continue"}"#);
    assert_snapshot!(say("", "crash", 1, &edit).await, @r#"{"kind":"block","reason":"the hook failed: exit code 1"}"#);
    let after = AgentEvent::PostToolUse {
        tool: "Bash".to_owned(),
        input: json!({}),
        output: json!("x"),
    };
    assert_snapshot!(say("", "crash", 1, &after).await, @r#"{"kind":"continue"}"#);
    assert_snapshot!(say("", "the tests fail", 2, &after).await, @r#"{"kind":"block","reason":"the tests fail"}"#);
}

/// A hook that asks the user does not prevent a later one from blocking.
#[tokio::test]
async fn the_strictest_of_several_hooks_applies() {
    let fixture = Fixture::new();
    fixture.skill(
        "guard",
        "hooks:\n  PreToolUse: [{command: scripts/ask.sh}, {command: scripts/block.sh}]\n",
    );
    fixture
        .file("guard/scripts/ask.sh", "")
        .file("guard/scripts/block.sh", "");
    let sandbox = std::sync::Arc::clone(&fixture.sandbox);
    *fixture.sandbox.stdout.lock().unwrap() = br#"{"decision": "ask"}"#.to_vec();
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |job| {
        let is_second = format!("{:?}", job.program()).contains("block.sh");
        *sandbox.termination.lock().unwrap() = Some(Termination::Exited {
            code: if is_second { 2 } else { 0 },
        });
    }));
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowSession))
        .build();
    let report = report(&runtime, &before("Edit")).await;
    assert!(
        matches!(report.decision, HookDecision::Block { .. }) && report.runs.len() == 2,
        "{report:?}"
    );
}

#[tokio::test]
async fn a_hook_without_approval_does_not_run() {
    let fixture = fixture();
    let open = || {
        Policy::default()
            .with_mode(ApprovalMode::Trusted)
            .allow(RuleSource::Invocation, Capability::Spawn)
    };
    let runtime = fixture.recording().policy(open()).build();
    let report = report(&runtime, &before("Edit")).await;
    let HookDecision::Block { reason } = report.decision else {
        panic!("{report:?}")
    };
    assert_snapshot!(reason, @"cannot run the hook: permission denied: run hook `PreToolUse ./scripts/check.sh --strict` (requested by its hooks): no rule allows it and no approver is available");
    assert!(fixture.sandbox.jobs().is_empty());
    let mut asked = HookOptions::default();
    asked.execution.context = CallContext::default().approver(Arc::new(Answer::AllowOnce));
    assert_eq!(
        runtime
            .run_hooks("guard", &before("Edit"), &asked)
            .await
            .unwrap()
            .decision,
        HookDecision::Continue
    );
}

#[tokio::test]
async fn a_hook_has_no_shell_and_no_other_directory() {
    let fixture = Fixture::new();
    fixture
        .file("guard/scripts/check.sh", "")
        .file("outside.sh", "");
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowAlways))
        .build();
    for (number, hook) in [
        "{command: \"scripts/check.sh; rm -rf /\"}",
        "{command: \"scripts/check.sh $(id)\"}",
        "{command: \"rm -rf /\"}",
        "{command: /bin/rm}",
        "{command: ../outside.sh}",
        "{command: scripts/check.sh, cwd: /}",
        "{hooks: [{type: prompt, prompt: Is it well?}]}",
    ]
    .into_iter()
    .enumerate()
    {
        fixture.skill("guard", &format!("hooks:\n  PreToolUse: [{hook}]\n"));
        let report = report(&runtime, &before("Edit")).await;
        assert!(
            matches!(&report.decision, HookDecision::Block { .. }),
            "{number}: {report:?}"
        );
        assert!(report.runs[0].status.is_err(), "{number}");
    }
    assert!(fixture.sandbox.jobs().is_empty());
}

/// An approval that is stored for one hook lets no other hook run.
#[tokio::test]
async fn hooks_can_be_approved_before_an_event() {
    let fixture = fixture();
    fixture.skill(
        "guard",
        "hooks:\n  PreToolUse: [{command: scripts/check.sh}, {command: scripts/check.sh --all}, {command: rm -rf /}]\n",
    );
    let store = FileApprovalStore::new(fixture.path("approvals.json"));
    let runtime = fixture.recording().approval_store(Arc::new(store)).build();
    let previews = || {
        runtime
            .preview_hooks("guard", &HookOptions::default())
            .unwrap()
    };
    let first = previews();
    let names: Vec<&str> = first.iter().map(|found| found.hook.as_str()).collect();
    assert_eq!(
        names,
        [
            "PreToolUse scripts/check.sh",
            "PreToolUse scripts/check.sh --all",
            "PreToolUse rm -rf /"
        ]
    );
    assert!(first[2].preview.is_err());
    let mut runs = Vec::new();
    for approved in 0..3 {
        let report = report(&runtime, &before("Edit")).await;
        let succeeded = report
            .runs
            .iter()
            .filter(|run| matches!(&run.status, Ok(status) if status.is_success()));
        runs.push(succeeded.count());
        let hook = &previews()[approved];
        if let Ok(preview) = &hook.preview {
            let request = preview.question.as_ref().unwrap();
            let _ = runtime.approve_hook("guard", hook, request).unwrap();
        }
    }
    assert_eq!(runs, [0, 1, 2]);
}

#[tokio::test]
async fn a_matcher_can_name_another_name_of_the_tool() {
    let fixture = fixture();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowSession))
        .build();
    let mut options = HookOptions {
        tool_aliases: vec!["Write".to_owned(), "mcp__skills__x".to_owned()],
        ..HookOptions::default()
    };
    options.execution.workspace = Workspace::Private(Vec::new());
    let report = runtime
        .run_hooks("guard", &before("skills_write"), &options)
        .await
        .unwrap();
    assert_eq!(report.runs.len(), 2);
    let job = fixture.sandbox.jobs().pop().unwrap();
    let event: Value = serde_json::from_slice(job.stdin_bytes()).unwrap();
    assert_eq!(event["tool_name"], "skills_write");
}
