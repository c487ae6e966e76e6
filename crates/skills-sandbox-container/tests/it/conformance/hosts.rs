//! Granted hosts, names that imitate them, and sockets next to the proxy: cases 38 to 45.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;

use skills_sandbox_conformance::attempts::{
    FORGET_PROXY, HIDDEN_HOSTS, NEXT_TO_PROXY, PRIVATE_HOSTS, REACHED_HOSTS, TO_PROXY, attempts_of,
    python_script,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::scene::ConnectionCount;

use super::attempts::{create_scene, run_attempts, sandbox};
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

const SOMETIMES: &str = "page('http://sometimes.inside.test/')";

pub(crate) async fn observe(observations: &mut Observations) {
    let skill = create_scene()
        .allow("network:allowed.test")
        .allow("network:*.inside.test");
    let network = FakeNetwork::new(resolve);
    let sandbox = sandbox(&skill).connector(Arc::<FakeNetwork>::clone(&network));
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let prelude = format!(
        "{TO_PROXY}SERVER = ('127.0.0.1', {})\nTCP = {}\n",
        network.server().port(),
        tcp.local_addr().unwrap().port()
    );

    let attempts = attempts_of(REACHED_HOSTS);
    let job = skill.job("main.py", &python_script(&prelude, &attempts));
    let (tried, _) = run_attempts(&sandbox, job, &attempts).await;
    for tried in &tried {
        let what = format!("{tried:?}");
        observations.check(38, &what, AttemptResult::Succeeded, tried.result.is_ok());
    }
    // The proxy connects a tunnel only after the first bytes of the client, and none were sent.
    let connected = network.connected();
    let what = format!("{connected} connected");
    observations.check(38, &what, AttemptResult::Succeeded, connected == 3);
    assert_eq!(network.reached(), 3, "connections without the proxy");

    let mut attempts = attempts_of(HIDDEN_HOSTS);
    attempts.extend(attempts_of(PRIVATE_HOSTS));
    let job = skill.job("main.py", &python_script(&prelude, &attempts));
    let (tried, report) = run_attempts(&sandbox, job, &attempts).await;
    let (others, hidden): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 38);
    observations.check_denied(&hidden);
    for tried in &others {
        let what = format!("{tried:?}");
        observations.check(38, &what, AttemptResult::Succeeded, tried.result.is_err());
    }
    for case in [39, 40, 41, 42] {
        let what = format!("{} connected; {report:?}", network.connected());
        let is_same = network.connected() == 3;
        observations.check(case, &what, AttemptResult::Denied, is_same);
    }

    // A name that resolves to public and private addresses in turn: the address that was checked is
    // the one that is connected to. Then the proxy is forgotten.
    let mut attempts = vec![(40, SOMETIMES); 8];
    attempts.push((43, "forget()"));
    attempts.extend(attempts_of(NEXT_TO_PROXY));
    let forget = FORGET_PROXY.replace('\n', "\n    ");
    let prelude = format!("{prelude}import urllib.request\ndef forget():\n    {forget}\n");
    let job = skill.job("main.py", &python_script(&prelude, &attempts));
    let (mut tried, _) = run_attempts(&sandbox, job, &attempts).await;
    let next = tried.split_off(9);
    let reached = tried[..8]
        .iter()
        .filter(|tried| tried.result.is_ok())
        .count();
    let private = network.private();
    let what = format!("{reached} of 8, {private} of them private");
    let is_public = reached == 4 && private == 0;
    observations.check(40, &what, AttemptResult::Denied, is_public);
    observations.check_denied(&next);
    let is_alone = tcp.connection_count() == 0;
    observations.check(43, "connections", AttemptResult::Denied, is_alone);
}
