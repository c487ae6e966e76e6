use proptest::prelude::*;
use skills_policy::{Capability, Decision, Network, Request, Rules, Spawn};

fn any_capability() -> impl Strategy<Value = Capability> {
    proptest::sample::select(Capability::ALL.to_vec())
}

fn any_tools() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    let tool = prop_oneof!["(Read|Write|Bash|WebFetch|Terminal|LS|Edit)", "[A-Za-z_*]{1,12}"];
    let pattern = proptest::option::of(prop_oneof!["[a-z:* ]{0,12}", "domain:[a-z.]{1,12}"]);
    proptest::collection::vec((tool, pattern), 0..6)
}

fn request(tools: &[(String, Option<String>)]) -> Request {
    tools.iter().fold(Request::new("/s"), |request, (tool, pattern)| request.tool(tool, pattern.as_deref()))
}

proptest! {
    /// Whatever a skill asks for, it gets nothing that no rule allows.
    #[test]
    fn nothing_beyond_the_rules(tools in any_tools(), allowed in proptest::collection::vec(any_capability(), 0..3)) {
        let rules = allowed.iter().fold(Rules::default().hosts(["a.example"]), |rules, capability| rules.allow(*capability, "user"));
        if let Decision::Granted(grants) = rules.decide(&request(&tools).workspace("/w")) {
            let may = |capability| allowed.contains(&capability);
            prop_assert!(may(Capability::Spawn) || *grants.spawn() == Spawn::None);
            prop_assert!(may(Capability::Network) || *grants.network() == Network::None);
            prop_assert!(may(Capability::Write) || grants.files().iter().all(|file| file.access() == skills_policy::Access::ReadOnly));
            if let Network::Hosts(hosts) = grants.network() {
                prop_assert!(hosts.iter().all(|host| host == "a.example"));
            }
        }
    }

    /// A deny rule wins wherever it stands.
    #[test]
    fn deny_wins(tools in any_tools(), denied in any_capability(), first in any::<bool>()) {
        let base = Rules::default();
        let base = if first { base.deny(denied, "admin") } else { base };
        let open = Capability::ALL.into_iter().fold(base, |rules, capability| rules.allow(capability, "user")).hosts(["a.example"]);
        let rules = if first { open } else { open.deny(denied, "admin") };
        let request = request(&tools);
        if request.capabilities().contains(&denied) {
            let is_denied = matches!(rules.decide(&request), Decision::Denied(_));
            prop_assert!(is_denied);
        }
    }
}
