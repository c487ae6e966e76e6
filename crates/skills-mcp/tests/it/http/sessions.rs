//! Sessions of legacy clients.

use std::sync::Arc;

use skills_mcp::BearerToken;

use super::client::{Call, Open};
use super::probe::{Server, heard};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Starts a session, and returns its id.
async fn begin(server: &Server, change: impl Fn(Call) -> Call) -> String {
    let reply = change(Call::initialize()).send(server.address).await;
    assert_eq!(reply.status(), 200, "{reply:?}");
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let initialized = change(Call::post(INITIALIZED))
        .with("mcp-session-id", &id)
        .send(server.address)
        .await;
    assert_eq!(initialized.status(), 202);
    id
}

fn call(session: &str, tool: &str, id: u32) -> Call {
    Call::old_tool(tool, id).with("mcp-session-id", session)
}

#[tokio::test]
async fn a_session_starts_responds_and_ends() {
    let server = Server::start(|http| http).await;
    let id = begin(&server, |call| call).await;
    assert_eq!(
        call(&id, "whoami", 1).send(server.address).await.text(),
        "local"
    );
    let mut listening = Open::send(
        server.address,
        &Call::get().with("mcp-session-id", &id).bytes(),
    )
    .await;
    assert!(
        listening
            .until("\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    let end = Call::new("DELETE", "/mcp")
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", "2025-11-25");
    assert_eq!(end.send(server.address).await.status(), 204);
    assert_eq!(
        call(&id, "whoami", 2).send(server.address).await.status(),
        404
    );
    assert_eq!(
        Call::old_tool("whoami", 3)
            .send(server.address)
            .await
            .status(),
        400,
        "without one"
    );
}

#[tokio::test]
async fn a_session_can_end_when_all_streams_are_in_use() {
    let server = Server::start(|http| http.max_streams(1)).await;
    let id = begin(&server, |call| call).await;
    let mut listening = Open::send(
        server.address,
        &Call::get().with("mcp-session-id", &id).bytes(),
    )
    .await;
    assert!(
        listening
            .until("\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    assert_eq!(
        Call::get()
            .with("mcp-session-id", &id)
            .send(server.address)
            .await
            .status(),
        429
    );
    let end = Call::new("DELETE", "/mcp")
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", "2025-11-25");
    assert_eq!(end.send(server.address).await.status(), 204);
}

#[tokio::test]
async fn sessions_are_accessible_by_their_owner_only() {
    let [one, two] = ["ci", "laptop"].map(|name| BearerToken::generate(name).unwrap());
    let server = Server::start(|http| http.token(one.clone()).token(two.clone())).await;
    let by = |token: &BearerToken, call: Call| {
        call.with(
            "authorization",
            &format!("Bearer {}", token.expose_secret()),
        )
    };
    let id = begin(&server, |call| by(&one, call)).await;
    assert_eq!(
        by(&one, call(&id, "whoami", 1))
            .send(server.address)
            .await
            .text(),
        "ci"
    );
    let get = Call::get().with("mcp-session-id", &id);
    let delete = Call::new("DELETE", "/mcp").with("mcp-session-id", &id);
    for theirs in [
        call(&id, "whoami", 2),
        get,
        delete,
        Call::initialize().with("mcp-session-id", &id),
    ] {
        assert_eq!(by(&two, theirs).send(server.address).await.status(), 404);
    }
    let newer = by(&two, Call::tool("whoami").with("mcp-session-id", &id));
    assert_eq!(
        newer.send(server.address).await.text(),
        "laptop",
        "newer protocol versions have no sessions"
    );
    assert_eq!(
        by(&one, call(&id, "whoami", 3))
            .send(server.address)
            .await
            .text(),
        "ci",
        "it still exists"
    );
}

#[tokio::test]
async fn idle_sessions_are_evicted() {
    let server = Server::start(|http| http.max_sessions(2)).await;
    let [first, second] = [
        begin(&server, |call| call).await,
        begin(&server, |call| call).await,
    ];
    assert_eq!(
        call(&first, "whoami", 1)
            .send(server.address)
            .await
            .status(),
        200,
        "now the second is the least recently used"
    );
    let third = begin(&server, |call| call).await;
    assert_eq!(
        call(&second, "whoami", 1)
            .send(server.address)
            .await
            .status(),
        404
    );
    for remaining in [&first, &third] {
        assert_eq!(
            call(remaining, "whoami", 2)
                .send(server.address)
                .await
                .status(),
            200
        );
    }
}

#[tokio::test]
async fn no_principal_can_have_all_sessions() {
    let [one, two] = ["ci", "laptop"].map(|name| BearerToken::generate(name).unwrap());
    let server =
        Server::start(|http| http.token(one.clone()).token(two.clone()).max_sessions(4)).await;
    let by = |token: &BearerToken, call: Call| {
        call.with(
            "authorization",
            &format!("Bearer {}", token.expose_secret()),
        )
    };
    let theirs = begin(&server, |call| by(&two, call)).await;
    let mut listening = vec![];
    for _ in 0..2 {
        let id = begin(&server, |call| by(&one, call)).await;
        let mut stream = Open::send(
            server.address,
            &by(&one, Call::get().with("mcp-session-id", &id)).bytes(),
        )
        .await;
        stream.until("\r\n\r\n").await;
        listening.push(stream);
    }
    assert_eq!(
        by(&one, Call::initialize())
            .send(server.address)
            .await
            .status(),
        503,
        "it has half of them"
    );
    assert_eq!(
        by(&two, call(&theirs, "whoami", 1))
            .send(server.address)
            .await
            .text(),
        "laptop"
    );
    begin(&server, |call| by(&two, call)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrently_started_sessions_are_all_kept() {
    let server = Arc::new(Server::start(|http| http.max_sessions(1_000)).await);
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    begin(&server, |call| call).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn sessions_in_use_are_not_evicted() {
    let server = Server::start(|http| http.max_sessions(1)).await;
    let id = begin(&server, |call| call).await;
    let waiting = Open::send(server.address, &call(&id, "wait", 1).bytes()).await;
    heard(&server.probe.started).await;
    let reply = Call::initialize().send(server.address).await;
    assert_eq!(
        (reply.status(), reply.header("retry-after")),
        (503, Some("1"))
    );
    server.answers().await;
    server.probe.go_on.notify_one();
    assert_eq!(waiting.rest().await.text(), "went on");
    begin(&server, |call| call).await;
}

#[tokio::test]
async fn responses_and_cancellations_need_no_permit() {
    let server = Server::start(|http| http.max_concurrent_requests(1)).await;
    let id = begin(&server, |call| call).await;
    let _waiting = Open::send(server.address, &call(&id, "wait", 1).bytes()).await;
    heard(&server.probe.started).await;
    assert_eq!(
        call(&id, "whoami", 2).send(server.address).await.status(),
        429
    );
    let tell = |message: &str| {
        Call::post(message)
            .with("mcp-session-id", &id)
            .with("mcp-protocol-version", "2025-11-25")
    };
    let answer = tell(r#"{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}"#);
    assert_eq!(answer.send(server.address).await.status(), 202);
    let cancelled =
        tell(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(cancelled.send(server.address).await.status(), 202);
    heard(&server.probe.cancelled).await;
}

#[tokio::test]
async fn duplicate_ids_in_flight_are_rejected() {
    let server = Server::start(|http| http).await;
    let id = begin(&server, |call| call).await;
    let waiting = Open::send(server.address, &call(&id, "wait", 1).bytes()).await;
    heard(&server.probe.started).await;
    let reply = call(&id, "whoami", 1).send(server.address).await;
    assert_eq!((reply.status(), reply.code()), (400, -32600));
    assert_eq!(
        call(&id, "whoami", 2).send(server.address).await.text(),
        "local"
    );
    server.probe.go_on.notify_one();
    assert_eq!(waiting.rest().await.text(), "went on");
    assert_eq!(
        call(&id, "whoami", 1).send(server.address).await.text(),
        "local",
        "after the response, the id can be reused"
    );
}

#[tokio::test]
async fn without_sessions_requests_are_independent() {
    let server = Server::start(|http| http.max_sessions(0)).await;
    let reply = Call::initialize().send(server.address).await;
    assert_eq!(
        (reply.status(), reply.header("mcp-session-id")),
        (200, None)
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.message()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        Call::old_tool("whoami", 1)
            .send(server.address)
            .await
            .text(),
        "local"
    );
    assert_eq!(
        call("none", "whoami", 1).send(server.address).await.text(),
        "local",
        "the session header is ignored"
    );
    for method in ["GET", "DELETE"] {
        assert_eq!(
            Call::new(method, "/mcp")
                .with("accept", "text/event-stream")
                .send(server.address)
                .await
                .status(),
            405
        );
    }
}
