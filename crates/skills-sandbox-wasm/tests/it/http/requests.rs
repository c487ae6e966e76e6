//! Requests and responses.

use super::fixture::{Generation, HttpFixture, OK};

#[tokio::test]
async fn case_17_the_request_line_never_contains_a_host() {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with(OK).await;
    for generation in Generation::ALL {
        for path in [
            "http://evil.example/",
            "https://evil.example:443/",
            "evil.example/",
            "@evil.example/",
            "*",
            "/ HTTP/1.1\r\nHost: evil.example\r\n",
            "/\u{e9}",
        ] {
            let result = fixture
                .fetch(*generation, &["http", "a.example", path])
                .await;
            assert!(
                ["path", "HttpRequestUriInvalid"].contains(&result.text.as_str()),
                "{generation:?} {path:?}: {result:?}"
            );
            assert_eq!(
                fixture.requests(),
                Vec::<String>::new(),
                "{generation:?} {path:?}"
            );
        }
        for (path, line) in [
            ("//evil.example/", "//evil.example/"),
            ("/http://evil.example/", "/http://evil.example/"),
            ("?x", "/?x"),
            ("/a/../b", "/a/../b"),
        ] {
            let result = fixture
                .fetch(*generation, &["http", "a.example", path])
                .await;
            assert!(
                result.text.starts_with("200 "),
                "{generation:?} {path:?}: {result:?}"
            );
            assert_eq!(
                fixture.requests(),
                [format!(
                    "GET {line} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n"
                )],
                "{generation:?}"
            );
        }
    }
}

#[tokio::test]
async fn case_17_fields_of_connections_and_proxies_cannot_be_set() {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with(OK).await;
    for generation in Generation::ALL {
        for name in [
            "Host",
            "hOsT",
            "Connection",
            "Keep-Alive",
            "Proxy-Authenticate",
            "Proxy-Authorization",
            "Proxy-Authentication-Info",
            "Proxy-Connection",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "HTTP2-Settings",
        ] {
            let result = fixture
                .fetch(
                    *generation,
                    &[
                        "http",
                        "a.example",
                        "/",
                        &format!("header={name}:evil.example"),
                    ],
                )
                .await;
            assert!(
                result.text.starts_with("field: ") && result.text.contains("Forbidden"),
                "{generation:?} {name}: {result:?}"
            );
        }
        for field in [
            "x-a:1\r\nhost: evil.example",
            "x a:1",
            "x-a\r\nhost:evil.example",
        ] {
            let result = fixture
                .fetch(
                    *generation,
                    &["http", "a.example", "/", &format!("header={field}")],
                )
                .await;
            assert!(
                result.text.starts_with("field: "),
                "{generation:?} {field}: {result:?}"
            );
        }
        assert_eq!(fixture.requests(), Vec::<String>::new());
        let result = fixture
            .fetch(
                *generation,
                &[
                    "http",
                    "a.example",
                    "/",
                    "header=Authorization:Bearer x",
                    "header=X-Host:evil.example",
                ],
            )
            .await;
        assert!(result.text.starts_with("200 "), "{result:?}");
        let [request] = &fixture.requests()[..] else {
            panic!("one request")
        };
        assert!(
            request.contains("authorization: Bearer x\r\n")
                && request.contains("\r\nhost: a.example\r\n"),
            "{request}"
        );
    }
}

#[tokio::test]
async fn other_methods_and_schemes_are_refused() {
    let fixture = HttpFixture::new(&["a.example"]);
    for generation in Generation::ALL {
        for method in ["CONNECT", "TRACE", "connect", "tRACE"] {
            let result = fixture
                .fetch(
                    *generation,
                    &["http", "a.example", "/", &format!("method={method}")],
                )
                .await;
            assert_eq!(
                result.text, "HttpRequestMethodInvalid",
                "{generation:?} {method}"
            );
            assert_eq!(
                result.network,
                "rejected a.example: malformed: method is not allowed (1)"
            );
        }
        for scheme in ["ftp", "file", "ws", "unix", "gopher"] {
            let result = fixture
                .fetch(*generation, &[scheme, "a.example", "/"])
                .await;
            assert_eq!(result.text, "HttpProtocolError", "{generation:?} {scheme}");
        }
    }
    assert_eq!(fixture.take_connections(), (vec![], vec![]));
}

#[tokio::test]
async fn bodies_are_sent_in_both_directions() {
    let fixture = HttpFixture::new(&["a.example"]);
    let answer = "0123456789abcdef".repeat(40_000);
    fixture
        .respond_with(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        ))
        .await;
    for generation in Generation::ALL {
        let result = fixture
            .fetch(*generation, &["http", "a.example", "/", "body=300000"])
            .await;
        assert!(
            result
                .text
                .starts_with("200 [content-length=640000] 640000 \"0123"),
            "{generation:?}: {result:?}"
        );
        let [request] = &fixture.requests()[..] else {
            panic!("one request")
        };
        // One is in the name of the host.
        assert_eq!(request.matches('x').count(), 300_001, "{generation:?}");
        assert!(request.starts_with("POST / HTTP/1.1\r\n") && request.ends_with("\r\n0\r\n\r\n"));
    }
}

#[tokio::test]
async fn responses_that_violate_the_protocol_are_errors() {
    for (answer, expected) in [
        ("SSH-2.0-OpenSSH\r\n\r\n", "HttpProtocolError"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "HttpUpgradeFailed",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
            "HttpProtocolError",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
            "after 2 bytes: HttpResponseIncomplete",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
            "after 2 bytes: HttpResponseIncomplete",
        ),
        ("HTTP/1.1 200 OK", "HttpResponseIncomplete"),
        ("", "HttpResponseIncomplete"),
    ] {
        let fixture = HttpFixture::new(&["a.example"]);
        fixture.respond_with(answer).await;
        for generation in Generation::ALL {
            let result = fixture
                .fetch(*generation, &["http", "a.example", "/"])
                .await;
            assert_eq!(
                result.text, expected,
                "{generation:?} {answer:?}: {}",
                result.network
            );
        }
    }
}

/// Hop-by-hop fields of a response are not passed to the program.
#[tokio::test]
async fn hop_by_hop_fields_are_not_returned() {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n").await;
    for generation in Generation::ALL {
        assert_eq!(
            fixture
                .fetch(*generation, &["http", "a.example", "/"])
                .await
                .text,
            "200 [x-a=1] 2 \"hi\""
        );
    }
}
