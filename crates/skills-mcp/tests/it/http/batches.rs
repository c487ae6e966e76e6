//! Batches of protocol version 2025-03-26 over HTTP.

use serde_json::{Value, json};

use super::client::{Call, Open, Reply};
use super::probe::{Server, heard};

/// The only protocol version with batches.
const VERSION: &str = "2025-03-26";

/// Starts a session of a protocol version, and returns its id.
async fn begin(server: &Server, version: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = Call::post(message.to_string()).send(server.address).await;
    reply.header("mcp-session-id").unwrap().to_owned()
}

fn post(session: &str, batch: &Value) -> Call {
    Call::post(batch.to_string()).with("mcp-session-id", session)
}

fn call(tool: &str, id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

fn notification() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn response() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {}})
}

/// The messages on the stream: `ID: TEXT OF THE RESULT` or `ID: ERROR CODE`; sorted.
fn messages(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status(), 200, "{reply:?}");
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let data = reply
        .0
        .lines()
        .filter_map(|line| line.strip_prefix("data:"));
    let message = |data: &str| serde_json::from_str::<Value>(data).ok();
    let describe = |message: Value| match &message["result"]["content"][0]["text"] {
        Value::String(text) => format!("{}: {text}", message["id"]),
        _ => format!("{}: {}", message["id"], message["error"]["code"]),
    };
    let mut messages: Vec<_> = data.filter_map(message).map(describe).collect();
    messages.sort();
    messages
}

#[tokio::test]
async fn a_batch_gets_a_stream_with_a_response_for_each_request() {
    let server = Server::start(|http| http).await;
    let session = begin(&server, VERSION).await;
    let batch = json!([
        notification(),
        call("whoami", 1),
        {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
        response(),
        7,
        call("whoami", "a"),
    ]);
    let reply = post(&session, &batch).send(server.address).await;
    let expected = ["\"a\": local", "1: local", "2: -32601", "null: -32600"];
    assert_eq!(messages(&reply), expected);
    // The ids can be used again.
    let reply = post(&session, &batch).send(server.address).await;
    assert_eq!(messages(&reply), expected);
    let single = Call::old_tool("whoami", 1).with("mcp-session-id", &session);
    assert_eq!(single.send(server.address).await.text(), "local");
}

#[tokio::test]
async fn a_batch_without_requests_is_accepted() {
    let server = Server::start(|http| http).await;
    let session = begin(&server, VERSION).await;
    let batch = json!([notification(), response(), response()]);
    let reply = post(&session, &batch).send(server.address).await;
    assert_eq!(reply.status(), 202, "{reply:?}");
    let reply = post(&session, &json!([notification(), 7]))
        .send(server.address)
        .await;
    assert_eq!((reply.status(), reply.code()), (400, -32600), "{reply:?}");
}

#[tokio::test]
async fn an_invalid_batch_is_rejected_as_a_whole() {
    let server = Server::start(|http| http).await;
    let session = begin(&server, VERSION).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize"});
    let too_many: Vec<Value> = (0..65).map(|id| call("whoami", id)).collect();
    for (batch, code) in [
        ("[]".to_owned(), -32600),
        ("[1".to_owned(), -32700),
        (
            json!([call("whoami", 1), call("whoami", 1)]).to_string(),
            -32600,
        ),
        (json!([call("whoami", 1), initialize]).to_string(), -32600),
        (json!(too_many).to_string(), -32600),
    ] {
        let reply = Call::post(batch.as_str())
            .with("mcp-session-id", &session)
            .send(server.address)
            .await;
        assert_eq!((reply.status(), reply.code()), (400, code), "{batch}");
    }
    let full: Vec<Value> = (0..64).map(|id| call("whoami", id)).collect();
    let reply = post(&session, &json!(full)).send(server.address).await;
    assert_eq!(messages(&reply).len(), 64);
}

#[tokio::test]
async fn other_protocol_versions_have_no_batches() {
    let server = Server::start(|http| http).await;
    let batch = json!([call("whoami", 1)]);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = begin(&server, version).await;
        let reply = post(&session, &batch).send(server.address).await;
        assert_eq!((reply.status(), reply.code()), (400, -32600), "{version}");
    }
    let session = begin(&server, VERSION).await;
    let stateless = post(&session, &batch).with("mcp-protocol-version", "2026-07-28");
    let reply = stateless.send(server.address).await;
    assert_eq!((reply.status(), reply.code()), (400, -32600), "{reply:?}");
    let without_session = Call::post(batch.to_string()).send(server.address).await;
    assert_eq!(without_session.status(), 400);
    let unknown = post("none", &batch).send(server.address).await;
    assert_eq!(unknown.status(), 404);
}

#[tokio::test]
async fn without_sessions_a_request_without_a_version_may_be_a_batch() {
    let server = Server::start(|http| http.max_sessions(0)).await;
    let batch = json!([call("whoami", 1), notification(), call("whoami", 2)]);
    let reply = Call::post(batch.to_string()).send(server.address).await;
    assert_eq!(messages(&reply), ["1: local", "2: local"]);
    for version in ["2025-06-18", "2025-11-25"] {
        let call = Call::post(batch.to_string()).with("mcp-protocol-version", version);
        assert_eq!(call.send(server.address).await.status(), 400, "{version}");
    }
}

#[tokio::test]
async fn each_message_of_a_batch_counts() {
    let limit = std::num::NonZeroU32::new(20).unwrap();
    let server =
        Server::start(|http| http.requests_per_second(limit).max_concurrent_requests(2)).await;
    let session = begin(&server, VERSION).await;
    let waiting = json!([call("wait", 1), call("wait", 2), call("wait", 3)]);
    let mut stream = Open::send(server.address, &post(&session, &waiting).bytes()).await;
    heard(&server.probe.started).await;
    // The response to the third one, which gets no permit, is sent although the others run.
    let seen = stream.until(r#""id":3"#).await;
    assert!(seen.contains("too many concurrent requests"), "{seen}");
    let duplicate = post(&session, &json!([call("whoami", 1)]))
        .send(server.address)
        .await;
    assert_ne!(duplicate.status(), 404);
    server.probe.go_on.notify_waiters();
    let many: Vec<Value> = (10..60).map(|id| call("whoami", id)).collect();
    let reply = post(&session, &json!(many)).send(server.address).await;
    assert_eq!(reply.status(), 429, "{reply:?}");
}
