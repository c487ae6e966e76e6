//! Which hosts are allowed: conformance cases for every sandbox with granted hosts.

use insta::assert_snapshot;
use skills_egress::{RejectReason, loopback_services, proxy_env};

use super::fixture::{
    PUBLIC, ProxyFixture, SOCKS_GRANTED, SOCKS_REJECTED, client_hello, list, socks,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Case 38.
#[tokio::test]
async fn case_38_only_a_listed_host_is_reached() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let server = fixture.server("93.184.216.34:80", "\r\n\r\n", OK).await;
    let answer = fixture.get("http://a.example/x?y=1", "a.example").await;
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    );
    assert_eq!(
        server.await.unwrap(),
        "GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    );
    assert_snapshot!(fixture.get("http://b.example/", "b.example").await, @"
    HTTP/1.1 403 Forbidden
    Content-Type: text/plain
    Content-Length: 49
    Connection: close

    cannot connect to b.example: host is not granted
    ");
    let refused = fixture
        .exchange("CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n")
        .await;
    assert!(
        refused.starts_with("HTTP/1.1 403 Forbidden\r\n"),
        "{refused}"
    );
    assert_eq!(
        fixture.exchange(socks(b"b.example", 443)).await,
        SOCKS_REJECTED
    );
    assert_eq!(
        fixture.connections(),
        (
            vec!["a.example".to_owned()],
            vec!["93.184.216.34:80".to_owned()]
        )
    );
    assert_snapshot!(fixture.summary(), @"reached a.example (1); rejected b.example: host is not granted (3)");
}

#[tokio::test]
async fn case_38_tunnels_of_both_kinds_pass_tls_through() {
    let fixture = ProxyFixture::new(&["*.example"]).await;
    let opened = "HTTP/1.1 200 Connection established\r\n\r\n".to_owned();
    let ways = [
        (b"CONNECT A.example.:443 HTTP/1.1\r\n\r\n".to_vec(), opened),
        (socks(b"A.example.", 443), SOCKS_GRANTED.to_owned()),
    ];
    for (request, granted) in ways {
        let server = fixture.server("93.184.216.34:443", "hello", "server").await;
        let mut client = fixture.connect().await;
        client.send(request).await;
        client.send(client_hello(Some("a.EXAMPLE"), 7)).await;
        assert_eq!(client.rest().await, format!("{granted}server"));
        assert_eq!(
            server.await.unwrap().as_bytes(),
            String::from_utf8_lossy(&client_hello(Some("a.EXAMPLE"), 7)).as_bytes()
        );
    }
    assert_snapshot!(fixture.summary(), @"reached a.example (2)");
}

/// Names that resemble `a.example` or `*.b.example` but are not listed.
const LOOK_LISTED: [&str; 37] = [
    "evil.example",
    "a.example.evil.example",
    "evila.example",
    "evilb.example",
    "b.example",
    "evil.b.example",
    "EVIL.b.example.",
    "evil\0.b.example",
    "evil.example\0.b.example",
    "a.example\0",
    "a.example\r\nHost: evil.example",
    "evil.example\n.b.example",
    "a.example ",
    " a.example",
    "\ta.example",
    "evil.example/.b.example",
    "evil.example\\.b.example",
    "evil.example?.b.example",
    "evil.example#.b.example",
    "evil.example%00.b.example",
    "a%2eexample",
    "user@a.example",
    "a.example@evil.example",
    "evil.example:443@a.example",
    "a.example..",
    ".a.example",
    "x..b.example",
    "*.b.example",
    "*",
    "x.b.example,a.example",
    "а.example",
    "ⓐ.example",
    "a。example",
    "a.example\u{200b}",
    "-x.b.example",
    "",
    ".",
];

/// Case 39.
#[tokio::test]
async fn case_39_names_that_only_look_listed_are_rejected() {
    let fixture = ProxyFixture::new(&["a.example", "*.b.example", "!evil.b.example"]).await;
    let long = format!("{}.b.example", "x".repeat(64));
    let longer = ["x."; 125].concat() + "b.example";
    for host in LOOK_LISTED
        .into_iter()
        .chain([long.as_str(), longer.as_str()])
    {
        for (way, request) in [
            (
                "connect",
                format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").into_bytes(),
            ),
            (
                "page",
                format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes(),
            ),
            ("socks", socks(&host.as_bytes()[..host.len().min(255)], 443)),
        ] {
            let answer = fixture.exchange(request).await;
            let refused = match way {
                "socks" => answer == SOCKS_REJECTED,
                _ => answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 400 "),
            };
            // A path is not part of the host: the request is for `evil.example`, which is not
            // listed.
            assert!(refused, "{way} {host:?}: {answer:?}");
        }
        fixture.assert_no_connections(host);
    }
    let summary = fixture.summary();
    assert_eq!((summary.reached.len(), summary.rejected.len()), (0, 16));
    assert!(
        summary
            .to_string()
            .bytes()
            .all(|b| b == b' ' || b.is_ascii_graphic()),
        "{summary}"
    );
}

/// Case 40.
#[tokio::test]
async fn case_40_names_that_resolve_to_private_addresses_are_rejected() {
    let fixture = ProxyFixture::new(&["*.example", "localhost"]).await;
    for (name, answer) in [
        ("localhost", "127.0.0.1"),
        ("loopback.example", "127.0.0.2"),
        ("six.example", "::1"),
        ("mapped.example", "::ffff:127.0.0.1"),
        ("private.example", "10.0.0.1"),
        ("metadata.example", "169.254.169.254"),
        ("metadata6.example", "fd00:ec2::254"),
        ("any.example", "0.0.0.0"),
        ("shared.example", "100.64.0.1"),
        ("nat64.example", "64:ff9b::7f00:1"),
        ("sixtofour.example", "2002:7f00:1::"),
    ] {
        fixture.name(name, &[&[answer]]);
        let page = fixture.get(&format!("http://{name}/"), name).await;
        assert!(
            page.ends_with(&format!(
                "cannot connect to {name}: host has no public address\n"
            )),
            "{page}"
        );
        assert!(!page.contains(answer), "{page}");
        assert_eq!(
            fixture.exchange(socks(name.as_bytes(), 443)).await,
            SOCKS_REJECTED
        );
        assert!(
            fixture
                .exchange(format!("CONNECT {name}:443 HTTP/1.1\r\n\r\n"))
                .await
                .starts_with("HTTP/1.1 403 ")
        );
    }
    assert_eq!(fixture.connections().1, Vec::<String>::new());
}

#[tokio::test]
async fn case_40_a_name_that_changes_is_resolved_once() {
    let fixture = ProxyFixture::new(&["*.example"]).await;
    fixture.name("rebind.example", &[&[PUBLIC], &["127.0.0.1"]]);
    let server = fixture.server("93.184.216.34:80", "\r\n\r\n", OK).await;
    assert!(
        fixture
            .get("http://rebind.example/", "rebind.example")
            .await
            .ends_with("hi")
    );
    server.await.unwrap();
    assert_eq!(
        fixture.connections(),
        (
            vec!["rebind.example".to_owned()],
            vec!["93.184.216.34:80".to_owned()]
        )
    );
    assert!(
        fixture
            .get("http://rebind.example/", "rebind.example")
            .await
            .starts_with("HTTP/1.1 403 ")
    );
    assert_eq!(fixture.connections().1.len(), 1);
}

#[tokio::test]
async fn case_40_of_mixed_addresses_only_public_ones_are_connected() {
    let fixture = ProxyFixture::new(&["*.example", "!8.8.8.8"]).await;
    fixture.name(
        "mixed.example",
        &[&["127.0.0.1", "8.8.8.8", "1.1.1.1", "::1", PUBLIC, "10.0.0.1"]],
    );
    let server = fixture.server("93.184.216.34:80", "\r\n\r\n", OK).await;
    assert!(
        fixture
            .get("http://mixed.example/", "mixed.example")
            .await
            .ends_with("hi")
    );
    server.await.unwrap();
    // The first public address does not respond, and the denied one is not tried.
    assert_eq!(fixture.connections().1, ["1.1.1.1:80", "93.184.216.34:80"]);
}

/// Case 41.
#[tokio::test]
async fn case_41_addresses_in_any_notation_are_rejected() {
    let everything = ProxyFixture::new(&["*"]).await;
    let listed = [
        "*",
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "[::1]",
        "[fd00:ec2::254]",
    ];
    let listed = ProxyFixture::new(&listed).await;
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "10.0.0.1",
        "169.254.169.254",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.01",
        "127.0.0.256",
        "127.0.0.1.1",
        "a.1",
        "a.0x1",
        "0",
        "0x",
        "0x.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[fd00:ec2::254]",
        "[64:ff9b::7f00:1]",
        "[2606:4700::1111]",
        "[127.0.0.1]",
        "[a.example]",
        "[]",
        "[::1",
        "::1]",
        "::1",
    ] {
        for fixture in [&everything, &listed] {
            assert_eq!(
                fixture.exchange(socks(host.as_bytes(), 80)).await,
                SOCKS_REJECTED,
                "{host}"
            );
            for request in [
                format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n"),
                format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
                format!("GET http://{host}:80/ HTTP/1.1\r\nHost: {host}:80\r\n\r\n"),
            ] {
                let answer = fixture.exchange(&request).await;
                assert!(
                    answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 400 "),
                    "{request:?}: {answer:?}"
                );
            }
            fixture.assert_no_connections(host);
        }
    }
}

#[tokio::test]
async fn case_41_socks_addresses_are_checked_too() {
    let fixture = ProxyFixture::new(&["*"]).await;
    let four = |ip: [u8; 4]| [&[5, 1, 0, 5, 1, 0, 1], ip.as_slice(), &[0, 80]].concat();
    let six = |ip: &str| {
        [
            &[5, 1, 0, 5, 1, 0, 4],
            ip.parse::<std::net::Ipv6Addr>()
                .unwrap()
                .octets()
                .as_slice(),
            &[0, 80],
        ]
        .concat()
    };
    for request in [
        four([127, 0, 0, 1]),
        four([8, 8, 8, 8]),
        six("::1"),
        six("::ffff:127.0.0.1"),
        six("::ffff:8.8.8.8"),
        six("2606:4700::1111"),
    ] {
        assert_eq!(
            fixture.exchange(&request).await,
            SOCKS_REJECTED,
            "{request:?}"
        );
    }
    fixture.assert_no_connections("socks");
}

#[tokio::test]
async fn case_41_a_listed_public_address_is_reached_without_a_resolver() {
    let fixture = ProxyFixture::new(&[PUBLIC]).await;
    let server = fixture.server("93.184.216.34:80", "\r\n\r\n", OK).await;
    assert!(
        fixture
            .get("http://93.184.216.34/", PUBLIC)
            .await
            .ends_with("hi")
    );
    server.await.unwrap();
    let server = fixture.server("93.184.216.34:443", "hello", "server").await;
    let request = [
        &[5, 1, 0, 5, 1, 0, 1, 93, 184, 216, 34, 1, 187],
        client_hello(None, 999).as_slice(),
    ]
    .concat();
    assert_eq!(
        fixture.exchange(request).await,
        format!("{SOCKS_GRANTED}server")
    );
    server.await.unwrap();
    assert_eq!(fixture.connections().0, Vec::<String>::new());
}

/// Case 42 for ports; the checks of the transferred data are in other files.
#[tokio::test]
async fn case_42_ports_other_than_80_and_443_are_rejected() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for port in [
        0_u16, 1, 21, 22, 25, 53, 79, 81, 442, 444, 3306, 6379, 8080, 8443, 65535,
    ] {
        assert_eq!(
            fixture.exchange(socks(b"a.example", port)).await,
            SOCKS_REJECTED,
            "{port}"
        );
        let tunnel = fixture
            .exchange(format!("CONNECT a.example:{port} HTTP/1.1\r\n\r\n"))
            .await;
        let page = fixture
            .get(
                &format!("http://a.example:{port}/"),
                &format!("a.example:{port}"),
            )
            .await;
        for answer in [tunnel, page] {
            assert!(
                answer.starts_with("HTTP/1.1 403 ")
                    || (port == 0 && answer.starts_with("HTTP/1.1 400 ")),
                "{port} {answer}"
            );
        }
    }
    for host in ["a.example", "a.example:443"] {
        let plain_to_tls = fixture.get("http://a.example:443/", host).await;
        assert!(
            plain_to_tls.ends_with("port 443 is not allowed\n"),
            "{plain_to_tls}"
        );
    }
    fixture.assert_no_connections("ports");
    assert_eq!(
        fixture.summary().rejected[1].0.reason,
        RejectReason::InvalidHost
    );
}

/// Case 43: the backend ensures that there is no way around the proxy; no variable names one
/// either.
#[test]
fn case_43_the_proxy_variables_have_no_exceptions() {
    let lines: Vec<String> = proxy_env(3128)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_snapshot!(lines.join("\n"), @r"
    HTTP_PROXY=http://127.0.0.1:3128
    http_proxy=http://127.0.0.1:3128
    HTTPS_PROXY=http://127.0.0.1:3128
    https_proxy=http://127.0.0.1:3128
    ALL_PROXY=http://127.0.0.1:3128
    all_proxy=http://127.0.0.1:3128
    NO_PROXY=
    no_proxy=
    NODE_USE_ENV_PROXY=1
    ");
}

/// A name may resolve to a denied address, or to one that embeds it.
#[tokio::test]
async fn a_denied_address_is_denied_in_every_form() {
    let fixture = ProxyFixture::new(&[
        "*.example",
        "![::ffff:93.184.216.34]",
        "![2606:4700:0::1111]",
    ])
    .await;
    for (name, answer) in [
        ("plain.example", PUBLIC),
        ("nat64.example", "64:ff9b::5db8:d822"),
        ("mapped.example", "::ffff:93.184.216.34"),
        ("six.example", "2606:4700::1111"),
    ] {
        fixture.name(name, &[&[answer]]);
        let page = fixture.get(&format!("http://{name}/"), name).await;
        assert!(page.starts_with("HTTP/1.1 403 "), "{page}");
    }
    assert_eq!(fixture.connections().1, Vec::<String>::new());
    fixture.name("other.example", &[&["64:ff9b::808:808"]]);
    let _ = fixture.get("http://other.example/", "other.example").await;
    assert_eq!(fixture.connections().1, ["[64:ff9b::808:808]:80"]);
}

/// A host that is granted with a port is reached there, over HTTP and through a tunnel; its other
/// ports and the same port of other hosts are not.
#[tokio::test]
async fn a_port_is_reached_by_its_number() {
    let fixture = ProxyFixture::new(&["a.example:8080"]).await;
    let server = fixture
        .server("93.184.216.34:8080", "\r\n\r\n", "HTTP/1.1 204 X\r\n\r\n")
        .await;
    let page = fixture
        .get("http://a.example:8080/x", "a.example:8080")
        .await;
    assert!(page.starts_with("HTTP/1.1 204 "), "{page}");
    assert!(
        server
            .await
            .unwrap()
            .contains("\r\nHost: a.example:8080\r\n")
    );
    let server = fixture
        .server("93.184.216.34:8080", "\r\n\r\n", "HTTP/1.1 204 X\r\n\r\n")
        .await;
    let mut client = fixture.connect().await;
    client.send("CONNECT a.example:8080 HTTP/1.1\r\n\r\n").await;
    client.receive::<39>().await;
    client
        .send("GET /y HTTP/1.1\r\nHost: a.example:8080\r\n\r\n")
        .await;
    assert!(client.rest().await.contains("HTTP/1.1 204 "));
    assert!(server.await.unwrap().starts_with("GET /y HTTP/1.1\r\n"));
    for (url, host) in [
        ("http://a.example:8081/", "a.example:8081"),
        ("http://a.example/", "a.example"),
        ("http://b.example:8080/", "b.example:8080"),
        // The field names another host.
        ("http://a.example:8080/", "a.example"),
    ] {
        let page = fixture.get(url, host).await;
        assert!(page.starts_with("HTTP/1.1 403 "), "{url} {page}");
    }
    assert_snapshot!(fixture.summary(), @"reached a.example:8080 (2); rejected a.example:8081: host is not granted (1); rejected a.example: host is not granted (1); rejected b.example:8080: host is not granted (1); rejected a.example:8080: the connection names a different host, or none (1)");
}

/// A name with a port may be in a private network. It is never this machine or a metadata service,
/// since its owner chooses its addresses.
#[tokio::test]
async fn a_name_with_a_port_never_leads_to_this_machine() {
    let fixture = ProxyFixture::new(&["private.example:8080", "rebound.example:8080"]).await;
    fixture.name("private.example", &[&["10.1.2.3"]]);
    let server = fixture
        .server("10.1.2.3:8080", "\r\n\r\n", "HTTP/1.1 204 X\r\n\r\n")
        .await;
    let page = fixture
        .get("http://private.example:8080/", "private.example:8080")
        .await;
    assert!(page.starts_with("HTTP/1.1 204 "), "{page}");
    server.await.unwrap();
    for address in [
        "127.0.0.1",
        "::1",
        "127.8.8.8",
        "0.0.0.0",
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "::ffff:127.0.0.1",
        "fe80::1",
    ] {
        fixture.name("rebound.example", &[&[address]]);
        let page = fixture
            .get("http://rebound.example:8080/", "rebound.example:8080")
            .await;
        assert!(
            page.ends_with("cannot connect to rebound.example: host has no public address\n"),
            "{page}"
        );
    }
    // No rule for this name would help.
    assert_eq!(fixture.summary().rejected_hosts().count(), 0);
}

/// A host that is granted without a port may be in a private network, which only a rule with the port
/// opens. The log names that rule, and none for what no rule opens, or for a name that only a pattern
/// grants: its owner chooses where it leads.
#[tokio::test]
async fn the_log_names_the_rule_for_a_host_in_a_private_network() {
    let fixture = ProxyFixture::new(&["mixed.example", "*.example"]).await;
    fixture.name("mixed.example", &[&["127.0.0.1", "10.1.2.3"]]);
    fixture.name("inside.example", &[&["127.0.0.1", "169.254.169.254"]]);
    fixture.name("other.example", &[&["10.1.2.3"]]);
    for name in ["mixed.example", "inside.example", "other.example"] {
        let page = fixture.get(&format!("http://{name}/"), name).await;
        let expected = format!("cannot connect to {name}: host has no public address\n");
        assert!(page.ends_with(&expected), "{page}");
    }
    let tunnel = "CONNECT mixed.example:443 HTTP/1.1\r\n\r\n";
    assert!(fixture.exchange(tunnel).await.starts_with("HTTP/1.1 403 "));
    let summary = fixture.summary();
    let rules: Vec<_> = summary.rejected_hosts().collect();
    let rule = |port: u16| (Some(format!("mixed.example:{port}")), 1);
    assert_eq!(rules, [rule(80), rule(443)]);
    assert_snapshot!(summary.failures().collect::<Vec<_>>().join("\n"), @"
    cannot connect to `mixed.example:80`: host has no public address
    cannot connect to `inside.example`: host has no public address
    cannot connect to `other.example`: host has no public address
    cannot connect to `mixed.example:443`: host has no public address
    ");

    let fixture = ProxyFixture::new(&["mixed.example:80"]).await;
    fixture.name("mixed.example", &[&["127.0.0.1", "10.1.2.3"]]);
    let server = fixture
        .server("10.1.2.3:80", "\r\n\r\n", "HTTP/1.1 204 X\r\n\r\n")
        .await;
    let page = fixture.get("http://mixed.example/", "mixed.example").await;
    assert!(page.starts_with("HTTP/1.1 204 "), "{page}");
    server.await.unwrap();
}

/// `localhost` is not resolved. It and its addresses need a rule that names one of them with the
/// port, and a `deny` rule for either denies both.
#[tokio::test]
async fn localhost_is_reached_only_by_a_rule_for_its_port() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4_096]).await;
            let answer = b"HTTP/1.1 204 X\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    for rule in ["localhost", "127.0.0.1"] {
        let rule = format!("{rule}:{port}");
        let fixture = ProxyFixture::new(&[&rule]).await;
        fixture.name("localhost", &[&["93.184.216.34"]]);
        for host in ["localhost", "LOCALHOST.", "127.0.0.1"] {
            let host = format!("{host}:{port}");
            let page = fixture.get(&format!("http://{host}/"), &host).await;
            assert!(page.starts_with("HTTP/1.1 204 "), "{rule} {host}: {page}");
        }
        assert_eq!(fixture.connections().0, Vec::<String>::new());
    }
    for rules in [
        vec!["localhost".to_owned(), "*".to_owned()],
        vec!["127.0.0.1".to_owned()],
        vec![format!("localhost:{port}"), "!127.0.0.1".to_owned()],
        vec![format!("127.0.0.1:{port}"), "!localhost".to_owned()],
        vec![format!("localhost:{port}"), "![0:0::1]".to_owned()],
        vec![format!("127.0.0.1:{port}"), format!("!localhost:{port}")],
    ] {
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let fixture = ProxyFixture::new(&rules).await;
        for host in ["localhost", "127.0.0.1"] {
            let host = format!("{host}:{port}");
            let page = fixture.get(&format!("http://{host}/"), &host).await;
            assert!(!page.starts_with("HTTP/1.1 204 "), "{rules:?} {host}");
        }
    }
}

/// Exactly the ports of this machine that rules name and no rule denies.
#[test]
fn loopback_services_are_those_that_rules_name() {
    for (rules, ports) in [
        (
            &["localhost:8080", "127.0.0.1:5432", "a.example:9000"][..],
            &[5_432, 8_080][..],
        ),
        (&["localhost", "127.0.0.1", "*"], &[]),
        (&["127.0.0.2:1", "10.0.0.5:1", "a.localhost:1"], &[]),
        (&["localhost:1", "!127.0.0.1"], &[]),
    ] {
        let found: Vec<u16> = loopback_services(&list(rules)).into_iter().collect();
        assert_eq!(found, ports, "{rules:?}");
    }
}
