//! The limits of the proxy, and how they are reported.

use std::time::Duration;

use insta::assert_snapshot;
use skills_egress::{ExceededLimit, ProxyLimits, ProxySummary};

use super::lab::{Lab, hello, socks};

const SHORT: Duration = Duration::from_millis(50);
const AT: &str = "93.184.216.34:443";

fn limits(summary: &ProxySummary) -> Vec<(ExceededLimit, u64)> {
    summary
        .limit_hits()
        .iter()
        .map(|entry| (entry.limit, entry.count))
        .collect()
}

/// Opens a tunnel to `a.example`.
fn tunnel() -> Vec<u8> {
    [
        b"CONNECT a.example:443 HTTP/1.1\r\n\r\n".as_slice(),
        &hello(Some("a.example"), 999),
    ]
    .concat()
}

#[tokio::test]
async fn more_connections_than_allowed_are_closed() {
    let lab = Lab::limited(&["a.example"], ProxyLimits::default().max_connections(1)).await;
    let mut first = lab.connect().await;
    first.say([5, 1, 0]).await;
    assert_eq!(first.hear().await, [5, 0]);
    assert_eq!(lab.talk(socks(b"a.example", 443)).await, "");
    assert_eq!(limits(&lab.summary()), [(ExceededLimit::Connections, 1)]);
    drop(first);
    // When it has disconnected, its permit is free again.
    while lab.talk(socks(b"b.example", 443)).await.is_empty() {}
}

#[tokio::test]
async fn heads_that_are_too_long_are_rejected() {
    let lab = Lab::limited(&["a.example"], ProxyLimits::default().max_head_bytes(200)).await;
    let long = lab
        .talk(format!(
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
        &hello(Some(&name), 999),
    ]
    .concat();
    assert!(lab.talk(long_hello).await.ends_with("established\r\n\r\n"));
    assert_eq!(limits(&lab.summary()), [(ExceededLimit::HeadBytes, 2)]);
    assert_eq!(lab.went().1, Vec::<String>::new());
}

#[tokio::test]
async fn heads_that_are_too_slow_are_rejected() {
    let lab = Lab::limited(
        &["a.example"],
        ProxyLimits::default().head_timeout(Duration::from_secs(1)),
    )
    .await;
    let (page, nothing, socks, hello) = tokio::join!(
        lab.talk("GET http://a.example/ HTTP/1.1\r\n"),
        lab.talk(""),
        lab.talk([5, 1]),
        lab.talk("CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03"),
    );
    assert!(
        page.starts_with("HTTP/1.1 503 ") && page.ends_with("head was not complete in time\n"),
        "{page}"
    );
    assert_eq!((nothing.as_str(), socks.as_str()), ("", ""));
    assert!(hello.ends_with("established\r\n\r\n"), "{hello}");
    assert_eq!(limits(&lab.summary()), [(ExceededLimit::HeadTimeout, 4)]);
    assert_eq!(lab.went().1, Vec::<String>::new());
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let lab = Lab::limited(&["a.example"], ProxyLimits::default().idle_timeout(SHORT)).await;
    let server = lab.server(AT, "never", "").await;
    assert!(lab.talk(tunnel()).await.ends_with("established\r\n\r\n"));
    server.await.unwrap();
    let server = lab.server("93.184.216.34:80", "never", "").await;
    lab.get("http://a.example/", "a.example").await;
    server.await.unwrap();
    assert_eq!(limits(&lab.summary()), [(ExceededLimit::IdleTimeout, 2)]);
}

#[tokio::test]
async fn bytes_are_counted_over_all_connections_per_direction() {
    let hello_bytes = hello(Some("a.example"), 999).len() as u64;
    let lab = Lab::limited(
        &["a.example"],
        ProxyLimits::default().bytes_per_direction(hello_bytes * 2),
    )
    .await;
    for (answer, passed) in [("server", true), ("server", true), ("server", false)] {
        let server = lab.server(AT, "hello", answer).await;
        assert_eq!(lab.talk(tunnel()).await.ends_with(answer), passed);
        server.await.unwrap();
    }
    let summary = lab.summary();
    assert_eq!(limits(&summary), [(ExceededLimit::Bytes, 1)]);
    assert_eq!(
        (summary.sent_bytes(), summary.received_bytes()),
        (hello_bytes * 2, 12)
    );
}

#[tokio::test]
async fn large_streams_are_relayed_unchanged() {
    let lab = Lab::new(&["a.example"]).await;
    let body: &'static str = Box::leak("0123456789abcdef".repeat(40_000).into_boxed_str());
    let answer: &'static str = Box::leak(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_boxed_str(),
    );
    let server = lab
        .server("93.184.216.34:80", &body[body.len() - 16..], "")
        .await;
    let upload = format!(
        "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    lab.talk(upload).await;
    assert!(server.await.unwrap().len() > 16);
    let server = lab.server("93.184.216.34:80", "\r\n\r\n", answer).await;
    assert!(
        lab.get("http://a.example/", "a.example")
            .await
            .ends_with(&format!("\r\n\r\n{body}"))
    );
    server.await.unwrap();
}

#[tokio::test]
async fn stopping_the_proxy_closes_every_connection() {
    let mut lab = Lab::new(&["a.example"]).await;
    let server = lab.server(AT, "never", "").await;
    let mut client = lab.connect().await;
    client.say(tunnel()).await;
    client.head().await;
    while lab.summary().reached().is_empty() {
        tokio::task::yield_now().await;
    }
    lab.stop().await;
    assert_eq!(client.rest().await, "");
    server.await.unwrap();
    assert_snapshot!(lab.summary(), @"reached a.example (1)");
}

#[tokio::test]
async fn the_summary_is_bounded_and_escaped() {
    let lab = Lab::new(&["*.example"]).await;
    lab.talk(socks(b"\x1b]0;x\x07\xe2\x80\xae", 443)).await;
    lab.talk(socks(&[b'y'; 255], 443)).await;
    for number in 0..20 {
        lab.talk(socks(format!("x{number}").as_bytes(), 443)).await;
    }
    let summary = lab.summary();
    assert_eq!((summary.rejected().len(), summary.omitted()), (16, (0, 6)));
    assert_eq!(summary.rejected()[0].host.as_deref(), Some("?]0;x????"));
    assert_eq!(
        summary.rejected()[1].host.as_ref().map(String::len),
        Some(254)
    );
    assert!(
        summary
            .to_string()
            .ends_with("rejected x13: host is not in the allowlist (1); rejected others (6)"),
        "{summary}"
    );
}

#[tokio::test]
async fn limits_are_part_of_the_summary() {
    let lab = Lab::limited(&["a.example"], ProxyLimits::default().max_head_bytes(200)).await;
    lab.talk(format!(
        "GET http://a.example/{} HTTP/1.1\r\n",
        "x".repeat(4000)
    ))
    .await;
    let written = serde_json::to_value(lab.summary()).unwrap();
    assert_eq!(written["limit_hits"][0]["count"], 1, "{written}");
    assert!(written["limit_hits"][0]["limit"].is_string(), "{written}");
}
