//! Names of packages, hosts, programs and variables in all spellings, and rules that match nothing.

use proptest::prelude::*;
use proptest::sample::select;
use skills_policy::{Decision, Effect, HostPattern, Policy, Request, Rule, RuleSource};

use crate::property::check;

/// A name in its canonical spelling and in another one.
#[derive(Debug, Clone)]
struct Spelled {
    canonical: String,
    other: String,
}

fn with_case(text: &str, capitals: u32) -> String {
    let characters = text.chars().enumerate();
    characters
        .map(|(index, c)| match capitals >> (index % 32) & 1 {
            1 => c.to_ascii_uppercase(),
            _ => c,
        })
        .collect()
}

fn pypi_package() -> impl Strategy<Value = Spelled> {
    let separator = select(vec!["-", "_", ".", "--", "_.", "-._"]);
    let words = prop::collection::vec(("[a-z0-9]{1,4}", separator), 1..4);
    (words, any::<u32>()).prop_map(|(words, capitals)| {
        let names: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        let mut other = String::new();
        for (index, (word, separator)) in words.iter().enumerate() {
            other.push_str(if index > 0 { separator } else { "" });
            other.push_str(&with_case(word, capitals));
        }
        Spelled {
            canonical: format!("pypi:{}", names.join("-")),
            other: format!("pypi:{other}"),
        }
    })
}

fn host() -> impl Strategy<Value = Spelled> {
    let label = select(vec![
        ("a", "a"),
        ("xn--bcher-kva", "b\u{fc}cher"),
        ("xn--bcher-kva", "bu\u{308}cher"),
        ("b2", "\u{ff42}\u{ff12}"),
        ("xn--fsqu00a", "\u{4f8b}\u{5b50}"),
    ]);
    let labels = prop::collection::vec(label, 1..4);
    let dot = select(vec![".", "\u{3002}", "\u{ff0e}"]);
    let end = select(vec!["", ".", ":8080"]);
    (labels, dot, end, any::<u32>()).prop_map(|(labels, dot, end, capitals)| {
        let of = |part: fn(&(&'static str, &'static str)) -> &'static str| {
            labels.iter().map(part).collect::<Vec<_>>()
        };
        let port = if end == ":8080" { end } else { "" };
        let other = of(|label| label.1).join(dot);
        Spelled {
            canonical: format!("{}.example{port}", of(|label| label.0).join(".")),
            other: format!("{}{dot}example{end}", with_case(&other, capitals)),
        }
    })
}

fn rule(effect: Effect, text: &str) -> Rule {
    Rule::parse(effect, RuleSource::User, text).unwrap()
}

/// Returns the decision for the only permission that a request asks for by name.
fn decide(rules: &[Rule], request: &Request) -> (Decision, String) {
    let policy = Policy::default().with_rules(rules.iter().cloned());
    let authorization = policy.authorize(request);
    let decision = authorization.decisions().first().unwrap();
    (decision.decision(), decision.explanation())
}

fn check_spelling(
    capability: &str,
    spelled: &Spelled,
    request: impl Fn(&str) -> Request,
) -> Result<&'static str, TestCaseError> {
    let Spelled { canonical, other } = spelled;
    let target = |name: &str| format!("{capability}:{name}");
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        let expected = decide(&[rule(effect, &target(canonical))], &request(canonical));
        for (of_rule, of_request) in [(other, canonical), (canonical, other), (other, other)] {
            let rules = [rule(effect, &target(of_rule))];
            prop_assert_eq!(&decide(&rules, &request(of_request)), &expected);
        }
    }
    for allow in [canonical, other] {
        let rules = [
            rule(Effect::Allow, &target(allow)),
            rule(Effect::Deny, &target(other)),
        ];
        prop_assert_eq!(decide(&rules, &request(canonical)).0, Decision::Deny);
    }
    Ok(if canonical == other { "same" } else { "other" })
}

#[test]
fn a_package_is_decided_alike_in_every_spelling() {
    check(pypi_package(), &["other"], |spelled| {
        check_spelling("packages", &spelled, |name| {
            Request::new("/skills/s").package(name, "1")
        })
    });
}

#[test]
fn a_host_is_decided_alike_in_every_spelling() {
    check(host(), &["other"], |spelled| {
        check_spelling("network", &spelled, |name| {
            let host: HostPattern = name.parse().unwrap();
            Request::new("/skills/s").connect(host)
        })
    });
}

fn decide_package(effect: Effect, pattern: &str, package: &str) -> Decision {
    let rules = [rule(effect, &format!("packages:{pattern}"))];
    decide(&rules, &Request::new("/skills/s").package(package, "1")).0
}

#[test]
fn a_denied_package_is_denied_in_every_spelling_of_its_pattern() {
    for (pattern, package) in [
        ("pypi:python_dateutil", "pypi:python-dateutil"),
        ("pypi:Python..DateUtil", "pypi:python-dateutil"),
        ("pypi:python_*", "pypi:python-dateutil"),
        ("pypi:PYTHON*", "pypi:python-dateutil"),
        ("pypi:python-dateutil", "pypi:python._dateutil"),
        ("npm:LeftPad", "npm:leftpad"),
        ("npm:left*", "npm:LeftPad"),
        ("npm:@Acme/*", "npm:@acme/tools"),
        // A text that cannot be compared.
        ("npm:left-pad", "pypi:"),
        ("npm:left-pad", "npm:../left-pad"),
    ] {
        let denied = [rule(Effect::Allow, "packages")];
        assert_eq!(
            decide(&denied, &Request::new("/skills/s").package(package, "1")).0,
            Decision::Allow
        );
        assert_eq!(
            decide_package(Effect::Deny, pattern, package),
            Decision::Deny,
            "{pattern} {package}"
        );
    }
    // A separator at the end of a prefix is a part of it.
    let rules = [
        rule(Effect::Allow, "packages"),
        rule(Effect::Deny, "packages:pypi:python_*"),
    ];
    let request = Request::new("/skills/s").package("pypi:pythonic", "1");
    assert_eq!(decide(&rules, &request).0, Decision::Allow);
}

/// `JSONStream` and `jsonstream` are two packages of npm.
#[test]
fn an_allowed_package_of_npm_is_allowed_with_its_capitals_only() {
    let allows =
        |pattern, package| decide_package(Effect::Allow, pattern, package) == Decision::Allow;
    assert!(allows("npm:JSONStream", "npm:JSONStream"));
    assert!(!allows("npm:jsonstream", "npm:JSONStream"));
    assert!(!allows("npm:JSONStream", "npm:jsonstream"));
    assert!(!allows("npm:json*", "npm:JSONStream"));
}

#[cfg(not(any(target_os = "macos", windows)))]
#[test]
fn programs_are_compared_with_case() {
    let rules = [
        rule(Effect::Allow, "spawn"),
        rule(Effect::Deny, "spawn:Git"),
    ];
    let decision = |program| decide(&rules, &Request::new("/skills/s").spawn(program)).0;
    assert_eq!(
        (decision("Git"), decision("git")),
        (Decision::Deny, Decision::Allow)
    );
}
