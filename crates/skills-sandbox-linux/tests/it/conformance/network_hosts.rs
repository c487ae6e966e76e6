//! Listed hosts and those who would like to be taken for them: cases 38 to 42.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::{ErrorKind, Sandbox};

use super::answers::Answers;
use super::attempts::{of_case, python_in};
use super::scene::planted;
use crate::outside::{Made, PUBLIC};

/// All names lead to the public address, but for those below `inside.test`.
fn leads(host: &str, turn: usize) -> IpAddr {
    match host {
        "loopback.inside.test" => Ipv4Addr::LOCALHOST.into(),
        "private.inside.test" => Ipv4Addr::new(10, 0, 0, 1).into(),
        "metadata.inside.test" => Ipv4Addr::new(169, 254, 169, 254).into(),
        "six.inside.test" => Ipv6Addr::LOCALHOST.into(),
        "mapped.inside.test" => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
        "sometimes.inside.test" if turn % 2 == 1 => Ipv4Addr::LOCALHOST.into(),
        _ => PUBLIC.into(),
    }
}

/// Speaks to the proxy in bytes; what it opens or passes on counts as reached.
const PRELUDE: &str = r"import urllib.request, urllib.error
def page(url):
    try: return urllib.request.urlopen(url, timeout=5).read()
    except urllib.error.HTTPError as e: raise OSError(errno.EPERM, str(e.code))
def say(*parts):
    s = socket.create_connection(('127.0.0.1', 3128), 5)
    heard = b''
    for part in parts:
        try: s.sendall(part)
        except OSError: pass
        try: heard = s.recv(4096)
        except OSError: heard = b''
    s.close()
    if not heard.startswith(b'HTTP/1.1 200') and b'hello' not in heard: raise OSError(errno.EPERM, '')
    return heard
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
    heard = s.recv(10)
    s.close()
    if heard[:2] != b'\x05\x00': raise OSError(errno.EPERM, '')
    return heard
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

pub(crate) async fn answer(answers: &mut Answers) {
    let skill = planted(answers.tier)
        .tool("WebFetch(domain:allowed.test)")
        .tool("WebFetch(domain:*.inside.test)");
    if !answers.is_isolated() {
        let error = skill
            .sandbox()
            .run(skill.job("main.py", ""))
            .await
            .map(|outcome| outcome.stdout.text())
            .unwrap_err();
        for case in 38..=42 {
            answers.holds(
                case,
                &error.to_string(),
                AttemptResult::Rejected,
                error.kind() == ErrorKind::Rejected,
            );
        }
        return;
    }
    let outside = Made::new(leads);
    let sandbox = skill.sandbox().connector(Arc::<Made>::clone(&outside));
    let dialled = || outside.dialled();
    let prelude = format!(
        "{PRELUDE}SERVER = ('127.0.0.1', {})\n",
        outside.server().port()
    );

    let attempts: Vec<(u8, &str)> = of_case(38, REACHING).collect();
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    for tried in &tried {
        answers.holds(
            38,
            &format!("{tried:?}"),
            AttemptResult::Succeeded,
            tried.result.is_ok(),
        );
    }
    // A tunnel is dialled when it is known what goes through it: nothing went.
    answers.holds(
        38,
        &format!("{} dialled", dialled()),
        AttemptResult::Succeeded,
        dialled() == 3,
    );

    let attempts: Vec<(u8, &str)> = HIDING
        .iter()
        .flat_map(|(case, codes)| of_case(*case, codes))
        .collect();
    let (tried, report) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    let (others, hidden): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 38);
    answers.denied(&hidden);
    for tried in &others {
        answers.holds(
            38,
            &format!("{tried:?}"),
            AttemptResult::Succeeded,
            tried.result.is_err(),
        );
    }
    for case in [39, 41, 42] {
        answers.holds(
            case,
            &format!("{} dialled; {:?}", dialled(), report.restrictions()),
            AttemptResult::Denied,
            dialled() == 3,
        );
    }

    let attempts: Vec<(u8, &str)> = of_case(40, PRIVATE).collect();
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    answers.denied(&tried);
    // A name that is public whenever it is looked at, and private in between: what is dialled is
    // what was looked at.
    let attempts: Vec<(u8, &str)> =
        std::iter::repeat_n((40, "page('http://sometimes.inside.test/')"), 8).collect();
    let (tried, _) = python_in(&sandbox, &skill, &prelude, &attempts).await;
    let reached = tried.iter().filter(|tried| tried.result.is_ok()).count();
    let private = outside.private();
    answers.holds(
        40,
        &format!("{reached} of 8, {private} of them private"),
        AttemptResult::Denied,
        reached == 4 && private == 0,
    );
    answers.through("listed hosts");
}
