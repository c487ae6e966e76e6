//! The declared tools of a skill limit the requests of callers.

use skills_policy::{
    ApprovalMode, Authorization, Effect, HostPattern, NetworkGrant, Policy, RuleSource,
};

use crate::decide::{LEAST, allow, decide, request, rules};

const NOT_DECLARED: &str = "the `allowed-tools` of the skill do not include it";

/// Neither a rule for all programs and hosts nor trusted mode extends `Bash(git:*)` to another
/// program or to a host.
#[test]
fn a_skill_that_names_one_program_gets_no_other_and_no_host() {
    let host = |text: &str| text.parse::<HostPattern>().unwrap();
    for rules in [
        allow(&["spawn", "network:*"]),
        Policy::default().with_mode(ApprovalMode::Trusted),
    ] {
        let git = || request(&[("Bash", Some("git:*"))]);
        let Authorization::Granted(grants) = rules.authorize(&git()) else {
            panic!("the skill declares git")
        };
        assert!(grants.spawn().allows_program("git") && !grants.spawn().allows_program("rm"));
        assert_eq!(*grants.network(), NetworkGrant::None);
        for more in [
            git().spawn("rm"),
            git().spawn_any(),
            git().connect(host("a.example")),
            git().connect(HostPattern::ANY),
        ] {
            assert!(decide(&rules, &more).ends_with(NOT_DECLARED), "{more:?}");
        }
        let fetch = || request(&[("WebFetch", Some("domain:a.example"))]);
        assert_eq!(
            decide(&rules, &fetch().connect(host("a.example"))),
            format!("{LEAST} host a.example")
        );
        for more in [
            fetch().connect(host("b.example")),
            fetch().connect(HostPattern::ANY),
            fetch().spawn("git"),
        ] {
            assert!(decide(&rules, &more).ends_with(NOT_DECLARED), "{more:?}");
        }
    }
}

/// The skill chose its interpreter, so `allowed-tools` without it leave it to rules and answers.
#[test]
fn the_program_of_a_first_line_is_left_to_rules() {
    for tools in [("Read", None), ("Bash", Some("git:*"))] {
        let request = || request(&[tools]).omit_ungranted().interpreter("Rscript");
        let granted = decide(&allow(&["spawn:Rscript"]), &request());
        assert!(granted.contains("program Rscript"), "{granted}");
        let trusted = Policy::default().with_mode(ApprovalMode::Trusted);
        for policy in [Policy::default(), trusted] {
            let denied = decide(&policy, &request());
            let expected =
                "spawn `Rscript` (requested by the first line of its script): no rule allows it";
            assert!(denied.contains(expected), "{denied}");
        }
        let denied = rules(&[(Effect::Deny, RuleSource::User, "spawn:Rscript")]);
        assert!(decide(&denied, &request()).contains("denied by rule"));
    }
}
