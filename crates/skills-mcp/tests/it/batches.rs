//! Batches of protocol version 2025-03-26 on a stream.

use serde_json::{Value, json};
use skills_test_support::skip_without_sandbox;

use crate::client::Client;
use crate::fixture::Host;

/// The only protocol version with batches.
const VERSION: &str = "2025-03-26";

fn ping(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "ping"})
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// The ids of the responses in an array, as text, and the codes of errors without id; sorted.
fn summary(reply: &Value) -> Vec<String> {
    let describe = |response: &Value| match (&response["id"], &response["error"]["code"]) {
        (Value::Null, code) => code.to_string(),
        (id, Value::Null) => id.to_string(),
        (id, code) => format!("{id}: {code}"),
    };
    let responses = reply
        .as_array()
        .unwrap_or_else(|| panic!("no array: {reply}"));
    let mut summary: Vec<_> = responses.iter().map(describe).collect();
    summary.sort();
    summary
}

#[tokio::test]
async fn a_batch_gets_one_array_with_a_response_for_each_request() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect_with_version(&server, VERSION).await;
    let list = json!({"jsonrpc": "2.0", "id": 11, "method": "tools/list", "params": {}});
    let unknown = json!({"jsonrpc": "2.0", "id": 12, "method": "no/such"});
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/no-such"});
    let response = json!({"jsonrpc": "2.0", "id": 12, "result": {}});
    let batch = json!([
        ping("a"),
        7,
        list,
        notification,
        unknown,
        response,
        [ping(13)]
    ]);
    client.write(&batch).await;
    let reply = client.message().await;
    assert_eq!(
        summary(&reply),
        ["\"a\"", "-32600", "-32600", "11", "12: -32601"]
    );
    // The ids can be used again.
    client.write(&json!([ping("a"), ping(11)])).await;
    assert_eq!(summary(&client.message().await), ["\"a\"", "11"]);
    client.ok("tools/list", json!({})).await;
}

#[tokio::test]
async fn a_batch_without_requests_gets_no_reply() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect_with_version(&server, VERSION).await;
    let response = json!({"jsonrpc": "2.0", "id": 5, "result": {}});
    client.write(&json!([cancel(7), response])).await;
    client.write(&ping(1)).await;
    assert_eq!(client.message().await["id"], 1);
    client.write(&json!([1, 2])).await;
    assert_eq!(summary(&client.message().await), ["-32600", "-32600"]);
}

#[tokio::test]
async fn an_invalid_batch_is_rejected_as_a_whole() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect_with_version(&server, VERSION).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
        "protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let too_many: Vec<Value> = (0..65).map(ping).collect();
    for (batch, code) in [
        ("[]".to_owned(), -32600),
        ("[ ]".to_owned(), -32600),
        ("[1".to_owned(), -32700),
        (json!([ping(1), ping(1)]).to_string(), -32600),
        (json!([ping(1), initialize]).to_string(), -32600),
        (json!(too_many).to_string(), -32600),
    ] {
        client.raw(&format!("{batch}\n")).await;
        let reply = client.message().await;
        assert_eq!(reply["error"]["code"], code, "{batch}: {reply}");
        assert!(reply["id"].is_null(), "{reply}");
    }
    let full: Vec<Value> = (0..64).map(ping).collect();
    client.write(&json!(full)).await;
    assert_eq!(summary(&client.message().await).len(), 64);
}

#[tokio::test]
async fn other_protocol_versions_have_no_batches() {
    let host = Host::new();
    let server = host.server(&[]);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::connect_with_version(&server, version).await;
        client.write(&json!([ping(1)])).await;
        let reply = client.message().await;
        assert_eq!(reply["error"]["code"], -32600, "{version}: {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("batches are not supported"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_request_is_missing_in_the_reply() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("greet", "allowed-tools: Bash(sh:*)\n")
        .script("greet", "hello.sh", "echo hello\n");
    let server = host.server(&[]);
    let forms = json!({"elicitation": {"form": {}}});
    let mut client = Client::connect_legacy(&server, VERSION, forms).await;
    // The call waits for an approval that the client never gives.
    let arguments = json!({"name": "greet", "command": "sh scripts/hello.sh"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "skills_run", "arguments": arguments}});
    client.write(&json!([ping(1), call])).await;
    let prompt = client.message().await;
    assert_eq!(prompt["method"], "elicitation/create", "{prompt}");
    client.write(&cancel(2)).await;
    let reply = loop {
        let message = client.message().await;
        if message.get("method").is_none() {
            break message;
        }
    };
    assert_eq!(summary(&reply), ["1"]);
}
