//! Granted hosts, and names that imitate them: cases 38 to 42.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::{Sandbox, SandboxErrorKind};

use super::attempts::{python_in, with_case};
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

/// Functions that send bytes to the proxy. What it forwards counts as reached.
const PRELUDE: &str = r"import urllib.request, urllib.error
def page(url):
    try: return urllib.request.urlopen(url, timeout=5).read()
    except urllib.error.HTTPError as e: raise OSError(errno.EPERM, str(e.code))
def say(*parts):
    s = socket.create_connection(('127.0.0.1', 3128), 5)
    received = b''
    for part in parts:
        try: s.sendall(part)
        except OSError: pass
        try: received = s.recv(4096)
        except OSError: received = b''
    s.close()
    if not received.startswith(b'HTTP/1.1 200') and b'hello' not in received: raise OSError(errno.EPERM, '')
    return received
def tunnel(target): return say(b'CONNECT ' + target + b' HTTP/1.1\r\nHost: ' + target + b'\r\n\r\n')
def get(host): return say(b'GET http://' + host + b'/ HTTP/1.1\r\nHost: ' + host + b'\r\n\r\n')
def both(host):
    for way in [lambda: tunnel(host + b':443'), lambda: tunnel(host + b':80'), lambda: get(host), lambda: socks(host)]:
        try: return way()
        except OSError: pass
    raise OSError(errno.EPERM, '')
def socks(host, port=80):
    s = socket.create_connection(('127.0.0.1', 3128), 5)
    s.sendall(b'\x05\x01\x00')
    s.recv(2)
    s.sendall(b'\x05\x01\x00\x03' + bytes([len(host)]) + host + port.to_bytes(2, 'big'))
    received = s.recv(10)
    s.close()
    if received[:2] != b'\x05\x00': raise OSError(errno.EPERM, '')
    return received
";

const REACHING: &[&str] = &[
    "page('http://allowed.test/')",
    "page('http://ALLOWED.test./')",
    "get(b'allowed.test')",
    "both(b'allowed.test')",
    "tunnel(b'allowed.test:443')",
    "socks(b'allowed.test')",
];

const HIDING: &[(u8, &[&str])] = &[
    (
        38,
        &[
            "page('http://other.test/')",
            "tunnel(b'other.test:443')",
            "socks(b'other.test')",
            "socket.create_connection(('93.184.215.14', 80), 2)",
            "socket.create_connection(SERVER, 2)",
        ],
    ),
    (
        39,
        &[
            r"both(b'other.test\0.allowed.test')",
            r"both(b'allowed.test\0.other.test')",
            r"both(b'other.test\r\nHost: allowed.test')",
            r"both(b'other.test\r\n\r\nGET http://allowed.test')",
            "both(b'allowed.test@other.test')",
            "both(b'allowed.test:80@other.test')",
            "both(b'other.test#allowed.test')",
            "both(b'other.test?.allowed.test')",
            "both(b'other.test/.allowed.test')",
            r"both(b'other.test\\.allowed.test')",
            "both(b'other.test%00.allowed.test')",
            "both(b'allowed%2etest')",
            "both(b'allowed.test.other.test')",
            "both(b'otherallowed.test')",
            "both(b'x.allowed.test')",
            "both(b'.allowed.test')",
            "both(b'allowed.test..')",
            "both(b' allowed.test')",
            "both(b'allowed.test ')",
            "both('\u{430}llowed.test'.encode())",
            "both('allowed\u{3002}test'.encode())",
            "both(b'xn--llowed-8ve.test')",
            "both(b'test')",
            "both(b'*')",
            "both(b'')",
        ],
    ),
    (
        41,
        &[
            "both(b'127.0.0.1')",
            "both(b'2130706433')",
            "both(b'0177.0.0.1')",
            "both(b'0x7f000001')",
            "both(b'0x7f.1')",
            "both(b'127.1')",
            "both(b'0')",
            "both(b'127.0.0.1.')",
            "both(b'[::1]')",
            "both(b'[::ffff:127.0.0.1]')",
            "both(b'[::ffff:7f00:1]')",
            "both(b'::1')",
            "both(b'93.184.215.14')",
            "both(b'1572395022')",
        ],
    ),
    (
        42,
        &[
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nHost: other.test\r\n\r\n')",
            r"say(b'GET http://other.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n folded: x\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n')",
            "tunnel(b'allowed.test:22')",
            "tunnel(b'allowed.test:25')",
            "tunnel(b'allowed.test:8080')",
            "tunnel(b'allowed.test:65979')",
            "tunnel(b'allowed.test')",
            "get(b'allowed.test:22')",
            "socks(b'allowed.test', 22)",
            r"say(b'CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n', b'GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')",
            r"say(b'CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n', b'GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n', b'SSH-2.0-x\r\n')",
        ],
    ),
];

const PRIVATE: &[&str] = &[
    "page('http://loopback.inside.test/')",
    "page('http://private.inside.test/')",
    "page('http://metadata.inside.test/')",
    "page('http://six.inside.test/')",
    "page('http://mapped.inside.test/')",
];

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
        "{PRELUDE}SERVER = ('127.0.0.1', {})\n",
        network.server().port()
    );

    let attempts: Vec<(u8, &str)> = with_case(38, REACHING).collect();
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

    let attempts: Vec<(u8, &str)> = HIDING
        .iter()
        .flat_map(|(case, codes)| with_case(*case, codes))
        .collect();
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

    let attempts: Vec<(u8, &str)> = with_case(40, PRIVATE).collect();
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
