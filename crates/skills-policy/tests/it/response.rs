//! What a response applies to, and what it leaves unchanged.

use std::sync::Arc;

use skills_policy::{
    Answer, Authorization, Effect, PermissionManager, Policy, Request, Rule, RuleSource,
};

use crate::approve::{Host, Memory, block_on, outcome, pending};

fn describe_decisions(decision: &Authorization) -> Vec<String> {
    decision
        .decisions()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_response_once_for_an_ad_hoc_command_covers_one_run() {
    let host = Host::new(Answer::AllowOnce);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Memory::default()));
    for session in [None, Some("one".to_owned())] {
        let request = Request::new("/s")
            .content_digest("1")
            .ad_hoc("sort")
            .allowed_tool("Bash", None)
            .session(session);
        for _ in 0..2 {
            let before = host.asked();
            let decision = block_on(manager.authorize(&request, None));
            assert_eq!(
                describe_decisions(&decision),
                ["granted, the approver responded `once`: spawn any program (requested by `Bash`)"]
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
fn an_ad_hoc_command_cannot_be_approved_before_it_runs() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let request = Request::new("/s")
        .content_digest("1")
        .ad_hoc("sort")
        .allowed_tool("Bash", None);
    let error = manager
        .approve_permanently(pending(&manager, &request))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot approve a command in advance: approvals of commands last for one session"
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

/// Changed content has the approvals given for it, and none of those for the earlier content.
#[test]
fn changed_content_keeps_no_approval_of_earlier_content() {
    let manager = PermissionManager::default().store(Arc::new(Memory::default()));
    let wants = |digest: &str, program: &str| {
        Request::new("/s")
            .content_digest(digest)
            .allowed_tool("Bash", Some(program))
    };
    for (digest, program) in [("1", "git"), ("1", "sort"), ("2", "curl")] {
        let decision =
            block_on(manager.authorize(&wants(digest, program), Some(&Answer::AllowAlways)));
        assert_eq!(outcome(&decision), "granted");
        assert_eq!(
            outcome(&manager.preview(&wants("1", "git"))) == "granted",
            digest == "1",
            "answers for the same content add up"
        );
    }
    assert_eq!(outcome(&manager.preview(&wants("2", "curl"))), "granted");
    for (digest, program) in [("2", "git"), ("2", "sort"), ("1", "git")] {
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
fn a_response_changes_pending_permissions_only() {
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, "spawn:git").unwrap());
    let request = Request::new("/s")
        .content_digest("1")
        .workspace("/w")
        .allowed_tool("Read", None)
        .allowed_tool("Bash", Some("git:*"))
        .allowed_tool("Write", Some("out/"));
    let decided = |answer: Answer| {
        describe_decisions(&block_on(
            PermissionManager::new(rules.clone()).authorize(&request, Some(&answer)),
        ))
    };
    let kept = ["granted by rule `allow read (built-in)`: read `/w` (requested by `Read`)"];
    let started = [
        "granted by rule `allow spawn:git (invocation)`: spawn `git` (requested by `Bash(git:*)`)",
    ];
    for (answer, decision) in [(Answer::AllowOnce, "granted"), (Answer::Deny, "denied")] {
        let written = [&*format!(
            "{decision}, the approver responded `{answer}`: write `/w/out` (requested by `Write(out/)`)"
        )];
        assert_eq!(decided(answer), [kept, written, started].concat());
    }
}

#[test]
fn a_request_that_times_out_is_denied() {
    let manager = PermissionManager::default().approver(Host::new(Answer::AllowAlways));
    let request = Request::new("/s")
        .content_digest("1")
        .allowed_tool("Bash", None);
    let decision = manager.timed_out(pending(&manager, &request));
    assert_eq!(
        outcome(&decision),
        "permission denied: spawn any program (requested by `Bash`): the approver did not respond"
    );
    assert!(matches!(
        manager.preview(&request),
        Authorization::Denied(_)
    ));
}
