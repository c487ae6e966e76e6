//! Granted hosts, through the proxy, from a network namespace with nothing else in it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use skills_sandbox::Sandbox;
use skills_sandbox_linux::IsolationMode;

use crate::fake_network::{FakeNetwork, PUBLIC};
use crate::skill::{Skill, skip_without};

#[tokio::test(flavor = "multi_thread")]
async fn listed_hosts_are_reached_through_the_proxy_and_nothing_else_is() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let network = FakeNetwork::new(|host, _| {
        if host == "inside.test" {
            Ipv4Addr::LOCALHOST.into()
        } else {
            PUBLIC.into()
        }
    });
    let server = network.server();
    let skill = Skill::new(IsolationMode::Namespaces)
        .tool("WebFetch(domain:allowed.test)")
        .tool("WebFetch(domain:inside.test)");
    let script = format!(
        "import socket, urllib.request, urllib.error\n\
         print(urllib.request.urlopen('http://allowed.test/').read())\n\
         for host in ['other.test', 'inside.test', '127.0.0.1:{port}', 'allowed.test.other.test']:\n    \
             try: print(host, urllib.request.urlopen('http://' + host + '/').read())\n    \
             except urllib.error.HTTPError as e: print(host.split(':')[0], e.code)\n\
         for address in [('{host}', {port}), ('93.184.215.14', 80), ('::1', {port})]:\n    \
             try: print(socket.create_connection(address, 2))\n    \
             except OSError as e: print(type(e).__name__)\n\
         for kind in [(socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_NETLINK, socket.SOCK_RAW)]:\n    \
             try: print(socket.socket(*kind))\n    \
             except OSError as e: print(type(e).__name__)\n",
        host = server.ip(),
        port = server.port()
    );
    let sandbox = skill
        .sandbox()
        .connector(Arc::<FakeNetwork>::clone(&network));
    let output = sandbox.run(skill.job("main.py", &script)).await.unwrap();
    assert_eq!(output.stderr.text(), "");
    insta::assert_snapshot!(output.stdout.text(), @r"
    b'hello\n'
    other.test 403
    inside.test 403
    127.0.0.1 403
    allowed.test.other.test 403
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    ");
    assert_eq!(
        (network.connected(), network.private(), network.reached()),
        (1, 0, 1)
    );
    let [reached] = &output.connections[..] else {
        panic!("{:?}", output.connections)
    };
    assert_eq!((reached.host.as_str(), reached.count), ("allowed.test", 1));
    let restriction = output
        .enforcement
        .restrictions()
        .iter()
        .find(|restriction| restriction.name() == "network")
        .unwrap();
    insta::assert_snapshot!(restriction.to_string().replace(&server.port().to_string(), "PORT"), @"network enforced: separate network namespace with nothing but a proxy on port 3128; reached allowed.test (1); rejected other.test: host is not granted (1); rejected inside.test: host has no public address (1); rejected 127.0.0.1: port PORT is not allowed (1); rejected allowed.test.other.test: host is not granted (1)");
}
