//! HTTP requests: what is parsed, what is forwarded, and what is not.

use insta::assert_snapshot;

use super::fixture::{ProxyFixture, SOCKS_GRANTED, socks};

const AT: &str = "93.184.216.34:80";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Sends a request that must be rejected with this status, and must not reach a server.
async fn check_rejected(fixture: &ProxyFixture, status: u16, request: &str) {
    let answer = fixture.exchange(request).await;
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{request:?}: {answer:?}"
    );
    assert_eq!(fixture.connections().1, Vec::<String>::new(), "{request:?}");
}

/// Case 42.
#[tokio::test]
async fn case_42_another_host_in_the_field_is_rejected() {
    let fixture = ProxyFixture::new(&["a.example", "b.example"]).await;
    for fields in [
        "Host: b.example\r\n",
        "Host: evil.example\r\n",
        "Host: a.example:8080\r\n",
        "Host: a.example:\r\n",
        "Host: a.example, b.example\r\n",
        "Host: user@a.example\r\n",
        "Host: \r\n",
        "X: y\r\n",
    ] {
        check_rejected(
            &fixture,
            403,
            &format!("GET http://a.example/ HTTP/1.1\r\n{fields}\r\n"),
        )
        .await;
    }
    check_rejected(
        &fixture,
        400,
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nhost: b.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://a.example/ HTTP/1.1\r\nHost : a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://a.example/ HTTP/1.1\r\nX: y\r\n Host: a.example\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn case_42_an_absolute_target_to_another_host_is_rejected() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    check_rejected(
        &fixture,
        403,
        "GET http://evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://a.example@evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://evil.example#a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        403,
        "GET http://evil.example?a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET http://evil.example\\a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(&fixture, 400, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").await;
    check_rejected(
        &fixture,
        400,
        "GET //a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
    check_rejected(
        &fixture,
        400,
        "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn case_42_request_smuggling_is_rejected() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4,4\r\n",
        "Content-Length: +4\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\u{b}chunked\r\n",
        "X: y\r\n\tTransfer-Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: \0\r\n",
        "X\0: y\r\n",
        "X y: z\r\n",
        "X\r\n",
    ] {
        check_rejected(
            &fixture,
            400,
            &format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n0\r\n\r\n"),
        )
        .await;
    }
    for first in [
        "GET  http://a.example/ HTTP/1.1",
        "GET http://a.example/ HTTP/2.0",
        "GET http://a.example/",
        "G(T http://a.example/ HTTP/1.1",
    ] {
        check_rejected(
            &fixture,
            400,
            &format!("{first}\r\nHost: a.example\r\n\r\n"),
        )
        .await;
    }
    let old = "POST http://a.example/ HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check_rejected(&fixture, 400, old).await;
}

#[tokio::test]
async fn case_42_bytes_after_a_request_are_not_forwarded() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let more = "GET /secret HTTP/1.1\r\nHost: b.example\r\n\r\n";
    for (fields, body) in [
        ("", ""),
        ("Content-Length: 4\r\n", "body"),
        ("Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n"),
        (
            "Connection: Content-Length, Transfer-Encoding\r\nContent-Length: 4\r\n",
            "body",
        ),
    ] {
        let until = if body.is_empty() { "\r\n\r\n" } else { body };
        let server = fixture.server(AT, until, OK).await;
        let request = format!(
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n{body}{more}"
        );
        let answer = fixture.exchange(request).await;
        assert!(answer.ends_with("Connection: close\r\n\r\nhi"), "{answer}");
        let got = server.await.unwrap();
        assert!(
            got.ends_with(&format!("\r\nConnection: close\r\n\r\n{body}")),
            "{got}"
        );
        assert_eq!(
            got.matches("Content-Length: 4\r\n").count(),
            usize::from(body == "body"),
            "{got}"
        );
        assert_eq!(
            got.matches("Transfer-Encoding: chunked\r\n").count(),
            usize::from(body.len() > 4),
            "{got}"
        );
    }
}

/// A continued line is a part of the value for some parsers, and a field of its own for others.
#[tokio::test]
async fn case_42_folded_fields_are_rejected() {
    let fixture = ProxyFixture::new(&["a.example", "b.example"]).await;
    for fields in [
        "Host: a.example\r\n b.example\r\n",
        "Host:\r\n a.example\r\n",
        "Host: a.example\r\nContent-Length:\r\n 4\r\n",
        "Host: a.example\r\nTransfer-Encoding:\r\n\tchunked\r\n",
        "Host: a.example\r\nX: y\r\n Host: b.example\r\n",
        " Host: b.example\r\nHost: a.example\r\n",
    ] {
        let request = format!("POST http://a.example/ HTTP/1.1\r\n{fields}\r\nbody");
        check_rejected(&fixture, 400, &request).await;
    }
}

/// Both hosts are granted, but only one of them was checked for this connection.
#[tokio::test]
async fn case_42_a_pipelined_request_does_not_reach_another_host() {
    let fixture = ProxyFixture::new(&["a.example", "b.example"]).await;
    fixture.name("b.example", &[&["1.1.1.1"]]);
    let page = |host: &str| format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for second in [
        page("b.example"),
        "CONNECT b.example:80 HTTP/1.1\r\n\r\n".to_owned() + &page("b.example"),
    ] {
        let server = fixture.server(AT, "\r\n\r\n", OK).await;
        let answer = fixture.exchange(page("a.example") + &second).await;
        assert!(answer.ends_with("Connection: close\r\n\r\nhi"), "{answer}");
        let got = server.await.unwrap();
        assert!(!got.contains("b.example"), "{got}");
    }
    let (resolved, connected) = fixture.connections();
    assert_eq!(resolved, ["a.example"; 2]);
    assert_eq!(connected, [AT; 2]);
}

/// `CONNECT` has no body: a declared one is the first data of the tunnel, which is checked.
#[tokio::test]
async fn case_42_the_body_of_connect_is_data_of_the_tunnel() {
    let fixture = ProxyFixture::new(&["a.example", "b.example"]).await;
    let opened = "HTTP/1.1 200 Connection established\r\n\r\n";
    let other = "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n";
    for (port, fields, body, answer) in [
        (443, "Content-Length: 4\r\n", "body", ""),
        (443, "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", ""),
        (80, "Content-Length: 41\r\n", other, "HTTP/1.1 403 "),
        (80, "Content-Length: 0\r\n", other, "HTTP/1.1 403 "),
        (80, "", "0\r\n\r\n", "HTTP/1.1 400 "),
    ] {
        let request = format!("CONNECT a.example:{port} HTTP/1.1\r\n{fields}\r\n{body}");
        let got = fixture.exchange(&request).await;
        let got = got.strip_prefix(opened).unwrap();
        assert!(got.starts_with(answer), "{request:?}: {got:?}");
        assert_eq!(got.is_empty(), answer.is_empty(), "{request:?}: {got:?}");
    }
    assert_eq!(fixture.connections().1, Vec::<String>::new());
    assert_snapshot!(fixture.summary(), @"rejected a.example: port 443 requires TLS (2); rejected a.example: the connection names a different host, or none (2); rejected a.example: malformed: invalid method or target (1)");
}

#[tokio::test]
async fn case_42_an_invalid_body_closes_the_connection() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let server = fixture.server(AT, "never", OK).await;
    let request = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nbody\r\n0\r\n\r\n";
    assert_eq!(fixture.exchange(request).await, "");
    assert!(server.await.unwrap().ends_with("Connection: close\r\n\r\n"));
    assert_snapshot!(fixture.summary(), @"reached a.example (1); rejected a.example: malformed: invalid chunk (1)");
}

#[tokio::test]
async fn fields_for_the_proxy_are_not_forwarded() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let server =
        fixture.server(AT, "\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nA: b\r\n\r\nhi").await;
    let fields = "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive, x-mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n\
        TE: trailers\r\nTrailer: x\r\nUpgrade: websocket\r\nAccept: */*\r\nCookie: \u{e9}\r\n";
    let answer = fixture
        .exchange(format!(
            "GET HTTP://A.EXAMPLE.:80?q HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n"
        ))
        .await;
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nhi"
    );
    assert_eq!(
        server.await.unwrap(),
        "GET /?q HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nCookie: \u{e9}\r\nConnection: close\r\n\r\n"
    );
}

#[tokio::test]
async fn responses_end_at_their_declared_length() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for (method, answer, passed) in [
        (
            "GET",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nmore",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        ),
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi more",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
        ),
        (
            "GET",
            "HTTP/1.0 200 \r\n\r\nuntil closed",
            "HTTP/1.0 200 \r\nConnection: close\r\n\r\nuntil closed",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nmore",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhi\r\n0\r\nT: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2;x\r\nhi\r\n0\r\nT: x\r\n\r\n",
        ),
    ] {
        let server = fixture.server(AT, "\r\n\r\n", answer).await;
        let got = fixture
            .exchange(format!(
                "{method} http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
            ))
            .await;
        assert_eq!(got, passed);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn an_invalid_response_is_reported() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for answer in [
        "",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "SSH-2.0-x\r\n",
        "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        let server = fixture.server(AT, "\r\n\r\n", answer).await;
        let got = fixture.get("http://a.example/", "a.example").await;
        assert!(
            got.starts_with("HTTP/1.1 502 ")
                && got.ends_with("cannot connect to a.example: host did not respond\n"),
            "{got}"
        );
        server.await.unwrap();
    }
    let fixture = ProxyFixture::new(&["*.example"]).await;
    assert!(
        fixture
            .get("http://nowhere.example/", "nowhere.example")
            .await
            .ends_with("nowhere.example: host not found\n")
    );
    assert!(
        fixture
            .get("http://a.example/", "a.example")
            .await
            .ends_with("a.example: connection refused\n")
    );
    let failures: Vec<String> = fixture.summary().failures().collect();
    assert_eq!(
        failures,
        [
            "cannot connect to `nowhere.example`: host not found",
            "cannot connect to `a.example`: connection refused",
        ]
    );
    // Other notes of a run have to fit in, too.
    for index in 0..5 {
        let host = format!("no{index}.example");
        fixture.get(&format!("http://{host}/"), &host).await;
    }
    let failures: Vec<String> = fixture.summary().failures().collect();
    assert_eq!(failures.len(), 5);
    assert_eq!(failures[4], "3 more hosts could not be reached");
}

#[tokio::test]
async fn tunnels_to_port_80_carry_one_request() {
    let fixture = ProxyFixture::new(&["a.example", "b.example"]).await;
    let opened = "HTTP/1.1 200 Connection established\r\n\r\n".to_owned();
    for (request, granted) in [
        (b"CONNECT a.example:80 HTTP/1.1\r\n\r\n".to_vec(), opened),
        (socks(b"a.example", 80), SOCKS_GRANTED.to_owned()),
    ] {
        let server = fixture.server(AT, "\r\n\r\n", OK).await;
        let page = b"GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\nGET /y HTTP/1.1\r\nHost: b.example\r\n\r\n";
        let got = fixture.exchange([request.as_slice(), page].concat()).await;
        assert_eq!(
            got,
            format!("{granted}HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        );
        assert_eq!(
            server.await.unwrap(),
            "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
        );
        let connections = fixture.connections().1.len();
        for (page, status) in [
            (
                "GET /x HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "HTTP/1.1 403 ",
            ),
            (
                "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "HTTP/1.1 400 ",
            ),
            (
                "CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "HTTP/1.1 400 ",
            ),
            ("SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 400 "),
            ("\x16\x03\x01", "HTTP/1.1 400 "),
        ] {
            let got = fixture
                .exchange([request.as_slice(), page.as_bytes()].concat())
                .await;
            assert!(
                got.strip_prefix(granted.as_str())
                    .is_some_and(|got| got.starts_with(status)),
                "{page:?}: {got:?}"
            );
        }
        assert_eq!(fixture.connections().1.len(), connections);
    }
}
