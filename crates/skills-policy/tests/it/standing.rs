//! What rules and approvals that were written before decide later.

use std::sync::Arc;

use insta::assert_snapshot;
use skills_policy::{
    ApprovalMode, ApprovalResponse, Authorization, Capability, Effect, Evaluation,
    PermissionManager, Policy, Request, Rule, RuleSource, VariableSource,
};

use crate::approve::{Host, Memory, block_on, outcome};

#[test]
fn no_rule_allows_a_hook() {
    let open = Policy::default()
        .with_mode(ApprovalMode::Trusted)
        .allow(RuleSource::Invocation, Capability::Spawn);
    let hook = |command: &str| Request::new("/s").content_digest("1").hook(command);
    assert_snapshot!(outcome(&PermissionManager::new(open.clone()).preview(&hook("PreToolUse scripts/a.sh"))), @"may not run as a hook: PreToolUse scripts/a.sh (asked by its hooks): no rule allows it, and there was nobody to ask");
    let host = Host::new(ApprovalResponse::AllowSession);
    let manager = PermissionManager::new(open).approver(host.clone());
    for (command, asked) in [("Stop a.sh", 1), ("Stop a.sh", 1), ("Stop b.sh", 2)] {
        assert!(matches!(
            block_on(manager.authorize(&hook(command), None)),
            Authorization::Granted(_)
        ));
        assert_eq!(host.asked(), asked);
    }
    let denied =
        PermissionManager::new(Policy::default().deny(RuleSource::Admin, Capability::Spawn))
            .approver(host.clone());
    assert!(matches!(
        block_on(denied.authorize(&hook("Stop a.sh"), None)),
        Authorization::Denied(_)
    ));
}

/// Whoever approves one thing has not approved what rules give besides and was not shown.
#[test]
fn an_approval_opens_no_power_that_was_not_shown() {
    let store = Arc::new(Memory::default());
    let rules = Policy::default()
        .allow(RuleSource::User, Capability::Spawn)
        .allow(RuleSource::User, Capability::Write);
    let manager = PermissionManager::new(rules).store(store);
    let skill = Request::new("/s")
        .content_digest("1")
        .allowed_tool("Bash", Some("git:*"))
        .allowed_tool("Write", None)
        .variable("KEY", VariableSource::Secret);
    let narrow = skill.clone().drop_capability(Capability::Spawn);
    assert!(matches!(
        block_on(manager.authorize(&narrow, Some(&ApprovalResponse::AllowAlways))),
        Authorization::Granted(_)
    ));
    assert!(matches!(
        manager.preview(&narrow),
        Authorization::Granted(_)
    ));
    let Evaluation::NeedsApproval(pending) = manager.evaluate(&skill) else {
        panic!("git was not shown")
    };
    assert!(
        pending.approval_request().requires_content_approval
            && pending.approval_request().pending.is_empty()
    );
    let _ = block_on(manager.request_approval(*pending, Some(&ApprovalResponse::AllowAlways)));
    assert!(matches!(manager.preview(&skill), Authorization::Granted(_)));
    assert!(matches!(
        manager.preview(&skill.workspace("/w")),
        Authorization::Denied(_)
    ));
}

#[test]
fn what_an_administrator_wants_asked_is_asked_whoever_else_wants_it_too() {
    for more in [None, Some(RuleSource::BuiltIn), Some(RuleSource::User)] {
        let rule = |effect, layer| Rule::parse(effect, layer, "spawn").unwrap();
        let rules = Policy::default()
            .rule(rule(Effect::Ask, RuleSource::Admin))
            .rule(rule(Effect::Allow, RuleSource::Invocation));
        let rules = more
            .into_iter()
            .fold(rules, |rules, layer| rules.rule(rule(Effect::Ask, layer)));
        let decision = PermissionManager::new(rules).preview(
            &Request::new("/s")
                .content_digest("1")
                .allowed_tool("Bash", None),
        );
        assert_eq!(
            decision.decisions()[0].ask_rule(),
            Some((RuleSource::Admin, "ask spawn (admin)"))
        );
        let said = "may not start programs (asked by Bash): the rule `ask spawn (admin)` wants it asked, and there was nobody to ask";
        assert_eq!(outcome(&decision), said);
    }
}
