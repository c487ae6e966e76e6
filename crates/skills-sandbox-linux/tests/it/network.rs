//! Granted hosts, through the proxy, from a network namespace with nothing else in it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use skills_sandbox::{RunOutput, Sandbox};
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
             except urllib.error.HTTPError as e: print(host.split(':')[0], e.code)\n    \
             except urllib.error.URLError as e: print(host.split(':')[0], type(e.reason).__name__)\n\
         for address in [('{host}', {port}), ('93.184.215.14', 80), ('::1', {port})]:\n    \
             try: print(socket.create_connection(address, 2))\n    \
             except OSError as e: print(type(e).__name__)\n\
         for kind in [(socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW)]:\n    \
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
    127.0.0.1 ConnectionRefusedError
    allowed.test.other.test 403
    ConnectionRefusedError
    OSError
    ConnectionRefusedError
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
    insta::assert_snapshot!(restriction.to_string().replace(&server.port().to_string(), "PORT"), @"network enforced: separate network namespace with nothing but a proxy on port 3128; reached allowed.test (1); rejected other.test: host is not granted (1); rejected inside.test: host has no public address (1); rejected allowed.test.other.test: host is not granted (1)");
}

/// Starts a server on the loopback device of the host, and returns its port.
fn serve_on_loopback() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut head = [0; 4_096];
            let length = connection.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let host = head
                .lines()
                .find_map(|line| line.strip_prefix("Host: "))
                .unwrap_or_default();
            let _ = write!(
                connection,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{host}",
                host.len()
            );
        }
    });
    port
}

fn refused_hosts(output: &RunOutput) -> Vec<String> {
    let operations = output.refusals.list().iter();
    operations
        // The C library opens local sockets for each lookup.
        .filter(|refusal| !refusal.operation.is_probed())
        .map(|refusal| {
            refusal
                .operation
                .target()
                .map_or_else(String::new, |target| target.to_string())
        })
        .collect()
}

/// A run reports a granted host of a private network as refused, with the rule that opens it.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_in_a_private_network_is_refused_with_its_rule() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let network = FakeNetwork::new(|_, _| Ipv4Addr::new(10, 1, 2, 3).into());
    let skill = Skill::new(IsolationMode::Namespaces).allow("network:private.test".to_owned());
    let sandbox = skill.sandbox().connector(network);
    let script = "import urllib.request, urllib.error
for url in ['http://private.test/', 'https://private.test/']:
    try: urllib.request.urlopen(url)
    except urllib.error.URLError as e: print('failed')";
    let output = sandbox.run(skill.job("main.py", script)).await.unwrap();
    assert_eq!(output.stdout.text(), "failed\nfailed\n");
    assert_eq!(
        refused_hosts(&output),
        ["network:private.test:80", "network:private.test:443"]
    );
    insta::assert_snapshot!(output.notes.join("\n"), @"
    cannot connect to `private.test:80`: host has no public address
    cannot connect to `private.test:443`: host has no public address
    ");
}

/// A service of the host's loopback device is reached by the name and port that a rule names, and
/// no other port.
#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_service_is_reached_by_its_name_and_port() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let (port, other) = (serve_on_loopback(), serve_on_loopback());
    let script = format!(
        "import urllib.request, urllib.error
for url in ['http://localhost:{port}/x', 'http://127.0.0.1:{port}/', 'http://localhost:{other}/', 'http://localhost/']:
    try: print(urllib.request.urlopen(url).read().decode())
    except urllib.error.HTTPError as e: print(e.code)"
    );
    for rule in ["localhost", "127.0.0.1"] {
        let skill = Skill::new(IsolationMode::Namespaces).allow(format!("network:{rule}:{port}"));
        let output = skill.python(&script).await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(
            output.stdout.text(),
            format!("localhost:{port}\n127.0.0.1:{port}\n403\n403\n")
        );
        assert_eq!(
            refused_hosts(&output),
            [
                format!("network:localhost:{other}"),
                "network:localhost:80".to_owned()
            ]
        );
        let reached: Vec<&str> = output
            .connections
            .iter()
            .map(|reached| reached.host.as_str())
            .collect();
        assert_eq!(
            reached,
            [format!("localhost:{port}"), format!("127.0.0.1:{port}")]
        );
    }
}

/// Returns what a script reads that opens sockets itself, by each address, and the hosts that were
/// reached and refused.
async fn connect_directly(skill: &Skill, ports: &[u16]) -> (String, Vec<String>, Vec<String>) {
    let script = format!(
        "import socket
for port in {ports:?}:
    for host in ['127.0.0.1', '::1', 'localhost']:
        try:
            with socket.create_connection((host, port), 5) as s:
                s.sendall(b'GET / HTTP/1.1\\r\\nHost: direct\\r\\n\\r\\n')
                print(b''.join(iter(lambda: s.recv(4096), b'')).decode().splitlines()[-1])
        except OSError as e: print(type(e).__name__)"
    );
    let output = skill.python(&script).await;
    assert_eq!(output.stderr.text(), "");
    let reached = output.connections.iter();
    let reached = reached.map(|reached| format!("{} ({})", reached.host, reached.count));
    let reached = reached.collect();
    (
        output.stdout.text().to_owned(),
        reached,
        refused_hosts(&output),
    )
}

/// Programs that do not use a proxy reach a granted service at its own address and port, as if they
/// ran on the host, and no other port.
#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_service_is_reached_without_the_proxy() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let (port, other) = (serve_on_loopback(), serve_on_loopback());
    for rule in ["localhost", "127.0.0.1"] {
        let skill = Skill::new(IsolationMode::Namespaces).allow(format!("network:{rule}:{port}"));
        let (output, reached, refused) = connect_directly(&skill, &[port, other]).await;
        let refusal = "ConnectionRefusedError\n".repeat(3);
        assert_eq!(output, format!("{}{refusal}", "direct\n".repeat(3)));
        assert_eq!(reached, [format!("localhost:{port} (3)")]);
        assert_eq!(refused, [format!("network:127.0.0.1:{other}")]);
    }
}

/// The proxy gives way to a service with its usual port. Services beyond the limit of direct ones
/// are reached through the proxy.
#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_loopback_services_can_be_granted() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let port = serve_on_loopback();
    let skill = (3_120..3_140).fold(
        Skill::new(IsolationMode::Namespaces).allow(format!("network:localhost:{port}")),
        |skill, port| skill.allow(format!("network:localhost:{port}")),
    );
    let script = format!(
        "import urllib.request
print(urllib.request.urlopen('http://localhost:{port}/').read().decode())"
    );
    let output = skill.python(&script).await;
    assert_eq!(
        (output.stdout.text(), output.stderr.text()),
        (format!("localhost:{port}\n"), String::new())
    );
}

/// Without a rule for the port the same service is out of reach, whatever a skill declares and
/// whichever other hosts are granted, and the refusal names the rule.
#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_service_needs_a_rule_for_its_port() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let port = serve_on_loopback();
    let script = format!(
        "import urllib.request, urllib.error
try: print(urllib.request.urlopen('http://127.0.0.1:{port}/').read())
except urllib.error.URLError as e: print(type(e.reason).__name__)"
    );
    let new = || Skill::new(IsolationMode::Namespaces);
    for skill in [
        new(),
        new().tool("WebFetch(domain:localhost)"),
        new().allow("network:*"),
        new().allow("network:127.0.0.1"),
    ] {
        let output = skill.python(&script).await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(output.stdout.text(), "ConnectionRefusedError\n");
        assert_eq!(
            refused_hosts(&output),
            [format!("network:127.0.0.1:{port}")]
        );
    }
}

/// Processes of a run reach a server of the same run, which the host cannot reach, with and without
/// granted hosts.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_reaches_its_own_server() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'own')
    def log_message(self, *arguments): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in ['127.0.0.1', 'localhost']:
    print(urllib.request.urlopen(f'http://{host}:{server.server_port}/').read())";
    for skill in [
        Skill::new(IsolationMode::Namespaces),
        Skill::new(IsolationMode::Namespaces).allow("network:allowed.test"),
    ] {
        let output = skill.python(script).await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(output.stdout.text(), "b'own'\nb'own'\n");
        assert_eq!(refused_hosts(&output), Vec::<String>::new());
    }
}
