//! What a skill names bounds what its runs get.

use skills_policy::{Decision, HostPattern, Mode, Network, Rules};

use crate::decide::{LEAST, allow, decide, request};

const BEYOND: &str = "`allowed-tools` names what the skill needs, and not this";

/// Neither a rule for all programs and hosts nor trust makes `Bash(git:*)` mean another program, or a host.
#[test]
fn a_skill_that_names_one_program_gets_no_other_and_no_host() {
    let host = |text: &str| text.parse::<HostPattern>().unwrap();
    for rules in [allow(&["spawn", "network:*"]), Rules::default().mode(Mode::Trusted)] {
        let git = || request(&[("Bash", Some("git:*"))]);
        let Decision::Granted(grants) = rules.decide(&git()) else { panic!("git is named") };
        assert!(grants.spawn().allows_program("git") && !grants.spawn().allows_program("rm"));
        assert_eq!(*grants.network(), Network::None);
        for more in [git().start("rm"), git().start_any(), git().reach(host("a.example")), git().reach(HostPattern::ANY)] {
            assert!(decide(&rules, &more).ends_with(BEYOND), "{more:?}");
        }
        let fetch = || request(&[("WebFetch", Some("domain:a.example"))]);
        assert_eq!(decide(&rules, &fetch().reach(host("a.example"))), format!("{LEAST} host a.example"));
        for more in [fetch().reach(host("b.example")), fetch().reach(HostPattern::ANY), fetch().start("git")] {
            assert!(decide(&rules, &more).ends_with(BEYOND), "{more:?}");
        }
    }
}
