//! Properties of all rules and all requests, checked against a [model](crate::model) that decides
//! by enumeration.
//!
//! Each property classifies its cases and fails when one of its classes is rare, so that none
//! passes because nothing happens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use skills_policy::{
    Answer, ApprovalMode, Authorization, Decision, DecisionReason, Effect, HostPattern,
    NewContentPolicy, PermissionManager, Policy, Request, VariableSource,
};

use crate::approve::{Host, block_on};
use crate::model::{Act, Case, Outcome, RuleSpec, UNIVERSE, any_case, any_rule, possible};

const CASES: u32 = 600;
/// The fewest cases of each class.
const MIN_CASES: u32 = CASES / 12;

/// Checks a property that returns the class of its case.
pub(crate) fn check<S: Strategy>(
    cases: S,
    classes: &[&str],
    property: impl Fn(S::Value) -> Result<&'static str, TestCaseError>,
) {
    let counts = RefCell::new(BTreeMap::<&str, u32>::new());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&cases, |case| {
        *counts.borrow_mut().entry(property(case)?).or_default() += 1;
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let counts = counts.into_inner();
    for class in classes {
        assert!(
            counts.get(class).is_some_and(|count| *count >= MIN_CASES),
            "too few cases are {class}: {counts:?}"
        );
    }
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allowed => "allowed",
        Outcome::Asked => "asked",
        Outcome::Denied => "denied",
    }
}

/// Returns what a decision makes possible, when it grants.
fn granted(decision: &Authorization) -> Option<Vec<Act>> {
    match decision {
        Authorization::Granted(grants) => Some(possible(grants)),
        Authorization::Denied(_) => None,
    }
}

/// The model has no order, so neither the order of rules nor that of entries decides anything.
#[test]
fn decisions_match_the_reference_model() {
    check(any_case(), &["allowed", "asked", "denied"], |case| {
        let decision = case.rules().authorize(&case.request());
        let outcomes = decision.decisions().iter().map(|decision| {
            let outcome = match (decision.decision(), decision.reason()) {
                (Decision::Allow, _) => Outcome::Allowed,
                (_, DecisionReason::NoApprover | DecisionReason::StrictMode) => Outcome::Asked,
                _ => Outcome::Denied,
            };
            (decision.permission().to_string(), outcome)
        });
        prop_assert_eq!(outcomes.collect::<BTreeMap<_, _>>(), case.outcomes());
        prop_assert_eq!(
            decision.decisions().len(),
            case.outcomes().len(),
            "each thing is decided once"
        );
        prop_assert_eq!(
            granted(&decision),
            (case.worst() == Outcome::Allowed).then(|| case.acts())
        );
        if let Authorization::Granted(grants) = decision {
            prop_assert_eq!(
                grants.limits().memory_bytes,
                case.memory.0.min(case.memory.1)
            );
        }
        Ok(class(case.worst()))
    });
}

/// An approver is asked if rules leave something open and deny nothing, and an allowing response
/// grants the request without the denied hosts.
#[test]
fn responses_never_override_a_deny_rule() {
    check(any_case(), &["allowed", "asked", "denied"], |case| {
        let answered = |answer: Answer| {
            let host = Host::new(answer);
            let manager =
                PermissionManager::new(case.rules().with_new_content(NewContentPolicy::Allow))
                    .approver(host.clone());
            (
                granted(&block_on(manager.authorize(&case.request(), None))),
                host.asked(),
            )
        };
        let is_strict = case.mode == ApprovalMode::Strict;
        let (yes, no, asked) = match case.worst() {
            Outcome::Allowed => (true, true, 0),
            Outcome::Asked => (!is_strict, false, usize::from(!is_strict)),
            Outcome::Denied => (false, false, 0),
        };
        prop_assert_eq!(
            answered(Answer::AllowOnce),
            (yes.then(|| case.acts()), asked)
        );
        prop_assert_eq!(answered(Answer::Deny), (no.then(|| case.acts()), asked));
        for act in answered(Answer::AllowOnce).0.unwrap_or_default() {
            prop_assert!(
                !case.rules.iter().any(|rule| rule.denies(act)),
                "{:?} is denied",
                act
            );
        }
        Ok(class(case.worst()))
    });
}

/// An additional `deny` or `ask` rule, or an `allow` rule of an untrusted project, never adds to
/// the grants, with and without an approver.
#[test]
fn restricting_rules_never_widen_grants() {
    let narrowing = any_case().prop_flat_map(|case| {
        let acts = if case.acts().is_empty() {
            UNIVERSE.to_vec()
        } else {
            case.acts()
        };
        let of_project = any_rule(vec![Effect::Allow], &acts).prop_map(RuleSpec::of_project);
        let more =
            prop_oneof![3 => any_rule(vec![Effect::Ask, Effect::Deny], &acts), 1 => of_project];
        (
            Just(Case {
                is_project_trusted: false,
                ..case
            }),
            more,
        )
    });
    check(narrowing, &["narrower", "the same"], |(case, more)| {
        let acts = |case: &Case| {
            let yes =
                PermissionManager::new(case.rules().with_new_content(NewContentPolicy::Allow))
                    .approver(Arc::new(Answer::AllowOnce));
            let decisions = [
                case.rules().authorize(&case.request()),
                block_on(yes.authorize(&case.request(), None)),
            ];
            decisions.map(|decision| granted(&decision).unwrap_or_default())
        };
        let narrowed = Case {
            rules: [&case.rules[..], &[more]].concat(),
            ..case.clone()
        };
        let (before, after) = (acts(&case), acts(&narrowed));
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(
                after.iter().all(|act| before.contains(act)),
                "{:?} {:?}",
                before,
                after
            );
            prop_assert!(!after.iter().any(|act| more.denies(*act)));
        }
        Ok(if before == after {
            "the same"
        } else {
            "narrower"
        })
    });
}

/// Returns entries of `allowed-tools` and variables as a skill can write them, most of them valid.
fn any_texts() -> impl Strategy<Value = Request> {
    let entry = |tool: &'static str, pattern: &'static str| (tool, proptest::option::of(pattern));
    let tools = prop_oneof![
        3 => entry("Bash|Terminal", "(git|rm|ls)(:\\*| [a-z]{1,3})"),
        3 => entry("Read|LS|Write|Edit", "(\\./)?(sub|\\.\\.|a/b)?/?\\*{0,2}"),
        3 => entry("WebFetch|WebSearch", "domain:(\\*|(\\*\\.)?([a-c]\\.)?(example|test))"),
        1 => entry("Bash|Write|WebFetch|Task|[A-Za-z_*]{1,12}|.{0,8}", "[a-z:* /.]{0,12}|.{0,10}"),
    ];
    let tools = proptest::collection::vec(tools, 0..3);
    let name = prop_oneof![8 => "KEY|AWS_ID", 1 => "PATH|LD_PRELOAD", 1 => "[A-Z_=]{0,8}"];
    let variables = proptest::collection::vec(
        (
            name,
            select(vec![VariableSource::Secret, VariableSource::Undeclared]),
        ),
        0..2,
    );
    (tools, variables).prop_map(|(tools, variables)| {
        let request = Request::new("/skills/s")
            .content_digest("1")
            .workspace("/w");
        let request = tools.iter().fold(request, |request, (tool, pattern)| {
            request.allowed_tool(tool, pattern.as_deref())
        });
        variables
            .into_iter()
            .fold(request, |request, (name, origin)| {
                request.variable(name, origin)
            })
    })
}

/// For any text of a skill, a run can do only what a rule allows and none denies, and it cannot
/// change the skill.
#[test]
fn no_request_text_gets_more_than_rules_allow() {
    let effects = || [&[Effect::Allow; 19][..], &[Effect::Deny]].concat();
    let cases = (
        any_texts(),
        proptest::collection::vec(any_rule(effects(), UNIVERSE), 0..20),
    );
    check(cases, &["privileged", "denied"], |(request, rules)| {
        let decision = Policy::default()
            .with_rules(rules.iter().map(RuleSpec::rule))
            .authorize(&request);
        let Authorization::Granted(grants) = &decision else {
            return Ok("denied");
        };
        let acts = possible(grants);
        for act in &acts {
            prop_assert!(
                matches!(act, Act::Read(_)) || rules.iter().any(|rule| rule.allows(*act, false)),
                "{:?} is not allowed",
                act
            );
            prop_assert!(
                !rules.iter().any(|rule| rule.denies(*act)),
                "{:?} is denied",
                act
            );
        }
        prop_assert!(
            grants
                .variables()
                .iter()
                .all(|name| !name.starts_with("LD_"))
        );
        prop_assert!(
            grants
                .files()
                .iter()
                .all(|file| file.path().starts_with("/w")
                    || file.path() == Path::new("/skills/s")
                    || rules.iter().any(|rule| rule.names_path(file.path())))
        );
        prop_assert!(
            grants
                .innermost_writable("/skills/s/SKILL.md".as_ref())
                .is_none()
        );
        Ok(if acts.iter().all(|act| matches!(act, Act::Read(_))) {
            "read only"
        } else {
            "privileged"
        })
    });
}

/// A text that parses is displayed in a form that parses to the same pattern, and it covers itself
/// and each host that it names.
#[test]
fn host_patterns_are_parsed_and_displayed() {
    let text =
        prop_oneof![3 => "(\\*\\.)?([A-Za-z0-9-]{1,3}\\.){0,2}[A-Za-z]{1,3}\\.?", 1 => ".{0,20}"];
    check(text, &["a pattern", "refused"], |text| {
        let Ok(pattern) = text.parse::<HostPattern>() else {
            return Ok("refused");
        };
        prop_assert!(pattern.covers(&pattern));
        prop_assert_eq!(
            &pattern.to_string().parse::<HostPattern>().unwrap(),
            &pattern
        );
        let host = text.replace('*', "x");
        // Uppercase can be other letters in other scripts.
        prop_assert!(pattern.matches(&host) && pattern.matches(&host.to_ascii_uppercase()));
        let other = host.trim_end_matches('.').to_owned() + "x";
        prop_assert_eq!(pattern.matches(&other), pattern == HostPattern::ANY);
        Ok("a pattern")
    });
}
