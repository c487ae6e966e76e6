//! The limits of the proxy, and how they are reported.

use std::time::Duration;

use insta::assert_snapshot;
use skills_egress::{EgressLimits, ExceededLimit, ProxySummary};

use super::fixture::{ProxyFixture, client_hello, socks};

const SHORT: Duration = Duration::from_millis(50);
const AT: &str = "93.184.216.34:443";

fn limits(summary: &ProxySummary) -> Vec<(ExceededLimit, u64)> {
    summary.limit_hits.clone()
}

/// Opens a tunnel to `a.example`.
fn tunnel() -> Vec<u8> {
    [
        b"CONNECT a.example:443 HTTP/1.1\r\n\r\n".as_slice(),
        &client_hello(Some("a.example"), 999),
    ]
    .concat()
}

#[tokio::test]
async fn more_connections_than_allowed_are_closed() {
    let fixture = ProxyFixture::limited(
        &["a.example"],
        EgressLimits {
            max_connections: 1,
            ..EgressLimits::default()
        },
    )
    .await;
    let mut first = fixture.connect().await;
    first.send([5, 1, 0]).await;
    assert_eq!(first.receive().await, [5, 0]);
    assert_eq!(fixture.exchange(socks(b"a.example", 443)).await, "");
    assert_eq!(
        limits(&fixture.summary()),
        [(ExceededLimit::Connections, 1)]
    );
    drop(first);
    // When it has disconnected, its permit is free again.
    while fixture.exchange(socks(b"b.example", 443)).await.is_empty() {}
}

#[tokio::test]
async fn heads_that_are_too_long_are_rejected() {
    let fixture = ProxyFixture::limited(
        &["a.example"],
        EgressLimits {
            max_head_bytes: 200,
            ..EgressLimits::default()
        },
    )
    .await;
    let long = fixture
        .exchange(format!(
            "GET http://a.example/{} HTTP/1.1\r\n",
            "x".repeat(4000)
        ))
        .await;
    assert!(
        long.starts_with("HTTP/1.1 503 ") && long.ends_with("head is too long\n"),
        "{long}"
    );
    let name = "x".repeat(220) + ".example";
    let long_hello = [
        b"CONNECT a.example:443 HTTP/1.1\r\n\r\n".as_slice(),
        &client_hello(Some(&name), 999),
    ]
    .concat();
    assert!(
        fixture
            .exchange(long_hello)
            .await
            .ends_with("established\r\n\r\n")
    );
    assert_eq!(limits(&fixture.summary()), [(ExceededLimit::HeadBytes, 2)]);
    assert_eq!(fixture.connections().1, Vec::<String>::new());
}

#[tokio::test]
async fn heads_that_are_too_slow_are_rejected() {
    let fixture = ProxyFixture::limited(
        &["a.example"],
        EgressLimits {
            head_timeout: Duration::from_secs(1),
            ..EgressLimits::default()
        },
    )
    .await;
    let (page, nothing, socks, hello) = tokio::join!(
        fixture.exchange("GET http://a.example/ HTTP/1.1\r\n"),
        fixture.exchange(""),
        fixture.exchange([5, 1]),
        fixture.exchange("CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03"),
    );
    assert!(
        page.starts_with("HTTP/1.1 503 ") && page.ends_with("head was not complete in time\n"),
        "{page}"
    );
    assert_eq!((nothing.as_str(), socks.as_str()), ("", ""));
    assert!(hello.ends_with("established\r\n\r\n"), "{hello}");
    assert_eq!(
        limits(&fixture.summary()),
        [(ExceededLimit::HeadTimeout, 4)]
    );
    assert_eq!(fixture.connections().1, Vec::<String>::new());
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let fixture = ProxyFixture::limited(
        &["a.example"],
        EgressLimits {
            idle_timeout: SHORT,
            ..EgressLimits::default()
        },
    )
    .await;
    let server = fixture.server(AT, "never", "").await;
    assert!(
        fixture
            .exchange(tunnel())
            .await
            .ends_with("established\r\n\r\n")
    );
    server.await.unwrap();
    let server = fixture.server("93.184.216.34:80", "never", "").await;
    fixture.get("http://a.example/", "a.example").await;
    server.await.unwrap();
    assert_eq!(
        limits(&fixture.summary()),
        [(ExceededLimit::IdleTimeout, 2)]
    );
}

#[tokio::test]
async fn bytes_are_counted_per_direction_over_all_connections() {
    let hello_bytes = client_hello(Some("a.example"), 999).len() as u64;
    let fixture = ProxyFixture::limited(
        &["a.example"],
        EgressLimits {
            bytes_per_direction: hello_bytes * 2,
            ..EgressLimits::default()
        },
    )
    .await;
    for (answer, passed) in [("server", true), ("server", true), ("server", false)] {
        let server = fixture.server(AT, "hello", answer).await;
        assert_eq!(fixture.exchange(tunnel()).await.ends_with(answer), passed);
        server.await.unwrap();
    }
    let summary = fixture.summary();
    assert_eq!(limits(&summary), [(ExceededLimit::Bytes, 1)]);
    assert_eq!(
        (summary.sent_bytes, summary.received_bytes),
        (hello_bytes * 2, 12)
    );
}

#[tokio::test]
async fn large_streams_are_relayed_unchanged() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let body: &'static str = Box::leak("0123456789abcdef".repeat(40_000).into_boxed_str());
    let answer: &'static str = Box::leak(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_boxed_str(),
    );
    let server = fixture
        .server("93.184.216.34:80", &body[body.len() - 16..], "")
        .await;
    let upload = format!(
        "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    fixture.exchange(upload).await;
    assert!(server.await.unwrap().len() > 16);
    let server = fixture.server("93.184.216.34:80", "\r\n\r\n", answer).await;
    assert!(
        fixture
            .get("http://a.example/", "a.example")
            .await
            .ends_with(&format!("\r\n\r\n{body}"))
    );
    server.await.unwrap();
}

#[tokio::test]
async fn stopping_the_proxy_closes_every_connection() {
    let mut fixture = ProxyFixture::new(&["a.example"]).await;
    let server = fixture.server(AT, "never", "").await;
    let mut client = fixture.connect().await;
    client.send(tunnel()).await;
    client.head().await;
    while fixture.summary().reached.is_empty() {
        tokio::task::yield_now().await;
    }
    fixture.stop().await;
    assert_eq!(client.rest().await, "");
    server.await.unwrap();
    assert_snapshot!(fixture.summary(), @"reached a.example (1)");
}

#[tokio::test]
async fn the_summary_is_bounded_and_escaped() {
    let fixture = ProxyFixture::new(&["*.example"]).await;
    fixture
        .exchange(socks(b"\x1b]0;x\x07\xe2\x80\xae", 443))
        .await;
    fixture.exchange(socks(&[b'y'; 255], 443)).await;
    for number in 0..20 {
        fixture
            .exchange(socks(format!("x{number}").as_bytes(), 443))
            .await;
    }
    let summary = fixture.summary();
    assert_eq!((summary.rejected.len(), summary.rejected_omitted), (16, 6));
    assert_eq!(summary.rejected[0].0.host.as_deref(), Some("?]0;x????"));
    assert_eq!(
        summary.rejected[1].0.host.as_ref().map(String::len),
        Some(254)
    );
    assert!(
        summary
            .to_string()
            .ends_with("rejected x13: host is not granted (1); rejected others (6)"),
        "{summary}"
    );
}
