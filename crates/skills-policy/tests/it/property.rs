use proptest::prelude::*;
use skills_policy::{
    Access, Answer, Capability, Decision, Effect, HostPattern, Layer, Network, NewContent, Origin, PermissionManager, Request, Rule, Rules,
    Spawn,
};

use crate::approve::block_on;

fn any_layer() -> impl Strategy<Value = Layer> {
    proptest::sample::select(vec![Layer::Admin, Layer::User, Layer::Project, Layer::Session])
}

fn any_rule(effect: impl Strategy<Value = Effect>) -> impl Strategy<Value = Rule> {
    let target = proptest::sample::select(vec![
        "read",
        "write",
        "write:/w",
        "write:/w/sub",
        "read:/w",
        "spawn",
        "spawn:git",
        "spawn:rm",
        "network:*",
        "network:a.example",
        "network:*.example",
        "env:*",
        "env:KEY",
    ]);
    let within = proptest::sample::select(vec![None, Some("/skills"), Some("/other")]);
    (effect, any_layer(), target, within).prop_map(|(effect, layer, target, within)| {
        let rule = Rule::parse(effect, layer, target).unwrap();
        within.map_or(rule.clone(), |within| rule.within(within))
    })
}

fn any_effect() -> impl Strategy<Value = Effect> {
    proptest::sample::select(vec![Effect::Allow, Effect::Ask, Effect::Deny])
}

/// Whatever a skill may write into its frontmatter.
fn any_request() -> impl Strategy<Value = Request> {
    let tool = prop_oneof!["(Read|Write|Bash|WebFetch|WebSearch|Terminal|LS|Edit)", "[A-Za-z_*]{1,12}", ".{0,8}"];
    let pattern = proptest::option::of(prop_oneof!["[a-z:* /.]{0,12}", "domain:[a-z.*]{1,12}", "(git|rm|curl):\\*", ".{0,10}"]);
    let variables = proptest::collection::vec(
        ("(KEY|LD_PRELOAD|[A-Z_=]{0,8})", proptest::sample::select(vec![Origin::Secret, Origin::Undeclared])),
        0..3,
    );
    (proptest::collection::vec((tool, pattern), 0..6), variables, any::<bool>()).prop_map(|(tools, variables, offers)| {
        let request = tools.iter().fold(Request::new("/skills/s"), |request, (tool, pattern)| request.tool(tool, pattern.as_deref()));
        let request = variables.into_iter().fold(request, |request, (name, origin)| request.variable(name, origin)).workspace("/w");
        if offers { request.write("/elsewhere") } else { request }
    })
}

fn allows(rules: &[Rule], text: &str) -> bool {
    rules.iter().any(|rule| rule.to_string().starts_with(text))
}

proptest! {
    /// Whatever a skill asks for, it gets nothing that no rule allows, and nothing that makes itself writable.
    #[test]
    fn nothing_beyond_the_rules(request in any_request(), rules in proptest::collection::vec(any_rule(any_effect()), 0..5)) {
        let decider = Rules::default().with_rules(rules.clone());
        if let Decision::Granted(grants) = decider.decide(&request) {
            prop_assert!(allows(&rules, "allow spawn") || *grants.spawn() == Spawn::None);
            prop_assert!(allows(&rules, "allow network") || *grants.network() == Network::None);
            prop_assert!(allows(&rules, "allow env") || grants.variables().is_empty());
            prop_assert!(allows(&rules, "allow write") || grants.files().iter().all(|file| file.access() == Access::ReadOnly));
            prop_assert!(grants.variables().iter().all(|name| !name.starts_with("LD_")));
            for file in grants.files() {
                let holds_skill = file.path().starts_with("/skills/s") || std::path::Path::new("/skills/s").starts_with(file.path());
                prop_assert!(file.access() == Access::ReadOnly || !holds_skill);
                prop_assert!(["/skills/s", "/w", "/elsewhere"].iter().any(|may| file.path().starts_with(may)));
            }
        }
    }

    /// The order of rules decides nothing.
    #[test]
    fn order_does_not_matter(request in any_request(), rules in proptest::collection::vec(any_rule(any_effect()), 0..6), seed in any::<u64>()) {
        let mut shuffled = rules.clone();
        shuffled.sort_by_key(|rule| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            (seed, rule.to_string()).hash(&mut hasher);
            hasher.finish()
        });
        let fates = |rules: Vec<Rule>| {
            let decision = Rules::default().with_rules(rules).decide(&request);
            decision.verdicts().iter().map(|verdict| (verdict.permission().clone(), verdict.fate())).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(rules), fates(shuffled));
    }

    /// One more deny or ask, or one more allow of an untrusted project, never gives more; nor does anything that a skill asks for in addition.
    #[test]
    fn narrowing_never_widens(
        request in any_request(),
        rules in proptest::collection::vec(any_rule(any_effect()), 0..5),
        more in prop_oneof![any_rule(Just(Effect::Deny)), any_rule(Just(Effect::Ask))],
        tool in "(Read|Write|Bash|WebFetch|[a-z]{3})",
    ) {
        let decider = Rules::default().with_rules(rules);
        let before = decider.decide(&request);
        let is_denied = |decision: &Decision| matches!(decision, Decision::Denied(_));
        let narrowed = decider.clone().rule(more).decide(&request);
        prop_assert!(!is_denied(&before) || is_denied(&narrowed));
        let project = Rule::parse(Effect::Allow, Layer::Project, "spawn").unwrap();
        prop_assert_eq!(is_denied(&before), is_denied(&decider.clone().rule(project).decide(&request)));
        if let Decision::Granted(after) = decider.decide(&request.clone().tool(&tool, None)) {
            for verdict in after.verdicts() {
                let alone = decider.decide(&Request::new("/skills/s").tool(&tool, None).workspace("/w"));
                let known = before.verdicts().iter().chain(alone.verdicts()).any(|v| v.permission() == verdict.permission());
                prop_assert!(known);
            }
        }
    }

    /// What one person says no to is denied, and no answer, however often, passes a deny.
    #[test]
    fn answers_never_pass_a_deny(request in any_request(), rules in proptest::collection::vec(any_rule(any_effect()), 0..4), denied in any_rule(Just(Effect::Deny))) {
        let rules = Rules::default().with_rules(rules).new_content(NewContent::Ask).rule(denied);
        let strictly = rules.decide(&request);
        let yes = PermissionManager::new(rules.clone()).approver(std::sync::Arc::new(Answer::Once));
        if let Decision::Granted(grants) = block_on(yes.decide(&request, None)) {
            for verdict in strictly.verdicts() {
                let by_rule = verdict.reason().to_string().contains("`deny ");
                prop_assert!(!by_rule || !grants.verdicts().iter().any(|granted| granted.permission() == verdict.permission()));
            }
        }
        let no = PermissionManager::new(rules).approver(std::sync::Arc::new(Answer::Deny));
        prop_assert!(matches!(block_on(no.decide(&request, None)), Decision::Denied(_)));
    }

    /// Reading a pattern gives a pattern that covers itself, or an error.
    #[test]
    fn hosts_are_read_or_refused(text in ".{0,20}") {
        if let Ok(pattern) = text.parse::<HostPattern>() {
            prop_assert!(pattern.covers(&pattern));
            prop_assert_eq!(pattern.to_string().parse::<HostPattern>().unwrap(), pattern);
        }
    }
}

#[test]
fn capabilities_have_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> = Capability::ALL.iter().map(|capability| capability.as_str()).collect();
    assert_eq!(names.len(), Capability::ALL.len());
}
