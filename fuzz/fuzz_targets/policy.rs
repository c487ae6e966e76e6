//! Parses a text as a policy file, and each of its lines as a rule, as options hold them, and
//! decides by all of them.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use skills_policy::{
    Decision, Effect, HostPattern, Layer, Origin, PolicyFile, Request, Rule, Rules, Target,
    VariablePattern,
};

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];
const LAYERS: [Layer; 4] = [Layer::Admin, Layer::User, Layer::Project, Layer::Session];

fuzz_target!(|text: &str| {
    let file = PolicyFile::parse(text, Layer::User, "policy.toml");
    let mut rules = file
        .map(|file| {
            Rules::default()
                .with_rules(file.rules().iter().cloned())
                .narrow(file.limits())
        })
        .unwrap_or_default();
    for (index, line) in text.lines().enumerate() {
        is_written_as_it_is_read::<Target>(line);
        is_written_as_it_is_read::<VariablePattern>(line);
        is_written_as_it_is_read::<HostPattern>(line);
        if let Ok(pattern) = line.parse::<HostPattern>() {
            assert!(pattern.covers(&pattern));
        }
        let (effect, layer) = (
            EFFECTS[index % EFFECTS.len()],
            LAYERS[index / EFFECTS.len() % LAYERS.len()],
        );
        if let Ok(rule) = Rule::parse(effect, layer, line) {
            let _ = rule.to_string();
            rules = rules.rule(rule);
        }
    }
    let request = Request::new("/skills/s")
        .workspace("/w")
        .tool("Write", None)
        .tool("Bash", Some("git:*"));
    let request = request
        .tool("WebFetch", Some("domain:a.example"))
        .variable("KEY", Origin::Secret);
    // A rule that denies everything wins over all others.
    for target in ["read", "write", "spawn", "network", "env"] {
        let deny = Rule::parse(Effect::Deny, Layer::Admin, target)
            .expect("a kind of permission may be denied");
        rules = rules.rule(deny);
        let _ = rules.decide(&request);
    }
    assert!(matches!(rules.decide(&request), Decision::Denied(_)));
});

fn is_written_as_it_is_read<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug,
{
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(
            value
                .to_string()
                .parse::<T>()
                .expect("what was written is read"),
            value
        );
    }
}
