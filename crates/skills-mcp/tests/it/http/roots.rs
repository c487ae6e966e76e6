//! Roots of clients over HTTP, which are paths of another machine.

use serde_json::json;
use skills_mcp::HttpServer;

use super::client::{Call, Open};
use crate::roots::{host, server};

/// A loopback address can be forwarded from another machine, so it proves nothing.
#[tokio::test]
async fn clients_over_http_are_not_asked_for_their_roots() {
    let host = host();
    let server = server(&host);
    let bound = HttpServer::new("127.0.0.1:0".parse().unwrap());
    let bound = bound.bind().await.unwrap();
    let address = bound.address();
    tokio::spawn(bound.serve(move || server.connection(), std::future::pending()));

    let capabilities = json!({"roots": {"listChanged": true}});
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let begun = Call::post(begin.to_string()).send(address).await;
    let instructions = &begun.message()["result"]["instructions"];
    assert!(!instructions.as_str().unwrap().contains("/workspace/PATH"));
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let in_session = |call: Call| {
        call.with("mcp-session-id", &session)
            .with("mcp-protocol-version", "2025-11-25")
    };
    let mut listening = Open::send(address, &in_session(Call::get()).bytes()).await;
    listening.until("\r\n\r\n").await;
    for method in [
        "notifications/initialized",
        "notifications/roots/list_changed",
    ] {
        let message = json!({"jsonrpc": "2.0", "method": method});
        let call = in_session(Call::post(message.to_string()));
        assert_eq!(call.send(address).await.status(), 202);
    }
    let params = json!({"name": "skills_read", "arguments": {"path": "note.txt"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let read = in_session(Call::post(call.to_string())).send(address).await;
    assert!(read.0.contains("path_outside_mounts"), "{read:?}");
    in_session(Call::new("DELETE", "/mcp")).send(address).await;
    let heard = listening.rest().await;
    assert!(!heard.0.contains("roots/list"), "{heard:?}");
}
