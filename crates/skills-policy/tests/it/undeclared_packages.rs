//! Packages that a skill imports and does not declare: only a rule with exactly their name, or an
//! approver who sees them, allows them.

use std::sync::Arc;

use skills_policy::{
    Answer, ApprovalMode, Authorization, Effect, PermissionManager, Policy, Request, Rule,
    RuleSource,
};

use crate::approve::{Host, Memory, block_on};

fn request(digest: &str) -> Request {
    Request::new("/s").content_digest(digest)
}

fn importing(digest: &str, name: &str) -> Request {
    request(digest).undeclared_package(name, "1.0")
}

fn is_granted(manager: &PermissionManager, request: &Request) -> bool {
    matches!(manager.preview(request), Authorization::Granted(_))
}

fn rule(effect: Effect, source: RuleSource, target: &str) -> Rule {
    Rule::parse(effect, source, target).unwrap()
}

#[test]
fn only_a_rule_with_exactly_the_name_allows_it() {
    for (target, is_allowed) in [
        ("packages", false),
        ("packages:*", false),
        ("packages:pypi:*", false),
        ("packages:pypi:tab*", false),
        ("packages:pypi:tabulat", false),
        ("packages:npm:tabulate", false),
        ("packages:pypi:tabulate", true),
        ("packages:pypi:Tabulate", true),
    ] {
        for source in [RuleSource::Invocation, RuleSource::User] {
            let policy = Policy::default().rule(rule(Effect::Allow, source, target));
            let manager = PermissionManager::new(policy);
            let is_exact = is_granted(&manager, &importing("1", "pypi:tabulate"));
            // A standing rule is not for new content.
            let expected = is_allowed && source == RuleSource::Invocation;
            assert_eq!(is_exact, expected, "{target} {source:?}");
        }
    }
}

#[test]
fn deny_and_ask_rules_match_it_like_a_declared_one() {
    let exact = rule(
        Effect::Allow,
        RuleSource::Invocation,
        "packages:pypi:tabulate",
    );
    for (effect, source, target) in [
        (Effect::Deny, RuleSource::Project, "packages"),
        (Effect::Deny, RuleSource::User, "packages:pypi:tab*"),
        (Effect::Ask, RuleSource::Admin, "packages:pypi:*"),
    ] {
        let policy = Policy::default().rule(exact.clone());
        let manager = PermissionManager::new(policy.rule(rule(effect, source, target)));
        assert!(
            !is_granted(&manager, &importing("1", "pypi:tabulate")),
            "{target}"
        );
    }
}

#[test]
fn trusted_mode_does_not_allow_it() {
    let manager = PermissionManager::new(Policy::default().with_mode(ApprovalMode::Trusted));
    assert!(!is_granted(&manager, &importing("1", "pypi:tabulate")));
    // What the skill declares as well is declared.
    let both = importing("1", "pypi:tabulate").package("pypi:tabulate", "1.0");
    let declared = request("1").package("pypi:tabulate", "1.0");
    assert_eq!(is_granted(&manager, &both), is_granted(&manager, &declared));
}

/// Such as `--yes`: a user does not see the name.
#[test]
fn an_answer_that_was_given_before_does_not_allow_it() {
    let manager = PermissionManager::default();
    for answer in [Answer::AllowOnce, Answer::AllowSession, Answer::AllowAlways] {
        let authorize = |request: &Request| {
            let decided = block_on(manager.authorize(request, Some(&answer)));
            matches!(decided, Authorization::Granted(_))
        };
        assert!(!authorize(&importing("1", "pypi:tabulate")), "{answer}");
        assert!(authorize(&request("2").package("pypi:tabulate", "1.0")));
    }
}

#[test]
fn an_answer_covers_one_package_in_one_version_of_one_content() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Memory::default()));
    let asked = importing("1", "pypi:tabulate");
    assert!(matches!(
        block_on(manager.authorize(&asked, None)),
        Authorization::Granted(_)
    ));
    let question = host.last();
    let subjects: Vec<_> = question.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(
        subjects,
        ["install package `pypi:tabulate` 1.0 (requested by an import of its script)"]
    );
    assert!(is_granted(&manager, &asked));
    assert!(!is_granted(&manager, &importing("1", "pypi:other")));
    assert!(!is_granted(&manager, &importing("2", "pypi:tabulate")));
    let newer = request("1").undeclared_package("pypi:tabulate", "1.1");
    assert!(!is_granted(&manager, &newer));

    let accepted = |request: &Request| {
        manager
            .accepted_packages(request)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(accepted(&request("1")), ["pypi:tabulate"]);
    assert!(accepted(&request("2")).is_empty());
}

#[test]
fn rules_for_more_than_one_name_accept_no_package() {
    let accepted = |target| {
        let allow = rule(Effect::Allow, RuleSource::Invocation, target);
        let manager = PermissionManager::new(Policy::default().rule(allow));
        manager
            .accepted_packages(&request("1"))
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(accepted("packages:pypi:Tabu_late"), ["pypi:tabu-late"]);
    for target in [
        "packages",
        "packages:pypi:*",
        "packages:pypi:tab*",
        "spawn:git",
    ] {
        assert!(accepted(target).is_empty(), "{target}");
    }
}
