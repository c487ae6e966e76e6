//! What `allow` rules add to the request of a skill.

use skills_policy::{Capability, Effect, Policy, Request, Rule, RuleSource};

use crate::decide::{LEAST, allow, decide, request, rules};

/// What the operator allows needs no declaration, since few skills declare anything.
#[test]
fn what_rules_allow_by_name_is_also_requested() {
    let named = ["spawn:git", "network:a.example", "read:/data", "write:/out"];
    let expected = format!("{LEAST} /data=/data:ro /out=/out:rw host a.example program git");
    assert_eq!(decide(&allow(&named), &request(&[])), expected);
    // Also if the skill declares something else.
    let declared = request(&[("Bash", Some("ls:*"))]).drop_capability(Capability::Write);
    assert_eq!(
        decide(&allow(&[&named[..], &["spawn:ls"]].concat()), &declared),
        format!("{LEAST} /data=/data:ro host a.example program git program ls")
    );
    // Variables are secrets, so they have to be declared, and `write` alone names no directory.
    assert_eq!(decide(&allow(&["env:KEY", "write"]), &request(&[])), LEAST);
    // A rule that is restricted or overruled adds nothing, and denies nothing either.
    let overruled = rules(&[
        (Effect::Allow, RuleSource::User, "spawn"),
        (Effect::Deny, RuleSource::Admin, "spawn:curl"),
        (Effect::Allow, RuleSource::Project, "spawn:make"),
        (Effect::Allow, RuleSource::User, "network:b.example"),
        (Effect::Ask, RuleSource::User, "network"),
        (Effect::Allow, RuleSource::User, "write:/skills/a/scripts"),
    ]);
    assert_eq!(decide(&overruled, &request(&[])), LEAST);
}

/// A rule about everything, written for no skill in particular, does not widen a skill that says
/// which programs it needs; one of this run, or for its directory, does.
#[test]
fn standing_rules_for_all_programs_respect_a_declaration() {
    let declared = request(&[("Bash", Some("git:*"))]);
    let narrow = format!("{LEAST} program git");
    assert_eq!(decide(&allow(&["spawn", "network:*"]), &declared), narrow);
    let invocation = rules(&[(Effect::Allow, RuleSource::Invocation, "spawn")]);
    assert_eq!(
        decide(&invocation, &declared),
        format!("{LEAST} any program")
    );
    let rule = Rule::parse(Effect::Allow, RuleSource::User, "spawn").unwrap();
    let within = Policy::default().rule(rule.within("/skills/a"));
    assert_eq!(decide(&within, &declared), format!("{LEAST} any program"));
}

#[test]
fn unused_rules_of_the_invocation_are_named() {
    let rules = rules(&[
        (Effect::Allow, RuleSource::Invocation, "spawn:git"),
        (Effect::Allow, RuleSource::Invocation, "env:KEY"),
        (Effect::Allow, RuleSource::Invocation, "spawn:rm"),
        (Effect::Deny, RuleSource::Admin, "spawn:rm"),
        (Effect::Allow, RuleSource::User, "env:OTHER"),
    ]);
    let authorization = rules.authorize(&request(&[]));
    let unused: Vec<String> = rules
        .unused_invocation_rules(authorization.decisions())
        .into_iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        unused,
        ["allow env:KEY (invocation)", "allow spawn:rm (invocation)"]
    );
}

/// They can do nothing in a sandbox that a script cannot.
#[test]
fn programs_that_only_read_need_no_rule() {
    let request = |program: &str| Request::for_host_command("/work").spawn(program);
    let rules = Policy::default();
    for program in ["ls", "cat", "grep", "file", "head", "basename", "wc"] {
        assert!(
            decide(&rules, &request(program)).contains(program),
            "{program}"
        );
    }
    for program in [
        "find", "sort", "sed", "awk", "tee", "env", "xargs", "sh", "less", "git",
    ] {
        assert!(
            decide(&rules, &request(program)).starts_with("permission denied: "),
            "{program}"
        );
    }
    for rule in [
        Rule::parse(Effect::Deny, RuleSource::User, "spawn").unwrap(),
        Rule::parse(Effect::Ask, RuleSource::Project, "spawn:cat").unwrap(),
    ] {
        assert!(
            decide(&rules.clone().rule(rule), &request("cat")).starts_with("permission denied: ")
        );
    }
}

/// `allowed-tools` limit a caller that is a model, not the operator.
#[test]
fn a_rule_for_all_programs_covers_undeclared_commands() {
    let command = request(&[("Read", None)]).spawn("git");
    assert!(decide(&Policy::default(), &command).contains("allowed-tools"));
    let allowed = rules(&[(Effect::Allow, RuleSource::Invocation, "spawn")]);
    assert!(decide(&allowed, &command).contains("any program"));
    let denied = rules(&[
        (Effect::Allow, RuleSource::Invocation, "spawn"),
        (Effect::Deny, RuleSource::User, "spawn:git"),
    ]);
    assert!(decide(&denied, &command).contains("allowed-tools"));
}
