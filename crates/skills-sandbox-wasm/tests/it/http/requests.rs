//! Requests and responses.

use super::lab::{Generation, Lab, OK};

#[tokio::test]
async fn case_17_the_first_line_never_names_a_host() {
    let lab = Lab::new(&["a.example"]);
    lab.answers(OK).await;
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
            let said = lab.fetch(*generation, &["http", "a.example", path]).await;
            assert!(
                ["path", "HttpRequestUriInvalid"].contains(&said.text.as_str()),
                "{generation:?} {path:?}: {said:?}"
            );
            assert_eq!(
                lab.requests(),
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
            let said = lab.fetch(*generation, &["http", "a.example", path]).await;
            assert!(
                said.text.starts_with("200 "),
                "{generation:?} {path:?}: {said:?}"
            );
            assert_eq!(
                lab.requests(),
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
    let lab = Lab::new(&["a.example"]);
    lab.answers(OK).await;
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
            let said = lab
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
                said.text.starts_with("field: ") && said.text.contains("Forbidden"),
                "{generation:?} {name}: {said:?}"
            );
        }
        for field in [
            "x-a:1\r\nhost: evil.example",
            "x a:1",
            "x-a\r\nhost:evil.example",
        ] {
            let said = lab
                .fetch(
                    *generation,
                    &["http", "a.example", "/", &format!("header={field}")],
                )
                .await;
            assert!(
                said.text.starts_with("field: "),
                "{generation:?} {field}: {said:?}"
            );
        }
        assert_eq!(lab.requests(), Vec::<String>::new());
        let said = lab
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
        assert!(said.text.starts_with("200 "), "{said:?}");
        let [request] = &lab.requests()[..] else {
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
    let lab = Lab::new(&["a.example"]);
    for generation in Generation::ALL {
        for method in ["CONNECT", "TRACE", "connect", "tRACE"] {
            let said = lab
                .fetch(
                    *generation,
                    &["http", "a.example", "/", &format!("method={method}")],
                )
                .await;
            assert_eq!(
                said.text, "HttpRequestMethodInvalid",
                "{generation:?} {method}"
            );
            assert_eq!(
                said.seen,
                "rejected a.example: malformed: method is not allowed (1)"
            );
        }
        for scheme in ["ftp", "file", "ws", "unix", "gopher"] {
            let said = lab.fetch(*generation, &[scheme, "a.example", "/"]).await;
            assert_eq!(said.text, "HttpProtocolError", "{generation:?} {scheme}");
        }
    }
    assert_eq!(lab.went(), (vec![], vec![]));
}

#[tokio::test]
async fn bodies_are_sent_in_both_directions() {
    let lab = Lab::new(&["a.example"]);
    let answer = "0123456789abcdef".repeat(40_000);
    lab.answers(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    ))
    .await;
    for generation in Generation::ALL {
        let said = lab
            .fetch(*generation, &["http", "a.example", "/", "body=300000"])
            .await;
        assert!(
            said.text
                .starts_with("200 [content-length=640000] 640000 \"0123"),
            "{generation:?}: {said:?}"
        );
        let [request] = &lab.requests()[..] else {
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
        let lab = Lab::new(&["a.example"]);
        lab.answers(answer).await;
        for generation in Generation::ALL {
            let said = lab.fetch(*generation, &["http", "a.example", "/"]).await;
            assert_eq!(
                said.text, expected,
                "{generation:?} {answer:?}: {}",
                said.seen
            );
        }
    }
}

/// Hop-by-hop fields of a response are not passed to the program.
#[tokio::test]
async fn hop_by_hop_fields_are_not_returned() {
    let lab = Lab::new(&["a.example"]);
    lab.answers("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n").await;
    for generation in Generation::ALL {
        assert_eq!(
            lab.fetch(*generation, &["http", "a.example", "/"])
                .await
                .text,
            "200 [x-a=1] 2 \"hi\""
        );
    }
}
