//! Case 17: which hosts are allowed.

use super::fixture::{Generation, HttpFixture, OK, PUBLIC};

#[tokio::test]
async fn case_17_only_listed_hosts_are_reached() {
    for generation in Generation::ALL {
        let fixture = HttpFixture::new(&["a.example"]);
        fixture.respond_with(OK).await;
        let result = fixture
            .fetch(*generation, &["http", "a.example", "/x?y=1"])
            .await;
        assert_eq!(
            result.text, "200 [content-length=2] 2 \"hi\"",
            "{generation:?}"
        );
        assert_eq!(
            fixture.requests(),
            ["GET /x?y=1 HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n"]
        );
        assert_eq!(
            fixture.take_connections(),
            (
                vec!["a.example".to_owned()],
                vec!["93.184.216.34:80".to_owned()]
            )
        );
        assert_eq!(result.network, "reached a.example (1)");
        let result = fixture
            .fetch(*generation, &["http", "b.example", "/"])
            .await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            (
                "HttpRequestDenied",
                "rejected b.example: host is not granted (1)"
            )
        );
        assert_eq!(
            fixture.take_connections(),
            (vec![], vec![]),
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn rejected_and_reached_hosts_are_in_the_result() {
    for &generation in Generation::ALL {
        let fixture = HttpFixture::new(&["a.example"]);
        fixture.respond_with(OK).await;
        let job = fixture.job(generation, &["http", "a.example", "/"]);
        let output = fixture.run(job).await.unwrap();
        assert!(output.refusals.list().is_empty());
        let [reached] = &output.connections[..] else {
            panic!("{:?}", output.connections)
        };
        assert_eq!((reached.host.as_str(), reached.count), ("a.example", 1));
        let job = fixture.job(generation, &["http", "b.example", "/"]);
        let output = fixture.run(job).await.unwrap();
        assert!(output.connections.is_empty());
        let [refused] = output.refusals.list() else {
            panic!("{:?}", output.refusals)
        };
        let target = refused.operation.target().unwrap().to_string();
        assert_eq!(target, "network:b.example", "{generation:?}");
    }
}

#[tokio::test]
async fn case_17_names_that_resemble_listed_ones_are_rejected() {
    let fixture = HttpFixture::new(&["a.example", "*.b.example", "!evil.b.example"]);
    fixture.respond_with(OK).await;
    for generation in Generation::ALL {
        for authority in [
            "evil.example",
            "a.example.evil.example",
            "evila.example",
            "b.example",
            "EVIL.b.example.",
            "user@a.example",
            "a.example@evil.example",
            "evil.example:80@a.example",
            "user:password@a.example:80",
            "a.example..",
            ".a.example",
            "x..b.example",
            "*.b.example",
            "*",
            "a%2eexample",
            "evil.example%2f.b.example",
            "evil.example%00.b.example",
            "evil.example/.b.example",
            "evil.example\\.b.example",
            "evil.example?.b.example",
            "evil.example#.b.example",
            "a.example ",
            " a.example",
            "a.example\r\nHost: evil.example",
            "\u{430}.example",
            "b\u{fc}cher.b.example",
            "a\u{3002}example",
            "-x.b.example",
            "",
            ".",
        ] {
            let result = fixture.fetch(*generation, &["http", authority, "/"]).await;
            let is_refused = [
                "authority",
                "HttpRequestDenied",
                "HttpRequestUriInvalid",
                "HttpProtocolError",
            ]
            .contains(&result.text.as_str());
            assert!(is_refused, "{generation:?} {authority:?}: {result:?}");
            assert_eq!(
                (fixture.take_connections(), fixture.requests()),
                ((vec![], vec![]), vec![]),
                "{generation:?} {authority:?}"
            );
        }
    }
}

#[tokio::test]
async fn case_17_names_are_normalized_before_connecting() {
    let fixture = HttpFixture::new(&["a.example", "xn--bcher-kva.example"]);
    fixture.name("xn--bcher-kva.example", &[&[PUBLIC]]);
    fixture.respond_with(OK).await;
    for generation in Generation::ALL {
        for (authority, host) in [
            ("A.EXAMPLE", "a.example"),
            ("a.example.", "a.example"),
            ("a.example:80", "a.example"),
            ("XN--Bcher-KVA.example.", "xn--bcher-kva.example"),
        ] {
            let result = fixture.fetch(*generation, &["http", authority, "/"]).await;
            assert!(
                result.text.starts_with("200 "),
                "{generation:?} {authority}: {result:?}"
            );
            assert_eq!(result.network, format!("reached {host} (1)"));
            assert_eq!(fixture.take_connections().0, [host]);
            assert_eq!(
                fixture.requests(),
                [format!(
                    "GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
                )]
            );
        }
    }
}

#[tokio::test]
async fn case_17_names_that_lead_to_private_addresses_are_refused() {
    let fixture = HttpFixture::new(&["*.example", "localhost"]);
    for generation in Generation::ALL {
        for (name, answer) in [
            ("localhost", "127.0.0.1"),
            ("six.example", "::1"),
            ("mapped.example", "::ffff:127.0.0.1"),
            ("private.example", "10.0.0.1"),
            ("private2.example", "192.168.1.1"),
            ("metadata.example", "169.254.169.254"),
            ("metadata6.example", "fd00:ec2::254"),
            ("any.example", "0.0.0.0"),
            ("nat64.example", "64:ff9b::7f00:1"),
        ] {
            fixture.name(name, &[&[answer]]);
            for scheme in ["http", "https"] {
                let result = fixture.fetch(*generation, &[scheme, name, "/"]).await;
                assert_eq!(
                    result.text, "DestinationIpProhibited",
                    "{generation:?} {name}"
                );
                // As a rule names it, which for this machine takes the port.
                let port = match (name, scheme) {
                    ("localhost", "http") => ":80",
                    ("localhost", _) => ":443",
                    _ => "",
                };
                assert_eq!(
                    result.network,
                    format!("rejected {name}{port}: host has no public address (1)")
                );
            }
            assert_eq!(
                fixture.take_connections().1,
                Vec::<String>::new(),
                "{generation:?} {name}"
            );
        }
        let result = fixture
            .fetch(*generation, &["http", "unknown.example", "/"])
            .await;
        assert!(result.text.starts_with("DnsError"), "{result:?}");
        assert_eq!(
            result.network,
            "rejected unknown.example: host not found (1)"
        );
    }
}

#[tokio::test]
async fn case_17_a_name_is_resolved_once_and_only_public_addresses_are_connected() {
    for generation in Generation::ALL {
        let fixture = HttpFixture::new(&["*.example"]);
        fixture.respond_with(OK).await;
        fixture.name("rebind.example", &[&["127.0.0.1", PUBLIC], &["127.0.0.1"]]);
        let result = fixture
            .fetch(*generation, &["http", "rebind.example", "/", "times=2"])
            .await;
        assert_eq!(
            result.text,
            "200 [content-length=2] 2 \"hi\"\nDestinationIpProhibited"
        );
        assert_eq!(
            fixture.take_connections().1,
            ["93.184.216.34:80"],
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_17_addresses_in_any_notation_are_rejected() {
    for patterns in [
        &["*"][..],
        &["*", "127.0.0.1", "10.0.0.1", "169.254.169.254"],
    ] {
        let fixture = HttpFixture::new(patterns);
        for generation in Generation::ALL {
            for authority in [
                "127.0.0.1",
                "169.254.169.254",
                "10.0.0.1:80",
                "2130706433",
                "017700000001",
                "0x7f000001",
                "0x7f.1",
                "127.1",
                "127.0.0.1.",
                "127.0.0.01",
                "0",
                "[::1]",
                "[::ffff:127.0.0.1]",
                "[fd00:ec2::254]",
                "[2606:4700::1111]",
                "[fe80::1%25eth0]",
                "[127.0.0.1]",
                "[::1",
                "::1",
            ] {
                let result = fixture.fetch(*generation, &["http", authority, "/"]).await;
                assert!(
                    !result.text.starts_with("200") && !result.network.starts_with("reached"),
                    "{generation:?} {authority}: {result:?}"
                );
                assert_eq!(
                    fixture.take_connections(),
                    (vec![], vec![]),
                    "{generation:?} {authority}"
                );
            }
        }
    }
}

#[tokio::test]
async fn case_17_a_listed_public_address_is_reached_without_a_resolver() {
    let fixture = HttpFixture::new(&[PUBLIC]);
    fixture.respond_with(OK).await;
    for generation in Generation::ALL {
        let result = fixture.fetch(*generation, &["http", PUBLIC, "/"]).await;
        assert!(result.text.starts_with("200 "), "{result:?}");
        assert_eq!(
            fixture.take_connections(),
            (vec![], vec!["93.184.216.34:80".to_owned()])
        );
    }
}

#[tokio::test]
async fn case_17_ports_other_than_80_and_443_are_rejected() {
    let fixture = HttpFixture::new(&["a.example"]);
    for generation in Generation::ALL {
        for (scheme, port) in [
            ("http", "443"),
            ("https", "80"),
            ("http", "8080"),
            ("https", "8443"),
            ("http", "22"),
            ("http", "6379"),
        ] {
            let result = fixture
                .fetch(*generation, &[scheme, &format!("a.example:{port}"), "/"])
                .await;
            assert_eq!(
                result.text, "HttpRequestDenied",
                "{generation:?} {scheme} {port}"
            );
            assert_eq!(
                result.network,
                format!("rejected a.example:{port}: port {port} is not allowed (1)")
            );
        }
        for port in ["0", "080", "65616", "-80", "+80", "80x", "80:80"] {
            let result = fixture
                .fetch(*generation, &["http", &format!("a.example:{port}"), "/"])
                .await;
            assert!(
                ["authority", "HttpRequestUriInvalid", "HttpProtocolError"]
                    .contains(&result.text.as_str()),
                "{generation:?} {port}: {result:?}"
            );
        }
        assert_eq!(fixture.take_connections(), (vec![], vec![]));
    }
}

/// A service of this machine is reached if a rule names its port, and the refusal names that rule.
#[tokio::test]
async fn a_loopback_service_is_reached_by_its_name_and_port() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4_096];
            let length = tokio::io::AsyncReadExt::read(&mut stream, &mut head)
                .await
                .unwrap_or(0);
            let host = String::from_utf8_lossy(&head[..length])
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
                .unwrap_or_default();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{host}",
                host.len()
            );
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await;
        }
    });
    let service = format!("localhost:{port}");
    for &generation in Generation::ALL {
        let fixture = HttpFixture::new(&[&service]);
        for host in [&service, &format!("127.0.0.1:{port}")] {
            let result = fixture.fetch(generation, &["http", host, "/x"]).await;
            assert!(result.text.starts_with("200 "), "{result:?}");
            assert!(result.text.contains(host.as_str()), "{result:?}");
        }
        for rules in [&["localhost"][..], &["*"], &["127.0.0.1"]] {
            let fixture = HttpFixture::new(rules);
            let job = fixture.job(generation, &["http", &service, "/x"]);
            let output = fixture.run(job).await.unwrap();
            assert!(output.connections.is_empty());
            let [refused] = output.refusals.list() else {
                panic!("{:?}", output.refusals)
            };
            let target = refused.operation.target().unwrap().to_string();
            assert_eq!(target, format!("network:{service}"));
        }
    }
}

#[tokio::test]
async fn case_17_redirects_are_not_followed() {
    let fixture = HttpFixture::new(&["*.example"]);
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        fixture.respond_with(format!(
            "HTTP/1.1 {status}\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
        ))
        .await;
        for generation in Generation::ALL {
            let result = fixture
                .fetch(*generation, &["http", "a.example", "/"])
                .await;
            assert!(
                result.text.starts_with(&status[..3])
                    && result.text.contains("location=http://169.254.169.254/"),
                "{result:?}"
            );
            assert_eq!(
                fixture.take_connections(),
                (
                    vec!["a.example".to_owned()],
                    vec!["93.184.216.34:80".to_owned()]
                )
            );
        }
    }
}

/// Without a grant, a program that imports HTTP requests does not start.
#[tokio::test]
async fn a_program_that_needs_http_does_not_run_without_hosts() {
    let fixture = HttpFixture::new(&[]);
    for generation in Generation::ALL {
        let refused = fixture
            .run(fixture.job(*generation, &["http", "a.example", "/"]))
            .await
            .unwrap_err();
        assert!(
            refused.needs_host() && refused.to_string().contains("requires wasi:http"),
            "{refused}"
        );
    }
    assert_eq!(fixture.take_connections(), (vec![], vec![]));
}
