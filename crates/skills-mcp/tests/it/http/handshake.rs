//! `initialize` in the protocol versions with and without it.

use serde_json::{Value, json};

use super::client::Call;
use super::probe::Server;

/// An `initialize` request with these parameters in addition to the required ones.
fn initialize(version: &str, extra: &Value) -> Call {
    let mut params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    for (name, value) in extra.as_object().unwrap() {
        params[name] = value.clone();
    }
    post(&params)
}

fn post(params: &Value) -> Call {
    let message = json!({"jsonrpc": "2.0", "id": 500, "method": "initialize", "params": params});
    Call::post(message.to_string())
}

fn meta(version: &str) -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }})
}

#[tokio::test]
async fn stateless_versions_have_no_initialize() {
    let server = Server::start(|http| http).await;
    let header = |call: Call, version: &str| call.with("mcp-protocol-version", version);
    for call in [
        header(initialize("2026-07-28", &json!({})), "2026-07-28"),
        header(initialize("2025-11-25", &json!({})), "2026-07-28"),
        header(initialize("2026-07-28", &meta("2026-07-28")), "2026-07-28"),
        header(post(&meta("2026-07-28")), "2026-07-28"),
        header(post(&json!([1])), "2026-07-28"),
        header(initialize("2025-11-25", &json!({})), "2099-01-01"),
        initialize("2026-07-28", &meta("2026-07-28")),
        initialize("2025-11-25", &meta("2026-07-28")),
    ] {
        let reply = call.send(server.address).await;
        assert_eq!((reply.status(), reply.code()), (404, -32601), "{reply:?}");
        assert_eq!(reply.message()["id"], 500, "{reply:?}");
        assert_eq!(reply.header("mcp-session-id"), None, "{reply:?}");
    }
    server.answers().await;
}

#[tokio::test]
async fn initialize_without_a_stateless_marker_negotiates() {
    let server = Server::start(|http| http).await;
    for (call, expected) in [
        (initialize("2025-11-25", &json!({})), "2025-11-25"),
        (
            initialize("2025-11-25", &json!({})).with("mcp-protocol-version", "2025-11-25"),
            "2025-11-25",
        ),
        (
            initialize("2025-11-25", &json!({"_meta": {"progressToken": 1}})),
            "2025-11-25",
        ),
        // A client that offers only the newest version gets one with a handshake.
        (initialize("2026-07-28", &json!({})), "2025-11-25"),
    ] {
        let reply = call.send(server.address).await;
        assert_eq!(reply.status(), 200, "{reply:?}");
        assert!(reply.header("mcp-session-id").is_some(), "{reply:?}");
        assert_eq!(reply.message()["result"]["protocolVersion"], expected);
    }
    let invalid = post(&json!({})).send(server.address).await;
    assert_ne!(invalid.status(), 404, "{invalid:?}");
}
