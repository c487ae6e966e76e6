//! Tests of sessions and their summaries.

use std::sync::Arc;

use serde_json::{Value, json};
use skills_runtime::{Answer, ExecutionOptions, HookDecision, SessionEnd, Termination};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_forked_session_returns_only_a_summary() {
    let fixture = Fixture::new();
    fixture
        .skill(
            "review",
            "context: fork\nagent: Explore\nallowed-tools: Read\n",
        )
        .file("review/scripts/run.sh", "");
    fixture.skill("plain", "").file("plain/scripts/run.sh", "");
    *fixture.sandbox.stdout.lock().unwrap() = b"{\"issues\": 2}".to_vec();
    let runtime = fixture.recording().build();
    let mut session = runtime.start_session("review", None).unwrap();
    assert_eq!(
        (session.is_forked(), session.agent()),
        (true, Some("Explore"))
    );
    session
        .after_tool("Read", &json!({"path": "a.rs"}), &json!("a whole file"))
        .await
        .unwrap();
    assert!(
        session
            .execute(ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(session.events().len(), 2);
    let SessionEnd::Finished(summary) = session.finish(json!("two issues")).await.unwrap() else {
        panic!("no hook objects")
    };
    assert_eq!(
        (
            summary.skill.as_str(),
            summary.tool_calls,
            summary.events.len()
        ),
        ("review", 2, 0)
    );
    assert_eq!(summary.summary, json!("two issues"));
    assert!(
        !serde_json::to_string(&summary)
            .unwrap()
            .contains("a whole file")
    );
    let mut session = runtime.start_session("plain", None).unwrap();
    let _ = session.execute(ExecutionOptions::default()).await.unwrap();
    let SessionEnd::Finished(summary) = session.finish(Value::Null).await.unwrap() else {
        panic!("no hook objects")
    };
    assert_eq!(
        (summary.summary, summary.events.len(), summary.is_forked),
        (json!({"issues": 2}), 1, false)
    );
}

#[tokio::test]
async fn events_are_bounded_and_dropped_events_are_counted() {
    let fixture = Fixture::new();
    fixture
        .skill("review", "context: fork\n")
        .file("review/scripts/run.sh", "");
    let mut session = fixture
        .recording()
        .build()
        .start_session("review", None)
        .unwrap();
    let large = json!("x".repeat(5 << 20));
    for _ in 0..5 {
        session
            .after_tool("Read", &json!({}), &large)
            .await
            .unwrap();
    }
    let SessionEnd::Finished(summary) = session.finish(Value::Null).await.unwrap() else {
        panic!("no hook objects")
    };
    assert_eq!((summary.tool_calls, summary.dropped_events), (5, 2));
}

#[tokio::test]
async fn a_stop_hook_can_require_the_agent_to_continue() {
    let fixture = Fixture::new();
    fixture
        .skill("review", "hooks:\n  Stop: [{command: scripts/done.sh}]\n")
        .file("review/scripts/done.sh", "");
    *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Exited { code: 2 });
    *fixture.sandbox.stderr.lock().unwrap() = b"run the tests first".to_vec();
    let mut session = fixture
        .recording()
        .build()
        .start_session("review", Some(Arc::new(Answer::AllowSession)))
        .unwrap();
    let end = session.finish(json!("done")).await.unwrap();
    assert_eq!(
        end,
        SessionEnd::Continue {
            reason: "run the tests first".to_owned()
        }
    );
    *fixture.sandbox.termination.lock().unwrap() = None;
    assert!(matches!(
        session.finish(json!("done")).await.unwrap(),
        SessionEnd::Finished(_)
    ));
}

#[tokio::test]
async fn a_hook_blocks_a_tool_of_the_agent() {
    let fixture = Fixture::new();
    fixture
        .skill(
            "guard",
            "hooks:\n  PreToolUse: [{matcher: Bash, command: scripts/check.sh}]\n",
        )
        .file("guard/scripts/check.sh", "");
    *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Exited { code: 2 });
    *fixture.sandbox.stderr.lock().unwrap() = b"not on this branch".to_vec();
    let runtime = fixture.recording().build();
    let session = runtime.start_session("guard", Some(Arc::new(Answer::AllowSession)));
    let session = session.unwrap();
    let input = json!({"command": "git push"});
    let expected = HookDecision::Block {
        reason: "not on this branch".to_owned(),
    };
    assert_eq!(
        session.before_tool("Bash", &input).await.unwrap().decision,
        expected
    );
    let other = session
        .before_tool("Read", &json!({"path": "a"}))
        .await
        .unwrap();
    assert_eq!(other.decision, HookDecision::Continue);
}
