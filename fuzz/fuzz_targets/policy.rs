//! Parses a text as a policy file and each of its lines as a rule of a command line option, and
//! authorizes a request with all of them.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use skills_policy::{
    Authorization, Effect, HostPattern, PackagePattern, Policy, PolicyFile, Request, Rule,
    RuleSource, Target, VariablePattern, VariableSource,
};

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];
const SOURCES: [RuleSource; 4] = [
    RuleSource::Admin,
    RuleSource::User,
    RuleSource::Project,
    RuleSource::Invocation,
];

fuzz_target!(|text: &str| {
    let file = PolicyFile::parse(text, RuleSource::User, "policy.toml");
    let mut policy = file
        .map(|file| {
            Policy::default()
                .with_rules(file.rules().iter().cloned())
                .lower_ceiling(file.limits())
        })
        .unwrap_or_default();
    for (index, line) in text.lines().enumerate() {
        check_round_trip::<Target>(line);
        check_round_trip::<VariablePattern>(line);
        check_round_trip::<HostPattern>(line);
        check_round_trip::<PackagePattern>(line);
        if let Ok(pattern) = line.parse::<HostPattern>() {
            assert!(pattern.covers(&pattern));
        }
        let (effect, source) = (
            EFFECTS[index % EFFECTS.len()],
            SOURCES[index / EFFECTS.len() % SOURCES.len()],
        );
        if let Ok(rule) = Rule::parse(effect, source, line) {
            let _ = rule.to_string();
            policy = policy.rule(rule);
        }
    }
    let request = Request::new("/skills/s")
        .workspace("/w")
        .allowed_tool("Write", None)
        .allowed_tool("Bash", Some("git:*"));
    let request = request
        .allowed_tool("WebFetch", Some("domain:a.example"))
        .variable("KEY", VariableSource::Secret);
    // Rules that deny all permissions override all others.
    for target in ["read", "write", "spawn", "network", "env"] {
        let deny = Rule::parse(Effect::Deny, RuleSource::Admin, target)
            .expect("each kind of permission is a valid target");
        policy = policy.rule(deny);
        let _ = policy.authorize(&request);
    }
    assert!(matches!(
        policy.authorize(&request),
        Authorization::Denied(_)
    ));
});

fn check_round_trip<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug,
{
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(
            value
                .to_string()
                .parse::<T>()
                .expect("the text of a value parses"),
            value
        );
    }
}
