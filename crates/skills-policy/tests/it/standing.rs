//! What rules and approvals that were written before decide later.

use std::sync::Arc;

use insta::assert_snapshot;
use skills_policy::{Answer, Capability, Decision, Effect, Examined, Layer, Mode, Origin, PermissionManager, Request, Rule, Rules};

use crate::approve::{Host, Memory, block_on, outcome};

#[test]
fn no_rule_allows_a_hook() {
    let open = Rules::default().mode(Mode::Trusted).allow(Layer::Session, Capability::Spawn);
    let hook = |command: &str| Request::new("/s").content("1").hook(command);
    assert_snapshot!(outcome(&PermissionManager::new(open.clone()).preview(&hook("PreToolUse scripts/a.sh"))), @"may not run as a hook: PreToolUse scripts/a.sh (asked by its hooks): no rule allows it, and there was nobody to ask");
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::new(open).approver(host.clone());
    for (command, asked) in [("Stop a.sh", 1), ("Stop a.sh", 1), ("Stop b.sh", 2)] {
        assert!(matches!(block_on(manager.decide(&hook(command), None)), Decision::Granted(_)));
        assert_eq!(host.asked(), asked);
    }
    let denied = PermissionManager::new(Rules::default().deny(Layer::Admin, Capability::Spawn)).approver(host.clone());
    assert!(matches!(block_on(denied.decide(&hook("Stop a.sh"), None)), Decision::Denied(_)));
}

/// Whoever approves one thing has not approved what rules give besides and was not shown.
#[test]
fn an_approval_opens_no_power_that_was_not_shown() {
    let store = Arc::new(Memory::default());
    let rules = Rules::default().allow(Layer::User, Capability::Spawn).allow(Layer::User, Capability::Write);
    let manager = PermissionManager::new(rules).store(store);
    let skill = Request::new("/s").content("1").tool("Bash", Some("git:*")).tool("Write", None).variable("KEY", Origin::Secret);
    let narrow = skill.clone().without(Capability::Spawn);
    assert!(matches!(block_on(manager.decide(&narrow, Some(&Answer::Always))), Decision::Granted(_)));
    assert!(matches!(manager.preview(&narrow), Decision::Granted(_)));
    let Examined::Open(pending) = manager.examine(&skill) else { panic!("git was not shown") };
    assert!(pending.question().asks_for_content && pending.question().open.is_empty());
    let _ = block_on(manager.ask(*pending, Some(&Answer::Always)));
    assert!(matches!(manager.preview(&skill), Decision::Granted(_)));
    assert!(matches!(manager.preview(&skill.workspace("/w")), Decision::Denied(_)));
}

#[test]
fn what_an_administrator_wants_asked_is_asked_whoever_else_wants_it_too() {
    for more in [None, Some(Layer::BuiltIn), Some(Layer::User)] {
        let rule = |effect, layer| Rule::parse(effect, layer, "spawn").unwrap();
        let rules = Rules::default().rule(rule(Effect::Ask, Layer::Admin)).rule(rule(Effect::Allow, Layer::Session));
        let rules = more.into_iter().fold(rules, |rules, layer| rules.rule(rule(Effect::Ask, layer)));
        let decision = PermissionManager::new(rules).preview(&Request::new("/s").content("1").tool("Bash", None));
        assert_eq!(decision.verdicts()[0].wants_asked(), Some((Layer::Admin, "ask spawn (admin)")));
        let said = "may not start programs (asked by Bash): the rule `ask spawn (admin)` wants it asked, and there was nobody to ask";
        assert_eq!(outcome(&decision), said);
    }
}
