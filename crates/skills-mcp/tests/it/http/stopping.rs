//! Early ends of requests: the client disconnects, or the server shuts down.

use std::time::Duration;

use skills_mcp::HttpServer;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Call, Open, PATIENCE};
use super::probe::{Probe, Server, heard};

#[tokio::test]
async fn a_disconnecting_client_cancels_its_request() {
    let server = Server::start(|http| http).await;
    let waiting = Open::send(server.address, &Call::tool("wait").bytes()).await;
    heard(&server.probe.started).await;
    drop(waiting);
    heard(&server.probe.cancelled).await;
    server.answers().await;
}

#[tokio::test]
async fn a_disconnecting_client_cancels_its_request_despite_pending_input() {
    let server = Server::start(|http| http).await;
    let more = Call::new("GET", "/healthz").without("connection").bytes();
    let waiting = Open::send(
        server.address,
        &[Call::tool("wait").without("connection").bytes(), more].concat(),
    )
    .await;
    heard(&server.probe.started).await;
    drop(waiting);
    heard(&server.probe.cancelled).await;
    server.answers().await;
}

#[tokio::test]
async fn disconnecting_during_a_stream_cancels_the_request() {
    let server = Server::start(|http| http).await;
    let mut telling = Open::send(server.address, &Call::tool("tell").bytes()).await;
    telling.until("notifications/progress").await;
    heard(&server.probe.started).await;
    drop(telling);
    heard(&server.probe.cancelled).await;
    server.answers().await;
}

#[tokio::test]
async fn running_requests_can_finish_during_shutdown() {
    let server = Server::start(|http| http.shutdown_timeout(PATIENCE)).await;
    let (address, probe) = (server.address, server.probe.clone());
    let waiting = Open::send(address, &Call::tool("wait").bytes()).await;
    heard(&probe.started).await;
    let stopped = server.stop();
    // It stops listening immediately, in its own task.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stopped.is_finished());
    probe.go_on.notify_one();
    assert_eq!(waiting.rest().await.text(), "went on");
    timeout(PATIENCE, stopped)
        .await
        .expect("in time")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn requests_are_cancelled_after_the_shutdown_timeout() {
    let server = Server::start(|http| http.shutdown_timeout(Duration::from_millis(50))).await;
    let probe = server.probe.clone();
    let waiting = Open::send(server.address, &Call::tool("wait").bytes()).await;
    heard(&probe.started).await;
    let stopped = server.stop();
    heard(&probe.cancelled).await;
    assert_eq!(waiting.rest().await.status(), 503);
    timeout(PATIENCE, stopped)
        .await
        .expect("in time")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn streams_end_on_shutdown() {
    let server = Server::start(|http| http.shutdown_timeout(PATIENCE * 10)).await;
    let begun = Call::initialize().send(server.address).await;
    let get = Call::get().with("mcp-session-id", begun.header("mcp-session-id").unwrap());
    let mut listening = Open::send(server.address, &get.bytes()).await;
    listening.until("\r\n\r\n").await;
    let stopped = server.stop();
    timeout(PATIENCE, stopped)
        .await
        .expect("long before the shutdown timeout")
        .unwrap()
        .unwrap();
    assert!(
        listening.rest().await.0.ends_with("0\r\n\r\n"),
        "the stream ended properly"
    );
}

#[tokio::test]
async fn subscriptions_can_notify_their_end() {
    let server = Server::start(|http| http.max_concurrent_requests(1)).await;
    let probe = server.probe.clone();
    let mut subscribed = Open::send(server.address, &Call::subscribe().bytes()).await;
    subscribed
        .until("notifications/subscriptions/acknowledged")
        .await;
    heard(&probe.started).await;
    server.answers().await;
    let stopped = server.stop();
    probe.go_on.notify_one();
    let end = subscribed.rest().await.message();
    assert!(end["id"] == 1 && end["result"].is_object(), "{end}");
    timeout(PATIENCE, stopped)
        .await
        .expect("in time")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn subscriptions_that_do_not_end_are_closed() {
    let server = Server::start(|http| http.shutdown_timeout(PATIENCE * 10)).await;
    let probe = server.probe.clone();
    let subscribed = Open::send(server.address, &Call::subscribe().bytes()).await;
    heard(&probe.started).await;
    let stopped = server.stop();
    heard(&probe.cancelled).await;
    assert!(
        subscribed.rest().await.0.ends_with("0\r\n\r\n"),
        "the stream ended properly"
    );
    timeout(PATIENCE, stopped)
        .await
        .expect("long before the shutdown timeout")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_shutdown_can_be_accelerated() {
    let server = Server::start(|http| http.shutdown_timeout(PATIENCE * 10)).await;
    let (address, probe) = (server.address, server.probe.clone());
    let waiting = Open::send(address, &Call::tool("wait").bytes()).await;
    heard(&probe.started).await;
    let (abort, stopped) = server.stop_gracefully();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stopped.is_finished(), "until then it waits");
    abort.send(()).unwrap();
    heard(&probe.cancelled).await;
    assert_eq!(waiting.rest().await.status(), 503);
    timeout(PATIENCE, stopped)
        .await
        .expect("long before the shutdown timeout")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn an_abort_without_stop_has_no_effect() {
    let bound = HttpServer::new("127.0.0.1:0".parse().unwrap())
        .bind()
        .await
        .unwrap();
    let address = bound.address();
    tokio::spawn(bound.serve_with_shutdown(
        Probe::default,
        std::future::pending(),
        std::future::ready(()),
    ));
    assert_eq!(Call::tool("whoami").send(address).await.text(), "local");
}
