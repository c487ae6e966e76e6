//! Granted hosts, and names that imitate them: cases 38 to 42.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use skills_sandbox::{Sandbox, SandboxErrorKind};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    HIDDEN_HOSTS, PRIVATE_HOSTS, REACHED_HOSTS, TO_PROXY, attempts_of,
};

use super::attempts::python_in;
use super::observations::Observations;
use super::scene::create_scene;
use crate::fake_network::{FakeNetwork, PUBLIC};

/// All names resolve to the public address, except those below `inside.test`.
fn resolve(host: &str, count: usize) -> IpAddr {
    match host {
        "loopback.inside.test" => Ipv4Addr::LOCALHOST.into(),
        "private.inside.test" => Ipv4Addr::new(10, 0, 0, 1).into(),
        "metadata.inside.test" => Ipv4Addr::new(169, 254, 169, 254).into(),
        "six.inside.test" => Ipv6Addr::LOCALHOST.into(),
        "mapped.inside.test" => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
        "sometimes.inside.test" if count % 2 == 1 => Ipv4Addr::LOCALHOST.into(),
        _ => PUBLIC.into(),
    }
}

pub(crate) async fn run(observations: &mut Observations) {
    let skill = create_scene(observations.mode)
        .tool("WebFetch(domain:allowed.test)")
        .tool("WebFetch(domain:*.inside.test)");
    if !observations.has_namespaces() {
        let error = skill
            .sandbox()
            .run(skill.job("main.py", ""))
            .await
            .map(|output| output.stdout.text())
            .unwrap_err();
        for case in 38..=42 {
            observations.check(
                case,
                &error.to_string(),
                AttemptResult::Rejected,
                error.kind() == SandboxErrorKind::Rejected,
            );
        }
        return;
    }
    let network = FakeNetwork::new(resolve);
    let sandbox = skill
        .sandbox()
        .connector(Arc::<FakeNetwork>::clone(&network));
    let connected = || network.connected();
    let prelude = format!(
        "{TO_PROXY}SERVER = ('127.0.0.1', {})\n",
        network.server().port()
    );

    let attempts = attempts_of(REACHED_HOSTS);
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    for tried in &tried {
        observations.check(
            38,
            &format!("{tried:?}"),
            AttemptResult::Succeeded,
            tried.result.is_ok(),
        );
    }
    // The proxy connects a tunnel only after the first bytes of the client, and none were sent.
    observations.check(
        38,
        &format!("{} connected", connected()),
        AttemptResult::Succeeded,
        connected() == 3,
    );

    let attempts = attempts_of(HIDDEN_HOSTS);
    let (tried, report) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    let (others, hidden): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 38);
    observations.check_denied(&hidden);
    for tried in &others {
        observations.check(
            38,
            &format!("{tried:?}"),
            AttemptResult::Succeeded,
            tried.result.is_err(),
        );
    }
    for case in [39, 41, 42] {
        observations.check(
            case,
            &format!("{} connected; {:?}", connected(), report.restrictions()),
            AttemptResult::Denied,
            connected() == 3,
        );
    }

    let attempts = attempts_of(PRIVATE_HOSTS);
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
    // A name that resolves to public and private addresses in turn: the address that was checked is
    // the one that is connected to.
    let attempts: Vec<(u8, &str)> =
        std::iter::repeat_n((40, "page('http://sometimes.inside.test/')"), 8).collect();
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    let reached = tried.iter().filter(|tried| tried.result.is_ok()).count();
    let private = network.private();
    observations.check(
        40,
        &format!("{reached} of 8, {private} of them private"),
        AttemptResult::Denied,
        reached == 4 && private == 0,
    );
    observations.finish_group("granted hosts");
}
