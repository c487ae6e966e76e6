//! Approvals by the user of an HTTP client, with the real server.

use std::net::SocketAddr;

use serde_json::{Value, json};
use skills_mcp::{BearerToken, DirectoryReplayCache, HttpServer, Server};
use skills_test_support::skip_without_sandbox;

use super::client::{Call, Open};
use crate::fixture::Host;

/// Serves until the test ends.
async fn serve(server: Server, tokens: &[BearerToken]) -> SocketAddr {
    let http = tokens.iter().fold(
        HttpServer::new("127.0.0.1:0".parse().unwrap()),
        |http, token| http.token(token.clone()),
    );
    let bound = http.bind().await.unwrap();
    let address = bound.address();
    tokio::spawn(bound.serve(move || server.connection(), std::future::pending()));
    address
}

fn host() -> Host {
    let host = Host::new();
    host.skill("greet", "allowed-tools: Bash(sh:*)\n")
        .script("greet", "hello.sh", "echo hello\n");
    host
}

/// A stateless call of a client that supports elicitation.
fn call(params: Value) -> Call {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let name = params["name"].as_str().unwrap().to_owned();
    Call::post(
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string(),
    )
    .with("mcp-protocol-version", "2026-07-28")
    .with("mcp-method", "tools/call")
    .with("mcp-name", &name)
}

fn with_answer(mut params: Value, state: &Value) -> Value {
    params["requestState"] = state.clone();
    params["inputResponses"] =
        json!({"permission": {"action": "accept", "content": {"decision": "allow_once"}}});
    params
}

#[tokio::test]
async fn request_state_is_accepted_by_any_server_for_its_caller_only() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tokens = ["alice", "bob"].map(|name| BearerToken::generate(name).unwrap());
    let mut addresses = Vec::new();
    for _ in 0..2 {
        let server = Server::builder(host.tools(&[]))
            .request_state_key([7; 32])
            .replay_cache(DirectoryReplayCache::new(host.path("replays")))
            .multi_user();
        addresses.push(serve(server.build().unwrap(), &tokens).await);
    }
    let by = |token: &BearerToken, call: Call| {
        call.with(
            "authorization",
            &format!("Bearer {}", token.expose_secret()),
        )
    };
    for tool in [
        json!({"name": "skill__greet__hello", "arguments": {}}),
        json!({"name": "skills_run", "arguments": {"name": "greet", "command": "sh scripts/hello.sh"}}),
        json!({"name": "run_skill_script", "arguments": {"skill_name": "greet", "script_name": "hello.sh"}}),
    ] {
        let prompt = by(&tokens[0], call(tool.clone()))
            .send(addresses[0])
            .await
            .message();
        assert_eq!(
            prompt["result"]["resultType"], "input_required",
            "{tool}: {prompt}"
        );
        let offered = &prompt["result"]["inputRequests"]["permission"]["params"]["requestedSchema"]
            ["properties"]["decision"]["enum"];
        assert_eq!(
            offered,
            &json!(["allow_once", "deny"]),
            "there is no session, and there are several users"
        );
        let answered = call(with_answer(tool.clone(), &prompt["result"]["requestState"]));
        let asked = by(&tokens[1], answered.clone()).send(addresses[1]).await;
        assert_eq!(
            asked.message()["result"]["resultType"],
            "input_required",
            "bob cannot answer it"
        );
        let ran = by(&tokens[0], answered.clone()).send(addresses[1]).await;
        assert!(ran.text().contains("hello"), "{tool}: {ran:?}");
        let asked = by(&tokens[0], answered).send(addresses[0]).await;
        assert_eq!(
            asked.message()["result"]["resultType"],
            "input_required",
            "state can be used once on all servers together"
        );
    }
}

#[tokio::test]
async fn a_client_with_a_session_is_prompted_on_the_stream_of_its_call() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let address = serve(host.server(&[]), &[]).await;
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": client});
    let begin = Call::post(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string(),
    );
    let session = begin
        .send(address)
        .await
        .header("mcp-session-id")
        .unwrap()
        .to_owned();
    let post = |message: Value| {
        Call::post(message.to_string())
            .with("mcp-session-id", &session)
            .with("mcp-protocol-version", "2025-11-25")
    };
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(initialized).send(address).await.status(), 202);
    for (round, decision) in ["allow_session", ""].into_iter().enumerate() {
        let params = json!({"name": "skill__greet__hello", "arguments": {}});
        let call = post(
            json!({"jsonrpc": "2.0", "id": 10 + round, "method": "tools/call", "params": params}),
        );
        let mut calling = Open::send(address, &call.bytes()).await;
        if !decision.is_empty() {
            let seen = calling.until("\"requestedSchema\"").await;
            let prompt: Value = seen
                .lines()
                .rev()
                .find_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
                .unwrap();
            let answer = json!({"jsonrpc": "2.0", "id": prompt["id"], "result": {"action": "accept", "content": {"decision": decision}}});
            assert_eq!(post(answer).send(address).await.status(), 202);
        }
        let ran = calling.rest().await;
        assert!(ran.text().contains("hello"), "{round}: {ran:?}");
    }
}
