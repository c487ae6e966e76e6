//! What an answer is about, and what it leaves as it was.

use std::sync::Arc;

use skills_policy::{
    ApprovalResponse, Authorization, Effect, PermissionManager, Policy, Request, Rule, RuleSource,
};

use crate::approve::{Host, Memory, block_on, outcome, pending};

fn verdicts(decision: &Authorization) -> Vec<String> {
    decision
        .decisions()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn an_answer_once_for_a_made_up_command_ends_with_its_run() {
    let host = Host::new(ApprovalResponse::AllowOnce);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Memory::default()));
    for session in [None, Some("one".to_owned())] {
        let request = Request::new("/s")
            .content_digest("1")
            .ad_hoc("ls")
            .allowed_tool("Bash", None)
            .session(session);
        for _ in 0..2 {
            let before = host.asked();
            let decision = block_on(manager.authorize(&request, None));
            assert_eq!(
                verdicts(&decision),
                ["granted, the answer was `once`: start programs (asked by Bash)"]
            );
            assert_eq!(host.asked(), before + 1);
            assert!(matches!(
                manager.preview(&request),
                Authorization::Denied(_)
            ));
        }
    }
}

#[test]
fn a_made_up_command_cannot_be_approved_beforehand() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let request = Request::new("/s")
        .content_digest("1")
        .ad_hoc("ls")
        .allowed_tool("Bash", None);
    let error = manager
        .approve_permanently(pending(&manager, &request))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a command is approved when it is to run, not beforehand"
    );
    assert!(matches!(
        manager.preview(&request),
        Authorization::Denied(_)
    ));
    assert!(matches!(
        PermissionManager::default().store(store).preview(&request),
        Authorization::Denied(_)
    ));
}

/// Content that changed has what was answered for it, and nothing of what was answered for the
/// content before.
#[test]
fn changed_content_keeps_nothing_of_what_was_approved_before() {
    let manager = PermissionManager::default().store(Arc::new(Memory::default()));
    let wants = |digest: &str, program: &str| {
        Request::new("/s")
            .content_digest(digest)
            .allowed_tool("Bash", Some(program))
    };
    for (digest, program) in [("1", "git"), ("1", "ls"), ("2", "curl")] {
        let decision = block_on(manager.authorize(
            &wants(digest, program),
            Some(&ApprovalResponse::AllowAlways),
        ));
        assert_eq!(outcome(&decision), "granted");
        assert_eq!(
            outcome(&manager.preview(&wants("1", "git"))) == "granted",
            digest == "1",
            "answers for the same content add up"
        );
    }
    assert_eq!(outcome(&manager.preview(&wants("2", "curl"))), "granted");
    for (digest, program) in [("2", "git"), ("2", "ls"), ("1", "git")] {
        assert!(
            matches!(
                manager.preview(&wants(digest, program)),
                Authorization::Denied(_)
            ),
            "{digest} {program}"
        );
    }
}

#[test]
fn an_answer_changes_only_what_was_open() {
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, "spawn:git").unwrap());
    let request = Request::new("/s")
        .content_digest("1")
        .workspace("/w")
        .allowed_tool("Read", None)
        .allowed_tool("Bash", Some("git:*"))
        .allowed_tool("Write", Some("out/"));
    let decided = |answer: ApprovalResponse| {
        verdicts(&block_on(
            PermissionManager::new(rules.clone()).authorize(&request, Some(&answer)),
        ))
    };
    let kept = ["granted, by the rule `allow read (built-in)`: read /w (asked by Read)"];
    let started =
        ["granted, by the rule `allow spawn:git (session)`: start git (asked by Bash(git:*))"];
    for (answer, fate) in [
        (ApprovalResponse::AllowOnce, "granted"),
        (ApprovalResponse::Deny, "denied"),
    ] {
        let written = [&*format!(
            "{fate}, the answer was `{answer}`: write /w/out (asked by Write(out/))"
        )];
        assert_eq!(decided(answer), [kept, written, started].concat());
    }
}

#[test]
fn a_question_without_an_answer_in_time_denies() {
    let manager = PermissionManager::default().approver(Host::new(ApprovalResponse::AllowAlways));
    let request = Request::new("/s")
        .content_digest("1")
        .allowed_tool("Bash", None);
    let decision = manager.timed_out(pending(&manager, &request));
    assert_eq!(
        outcome(&decision),
        "may not start programs (asked by Bash): whoever was asked gave no answer"
    );
    assert!(matches!(
        manager.preview(&request),
        Authorization::Denied(_)
    ));
}
