//! Rules and approvals that are older than the content.

use std::sync::Arc;

use insta::assert_snapshot;
use skills_policy::{
    Answer, ApprovalMode, Authorization, Capability, Effect, Evaluation, PermissionManager, Policy,
    Request, Rule, RuleSource, VariableSource,
};

use crate::approve::{Host, Memory, block_on, outcome};

#[test]
fn no_rule_allows_a_hook() {
    let open = Policy::default()
        .with_mode(ApprovalMode::Trusted)
        .allow(RuleSource::Invocation, Capability::Spawn);
    let hook = |command: &str| Request::new("/s").content_digest("1").hook(command);
    assert_snapshot!(outcome(&PermissionManager::new(open.clone()).preview(&hook("PreToolUse scripts/a.sh"))), @"permission denied: run hook `PreToolUse scripts/a.sh` (requested by its hooks): no rule allows it and no approver is available");
    let host = Host::new(Answer::AllowSession);
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

/// An approval does not cover privileges that rules grant and that were not in the request.
#[test]
fn an_approval_covers_no_privilege_that_was_not_shown() {
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
        block_on(manager.authorize(&narrow, Some(&Answer::AllowAlways))),
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
        pending.question().is_about_content() && pending.question().permissions().next().is_none()
    );
    let _ = block_on(manager.ask(*pending, Some(&Answer::AllowAlways)));
    assert!(matches!(manager.preview(&skill), Authorization::Granted(_)));
    assert!(matches!(
        manager.preview(&skill.workspace("/w")),
        Authorization::Denied(_)
    ));
}

#[test]
fn ask_rules_of_the_administrator_apply_with_those_of_others() {
    for more in [None, Some(RuleSource::BuiltIn), Some(RuleSource::User)] {
        let rule = |effect, source| Rule::parse(effect, source, "spawn").unwrap();
        let rules = Policy::default()
            .rule(rule(Effect::Ask, RuleSource::Admin))
            .rule(rule(Effect::Allow, RuleSource::Invocation));
        let rules = more
            .into_iter()
            .fold(rules, |rules, source| rules.rule(rule(Effect::Ask, source)));
        let decision = PermissionManager::new(rules).preview(
            &Request::new("/s")
                .content_digest("1")
                .allowed_tool("Bash", None),
        );
        assert_eq!(
            decision.decisions()[0].ask_rule(),
            Some((RuleSource::Admin, "ask spawn (admin)"))
        );
        let message = "permission denied: spawn any program (requested by `Bash`): rule `ask spawn (admin)` requires approval and no approver is available";
        assert_eq!(outcome(&decision), message);
    }
}

/// A skill that requires programs names those that it needs, so a standing rule for all programs
/// grants these. A rule of the invocation, or a tool that starts any program, is not narrowed.
#[test]
fn required_programs_narrow_a_standing_rule_for_all_programs() {
    let granted = |source, request: Request| {
        let policy = Policy::default().allow(source, Capability::Spawn);
        match policy.authorize(&request) {
            Authorization::Granted(grants) => format!("{:?}", grants.spawn()),
            Authorization::Denied(denial) => denial.to_string(),
        }
    };
    let request = || Request::new("/s").required_program("git");
    let git = "Programs({\"git\"})";
    assert_eq!(granted(RuleSource::User, request()), git);
    assert_eq!(granted(RuleSource::User, Request::new("/s")), "Any");
    assert_eq!(granted(RuleSource::Invocation, request()), "Any");
    let with_tool = request().allowed_tool("Bash", None);
    assert_eq!(granted(RuleSource::User, with_tool), "Any");
}
