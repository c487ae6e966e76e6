//! Hosts behind a proxy of the user: what goes to it, and what does not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use skills_egress::{EgressLimits, UpstreamProxies};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::fixture::{ProxyFixture, SOCKS_GRANTED, client_hello, socks};

const OPENED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// `ada:secret` in a field.
const AUTHORIZATION: &str = "Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n";

/// A proxy of the user on this machine. It answers each head with `answer`, and what follows with
/// `server`.
struct Upstream {
    port: u16,
    received: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Upstream {
    async fn new(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&received);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut got = Vec::new();
                while !got.ends_with(b"\r\n\r\n") && stream.read_buf(&mut got).await.unwrap() > 0 {}
                log.lock().unwrap().push(String::from_utf8(got).unwrap());
                if answer.is_empty() {
                    // It never answers.
                    let log = Arc::clone(&log);
                    tokio::spawn(async move {
                        let _ = stream.read(&mut [0]).await;
                        drop(log);
                    });
                    continue;
                }
                let _ = stream.write_all(&answer).await;
                let mut rest = Vec::new();
                while !rest.ends_with(b"hello") && stream.read_buf(&mut rest).await.unwrap_or(0) > 0
                {
                }
                if !rest.is_empty() {
                    let _ = stream.write_all(b"server").await;
                }
            }
        });
        Self {
            port,
            received,
            serving,
        }
    }

    /// Starts a proxy of a run behind it, with more variables.
    async fn fixture(&self, patterns: &[&str], variables: &[(&str, &str)]) -> ProxyFixture {
        let url = format!("http://ada:secret@127.0.0.1:{}", self.port);
        let (proxies, invalid) = UpstreamProxies::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            let found = found.map(|(_, value)| (*value).to_owned());
            found.or_else(|| (name == "ALL_PROXY").then(|| url.clone()))
        });
        assert_eq!(invalid, []);
        let limits = EgressLimits {
            connect_timeout: Duration::from_millis(1_500),
            ..EgressLimits::default()
        };
        ProxyFixture::behind(patterns, limits, proxies).await
    }

    /// Returns the heads that it received.
    fn received(&self) -> Vec<String> {
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Opens a tunnel for TLS, and returns what the program receives.
async fn tunnel(fixture: &ProxyFixture, host: &str) -> String {
    let request = format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").into_bytes();
    let hello = client_hello(Some(host), 999);
    fixture.exchange([request, hello].concat()).await
}

#[tokio::test]
async fn a_named_host_is_reached_through_the_proxy_of_the_user() {
    let upstream = Upstream::new("HTTP/1.0 200 OK\r\nVia: corp\r\n\r\n").await;
    let fixture = upstream
        .fixture(&["a.example", "unknown.example", "93.184.216.34"], &[])
        .await;
    // Also a name that only the proxy can resolve.
    for host in ["a.example", "unknown.example"] {
        assert_eq!(tunnel(&fixture, host).await, format!("{OPENED}server"));
        let expected =
            format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n{AUTHORIZATION}\r\n");
        assert_eq!(upstream.received(), [expected]);
    }
    let through_socks = [socks(b"a.example", 443), client_hello(Some("a.example"), 9)].concat();
    assert_eq!(
        fixture.exchange(through_socks).await,
        format!("{SOCKS_GRANTED}server")
    );
    // An address that a rule names was checked here.
    let first = b"CONNECT 93.184.216.34:443 HTTP/1.1\r\n\r\n".to_vec();
    let answer = fixture
        .exchange([first, client_hello(None, 999)].concat())
        .await;
    assert_eq!(answer, format!("{OPENED}server"));
    assert_eq!(upstream.received().len(), 2);
    assert_eq!(fixture.connections().1, [""; 0], "nothing goes another way");
    assert_eq!(
        fixture.summary().to_string(),
        "reached a.example (2); reached unknown.example (1); reached 93.184.216.34 (1)"
    );
}

#[tokio::test]
async fn a_request_without_tls_goes_to_the_proxy_with_its_own_credentials() {
    let upstream = Upstream::new(OK).await;
    let fixture = upstream
        .fixture(&["a.example", "a.example:8080"], &[])
        .await;
    let request = |target: &str, host: &str| {
        format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic c2tpbGw=\r\nA: b\r\n\r\n"
        )
    };
    let answer = fixture
        .exchange(request("http://a.example/x?y", "a.example"))
        .await;
    assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
    let head = |host: &str| {
        format!(
            "GET http://{host}/x?y HTTP/1.1\r\nHost: {host}\r\nA: b\r\n{AUTHORIZATION}Connection: close\r\n\r\n"
        )
    };
    assert_eq!(upstream.received(), [head("a.example")]);
    for host in ["a.example:80", "a.example:8080"] {
        let host_field = host.trim_end_matches(":80");
        let first = format!("CONNECT {host} HTTP/1.1\r\n\r\n");
        let answer = fixture.exchange(first + &request("/x?y", host_field)).await;
        assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
        assert_eq!(upstream.received(), [head(host_field)]);
    }
    assert_eq!(fixture.connections().1, [""; 0]);
}

#[tokio::test]
async fn what_only_a_pattern_grants_is_not_sent_to_the_proxy() {
    let upstream = Upstream::new(OK).await;
    for pattern in ["*", "*.example"] {
        let fixture = upstream.fixture(&[pattern], &[]).await;
        for host in ["a.example", "169-254-169-254.evil.example"] {
            assert!(tunnel(&fixture, host).await.starts_with("HTTP/1.1 403 "));
            let plain = fixture.get(&format!("http://{host}/"), host).await;
            assert!(plain.contains("a rule must name the host"), "{plain}");
        }
        fixture.assert_no_connections(pattern);
    }
    assert_eq!(upstream.received(), [""; 0]);
    // A host that needs no proxy has the usual checks.
    let fixture = upstream.fixture(&["*"], &[("NO_PROXY", "a.example")]).await;
    let server = fixture.server("93.184.216.34:443", "hello", "direct").await;
    assert_eq!(
        tunnel(&fixture, "a.example").await,
        format!("{OPENED}direct")
    );
    server.await.unwrap();
    assert_eq!(upstream.received(), [""; 0]);
}

#[tokio::test]
async fn a_name_of_a_private_address_is_not_sent_to_the_proxy() {
    let upstream = Upstream::new(OK).await;
    let fixture = upstream
        .fixture(
            &["b.example", "b.example:8443", "direct.example"],
            &[("NO_PROXY", "direct.example")],
        )
        .await;
    for address in [
        "169.254.169.254",
        "127.0.0.1",
        "10.0.0.1",
        "fd00:ec2::254",
        "::1",
        "::ffff:127.0.0.1",
    ] {
        for host in ["b.example", "direct.example"] {
            fixture.name(host, &[&[address]]);
            let answer = tunnel(&fixture, host).await;
            assert!(
                answer.contains("host has no public address"),
                "{address}: {answer}"
            );
        }
    }
    // A rule with a port allows private networks, and neither this machine nor a metadata service.
    for (address, is_allowed) in [
        ("10.0.0.1", true),
        ("169.254.169.254", false),
        ("127.0.0.1", false),
    ] {
        fixture.name("b.example", &[&[address]]);
        let first = b"CONNECT b.example:8443 HTTP/1.1\r\n\r\n".to_vec();
        let hello = client_hello(Some("b.example"), 999);
        let answer = fixture.exchange([first, hello].concat()).await;
        assert_eq!(answer.starts_with(OPENED), is_allowed, "{address}");
        assert_eq!(
            upstream.received().len(),
            usize::from(is_allowed),
            "{address}"
        );
    }
}

#[tokio::test]
async fn a_rule_that_denies_an_address_denies_all_names_behind_the_proxy() {
    let upstream = Upstream::new(OK).await;
    for denied in [
        "!203.0.113.9",
        "!203.0.113.9:443",
        "![2001:db8::1]",
        "!169.254.169.254",
    ] {
        let fixture = upstream.fixture(&["a.example", denied], &[]).await;
        let answer = tunnel(&fixture, "a.example").await;
        assert!(
            answer.contains("a rule denies addresses"),
            "{denied}: {answer}"
        );
        fixture.assert_no_connections(denied);
    }
    let fixture = upstream.fixture(&["a.example", "!b.example"], &[]).await;
    assert!(tunnel(&fixture, "a.example").await.starts_with(OPENED));
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn this_machine_and_other_ports_are_not_reached_through_the_proxy() {
    let upstream = Upstream::new(OK).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let service = format!("localhost:{port}");
    let fixture = upstream.fixture(&["a.example", &service], &[]).await;
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(OK.as_bytes()).await.unwrap();
    });
    let answer = fixture.get(&format!("http://{service}/"), &service).await;
    assert!(answer.ends_with("hi"), "{answer}");
    serving.await.unwrap();
    // Neither does a program reach the proxy itself, which is not granted.
    for target in [
        "a.example:22".to_owned(),
        "a.example:3128".to_owned(),
        format!("127.0.0.1:{}", upstream.port),
        format!("localhost:{}", upstream.port),
        format!("[::1]:{}", upstream.port),
        "169.254.169.254:80".to_owned(),
        "a.example%0d%0aX:443".to_owned(),
        "a.example\rX:443".to_owned(),
        "b.example:443\r\nHost: a.example:443".to_owned(),
        "ada:secret@a.example:443".to_owned(),
    ] {
        let answer = fixture
            .exchange(format!("CONNECT {target} HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{target}: {answer}");
    }
    assert_eq!(upstream.received(), [""; 0]);
}

#[tokio::test]
async fn a_proxy_that_fails_says_nothing_to_the_program() {
    let huge = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(200));
    let did_not_respond = "the proxy of this machine did not respond";
    let other_credentials = "the proxy of this machine requires other credentials";
    for (answer, reason) in [
        (
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"corp-name\"\r\n\r\ncorp-name",
            other_credentials,
        ),
        (
            "HTTP/1.1 403 corp-name\r\n\r\ncorp-name",
            "the proxy of this machine refused it (status 403)",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://corp-name/\r\n\r\n",
            "the proxy of this machine refused it (status 302)",
        ),
        ("HTTP/1.1 200 OK\r\n\r\ncorp-name", did_not_respond),
        ("HTTP/1.1 101 Switching\r\n\r\n", did_not_respond),
        ("HTTP/1.1 200 OK\n\n", did_not_respond),
        ("SSH-2.0-corp-name\r\n", did_not_respond),
        (&huge, did_not_respond),
        (&many, did_not_respond),
        ("", "connecting took too long"),
    ] {
        let upstream = Upstream::new(answer).await;
        let fixture = upstream.fixture(&["a.example"], &[]).await;
        assert_eq!(tunnel(&fixture, "a.example").await, OPENED, "{reason}");
        let failures: Vec<_> = fixture.summary().failures().collect();
        assert_eq!(
            failures,
            [format!("cannot connect to `a.example`: {reason}")]
        );
        assert_eq!(fixture.connections().1, [""; 0]);
    }
    // It also answers a request for itself. The other answers are those of a host.
    let upstream =
        Upstream::new("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\ncorp-name").await;
    let fixture = upstream.fixture(&["a.example"], &[]).await;
    let plain = fixture.get("http://a.example/", "a.example").await;
    assert!(
        plain.starts_with("HTTP/1.1 502 ") && !plain.contains("corp-name"),
        "{plain}"
    );
    let failures: Vec<_> = fixture.summary().failures().collect();
    assert_eq!(
        failures,
        [format!(
            "cannot connect to `a.example`: {other_credentials}"
        )]
    );
    let port = upstream.port;
    drop(upstream);
    tokio::time::timeout(Duration::from_secs(5), async {
        while tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(tunnel(&fixture, "a.example").await, OPENED);
    let failures: Vec<_> = fixture.summary().failures().collect();
    assert!(failures[1].ends_with(did_not_respond), "{failures:?}");
}
