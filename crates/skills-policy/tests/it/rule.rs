//! How a rule is displayed.

use std::path::Path;

use skills_policy::{Capability, Effect, Rule, RuleSource};

#[test]
fn a_rule_is_displayed_with_its_directory_and_source() {
    let rule = Rule::parse(Effect::Deny, RuleSource::Project, "spawn:git").unwrap();
    assert_eq!(rule.to_string(), "deny spawn:git (project)");
    assert_eq!(rule.directory(), None);
    let rule = rule.within("/work").origin("policy.toml");
    assert_eq!(
        rule.to_string(),
        "deny spawn:git within /work (project, policy.toml)"
    );
    assert_eq!(
        (rule.effect(), rule.source(), rule.directory()),
        (Effect::Deny, RuleSource::Project, Some(Path::new("/work")))
    );
    assert_eq!(rule.target().to_string(), "spawn:git");
}

#[test]
fn with_target_keeps_everything_else() {
    let rule = Rule::parse(Effect::Ask, RuleSource::User, "read:/w")
        .unwrap()
        .within("/work")
        .origin("policy.toml");
    let other = rule.with_target("write:/v".parse().unwrap());
    assert_eq!(
        other.to_string(),
        "ask write:/v within /work (user, policy.toml)"
    );
}

#[test]
fn each_rule_source_has_a_name() {
    let sources = [
        RuleSource::BuiltIn,
        RuleSource::Admin,
        RuleSource::User,
        RuleSource::Project,
        RuleSource::Invocation,
    ];
    let names =
        sources.map(|source| Rule::new(Effect::Allow, source, Capability::Spawn).to_string());
    let expected = ["built-in", "admin", "user", "project", "invocation"]
        .map(|name| format!("allow spawn ({name})"));
    assert_eq!(names, expected);
}
