//! Limits of clients.

use std::num::NonZeroU32;
use std::time::Duration;

use skills_mcp::BearerToken;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Call, Open, PATIENCE};
use super::probe::{Server, heard};

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn slow_heads_close_the_connection() {
    let server = Server::start(|http| http.header_read_timeout(SHORT)).await;
    for begun in [
        "",
        "POST /mcp HT",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: ",
    ] {
        let reply = Open::send(server.address, begun.as_bytes())
            .await
            .rest()
            .await;
        assert!(!reply.0.contains("200"), "{reply:?}");
    }
    let idle = Call::new("GET", "/healthz").without("connection");
    assert_eq!(
        idle.send(server.address).await.status(),
        200,
        "then the connection is closed"
    );
    server.answers().await;
}

#[tokio::test]
async fn slow_bodies_time_out() {
    let server = Server::start(|http| http.request_body_timeout(SHORT)).await;
    let bytes = Call::tool("whoami").bytes();
    let reply = Open::send(server.address, &bytes[..bytes.len() - 1])
        .await
        .rest()
        .await;
    assert_eq!(reply.status(), 408);
    server.answers().await;
}

#[tokio::test]
async fn clients_that_do_not_read_are_disconnected() {
    let server = Server::start(|http| http.write_timeout(SHORT).max_connections(1)).await;
    let mut deaf = TcpStream::connect(server.address).await.unwrap();
    let flood = Call::new("GET", "/healthz")
        .without("connection")
        .bytes()
        .repeat(1_000);
    let refused = async { while deaf.write_all(&flood).await.is_ok() {} };
    timeout(PATIENCE, refused)
        .await
        .expect("it ends although the client does not read");
    server.answers().await;
}

#[tokio::test]
async fn long_heads_are_rejected() {
    let server = Server::start(|http| http).await;
    let many = (0..100).fold(Call::tool("whoami"), |call, number| {
        call.also(&format!("x-{number}"), "1")
    });
    assert_eq!(many.send(server.address).await.status(), 431);
    let long = Call::tool("whoami").with("x-long", &"x".repeat(200 << 10));
    assert_eq!(long.send(server.address).await.status(), 431);
    server.answers().await;
}

#[tokio::test]
async fn connections_wait_for_a_permit() {
    let server = Server::start(|http| http.max_connections(2).header_read_timeout(SHORT)).await;
    let mut idle = vec![];
    for _ in 0..20 {
        idle.push(Open::send(server.address, b"").await);
    }
    server.answers().await;
    for open in idle {
        assert_eq!(open.rest().await.0, "", "closed without a response");
    }
}

#[tokio::test]
async fn principals_have_separate_limits() {
    let [one, two] = ["ci", "laptop"].map(|name| BearerToken::generate(name).unwrap());
    let server = Server::start(|http| {
        http.token(one.clone())
            .token(two.clone())
            .max_concurrent_requests(1)
    })
    .await;
    let call = |tool: &str, token: &BearerToken| {
        Call::tool(tool).with(
            "authorization",
            &format!("Bearer {}", token.expose_secret()),
        )
    };
    let waiting = Open::send(server.address, &call("wait", &one).bytes()).await;
    heard(&server.probe.started).await;
    let reply = call("whoami", &one).send(server.address).await;
    assert_eq!(
        (reply.status(), reply.header("retry-after")),
        (429, Some("1"))
    );
    assert_eq!(
        call("whoami", &two).send(server.address).await.text(),
        "laptop"
    );
    server.probe.go_on.notify_one();
    assert_eq!(waiting.rest().await.text(), "went on");
    assert_eq!(call("whoami", &one).send(server.address).await.text(), "ci");
}

#[tokio::test]
async fn streams_hold_their_permit_to_the_end() {
    let server = Server::start(|http| http.max_concurrent_requests(1)).await;
    let mut telling = Open::send(server.address, &Call::tool("tell").bytes()).await;
    let head = telling.until("notifications/progress").await;
    assert!(
        head.contains("text/event-stream")
            && head.contains("x-accel-buffering: no")
            && head.contains("cache-control: no-store"),
        "{head}"
    );
    assert_eq!(
        Call::tool("whoami").send(server.address).await.status(),
        429
    );
    server.probe.go_on.notify_one();
    assert_eq!(telling.rest().await.text(), "went on");
    server.answers().await;
}

#[tokio::test]
async fn responses_hold_their_permit_until_they_are_read() {
    let server = Server::start(|http| http.max_concurrent_requests(1)).await;
    let mut unread = Open::send(server.address, &Call::tool("long").bytes()).await;
    unread.until("HTTP/1.1 200").await;
    assert_eq!(
        Call::tool("whoami").send(server.address).await.status(),
        429
    );
    assert!(unread.rest().await.0.len() > 31 << 20);
    server.answers().await;
}

#[tokio::test]
async fn the_request_rate_is_limited() {
    let server = Server::start(|http| http.requests_per_second(NonZeroU32::MIN)).await;
    let flood = Call::tool("whoami")
        .without("connection")
        .bytes()
        .repeat(50);
    let reply = Open::send(
        server.address,
        &[flood, Call::tool("whoami").bytes()].concat(),
    )
    .await
    .rest()
    .await;
    assert_eq!(reply.status(), 200, "the first one is accepted");
    assert!(
        reply.0.contains("HTTP/1.1 429 ") && reply.0.contains("retry-after: "),
        "{}",
        reply.0
    );
    assert_eq!(
        Call::new("GET", "/healthz")
            .send(server.address)
            .await
            .status(),
        200
    );
}
