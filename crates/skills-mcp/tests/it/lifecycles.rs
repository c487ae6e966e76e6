//! Both lifecycles of the protocol.

use std::time::Duration;

use serde_json::{Value, json};
use skills_mcp::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

#[tokio::test]
async fn initialization_returns_server_info_and_capabilities() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut new = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    let discovered = new.ok("server/discover", json!({})).await;
    let capabilities = json!({
        "completions": {},
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true},
        "tools": {"listChanged": true},
    });
    assert_eq!(discovered["capabilities"], capabilities);
    assert_eq!(discovered["resultType"], "complete");
    assert_eq!(
        discovered["supportedVersions"],
        json!(["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    assert_eq!(discovered["cacheScope"], "private");
    assert!(discovered["instructions"].as_str().unwrap().len() < 1_400);

    for (requested, expected) in [
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2024-11-05"),
        // The only version that requires batches.
        ("2025-03-26", "2025-06-18"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let (mut old, _) = (
            Client::connect(&server, Lifecycle::Stateless, json!({})).await,
            (),
        );
        old.write(&json!({"jsonrpc": "2.0", "id": 99, "method": "initialize", "params": {
            "protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}))
        .await;
        let greeted = old.answer_to(99).await;
        assert_eq!(greeted["result"]["protocolVersion"], expected, "{greeted}");
        assert_eq!(greeted["result"]["capabilities"], capabilities);
        assert_eq!(greeted["result"]["serverInfo"]["name"], "skills");
    }
}

#[tokio::test]
async fn tools_have_titles_schemas_and_annotations_in_both_lifecycles() {
    let host = Host::new();
    host.skill("greet", "").script(
        "greet",
        "hello.sh",
        "# Description: Says hello.\necho hello\n",
    );
    let server = host.server(&[]);
    let mut lists = Vec::new();
    for lifecycle in [Lifecycle::Legacy, Lifecycle::Stateless] {
        let mut client = Client::connect(&server, lifecycle, json!({})).await;
        let listed = client.ok("tools/list", json!({})).await;
        assert_eq!(
            listed.get("ttlMs").is_some(),
            lifecycle == Lifecycle::Stateless,
            "{lifecycle:?}"
        );
        assert_eq!(
            listed.get("resultType").is_some(),
            lifecycle == Lifecycle::Stateless,
            "{lifecycle:?}"
        );
        lists.push(listed["tools"].clone());
    }
    assert_eq!(lists[0], lists[1]);
    let names: Vec<&str> = lists[0]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let definitions = host.tools(&[]).definitions().unwrap();
    let expected: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, expected);
    assert_eq!(names.last(), Some(&"skill__greet__hello"));
    for tool in lists[0].as_array().unwrap() {
        for (part, kind) in [
            ("title", "string"),
            ("inputSchema", "object"),
            ("annotations", "object"),
        ] {
            assert_eq!(tool[part].is_string(), kind == "string", "{tool}");
            assert_eq!(tool[part].is_object(), kind == "object", "{tool}");
        }
    }
}

#[tokio::test]
async fn very_many_tools_are_paged() {
    let host = Host::new();
    for number in 0..700 {
        host.skill(&format!("skill-{number:03}"), "").script(
            &format!("skill-{number:03}"),
            "run.sh",
            "echo\n",
        );
    }
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    let (mut names, mut params, mut pages) = (std::collections::BTreeSet::new(), json!({}), 0);
    loop {
        let page = client.ok("tools/list", params).await;
        assert!(
            page.to_string().len() < 1 << 20,
            "{} bytes",
            page.to_string().len()
        );
        names.extend(
            page["tools"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        params = json!({"cursor": page["nextCursor"]});
        if page.get("nextCursor").is_none() {
            break;
        }
    }
    assert_eq!(names.len(), 711);
    assert!((2..5).contains(&pages), "{pages} pages");
    assert_eq!(
        client.call("tools/list", json!({"cursor": "none"})).await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn a_stateless_request_names_its_protocol_version() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    client
        .write(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}))
        .await;
    assert_eq!(client.answer_to(1).await["error"]["code"], -32602);
    let future = json!({"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    client.write(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": future}})).await;
    assert_eq!(client.answer_to(2).await["error"]["code"], -32022);
    assert!(
        client
            .call("tools/list", json!({}))
            .await
            .get("result")
            .is_some(),
        "the server still responds"
    );
}

#[tokio::test]
async fn the_stateless_lifecycle_has_no_initialize() {
    let host = Host::new();
    let server = host.server(&[]);
    for is_negotiated in [false, true] {
        let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
        if is_negotiated {
            client.ok("tools/list", json!({})).await;
        }
        let greeting = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        for params in [greeting, json!({})] {
            let refused = client.call("initialize", params).await;
            assert_eq!(refused["error"]["code"], -32601, "{refused}");
        }
        client.ok("tools/list", json!({})).await;
    }
    // After a rejection, a client can still use the other lifecycle.
    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    client.call("initialize", json!({})).await;
    client
        .write(&json!({"jsonrpc": "2.0", "id": 99, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}))
        .await;
    let greeted = client.answer_to(99).await;
    assert_eq!(greeted["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn every_request_is_answered() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (id, request, code) in [
        (
            901,
            r#""method":"tools/call","params":{"name":"skills_ls","arguments":{"path":"\ud800"}}"#
                .to_owned(),
            -32600,
        ),
        (
            902,
            format!(r#""method":"tools/call","params":{deep}"#),
            -32600,
        ),
        (
            903,
            r#""method":"tools/call","params":{}"#.to_owned(),
            -32602,
        ),
        (
            904,
            r#""method":"tools/call","params":{"name":7}"#.to_owned(),
            -32602,
        ),
        (
            905,
            r#""method":"prompts/get","params":{}"#.to_owned(),
            -32602,
        ),
        (
            906,
            r#""method":"resources/read","params":{"uri":7}"#.to_owned(),
            -32602,
        ),
        (
            907,
            r#""method":"skills/get","params":{}"#.to_owned(),
            -32602,
        ),
        (908, r#""method":"no/such","params":{}"#.to_owned(), -32601),
        (
            909,
            format!(r#""method":"{}","params":{{}}"#, "x".repeat(100_000)),
            -32601,
        ),
        (
            911,
            format!(
                r#""method":"resources/read","params":{{"uri":"{}"}}"#,
                "x".repeat(100_000)
            ),
            -32002,
        ),
        (
            912,
            format!(
                r#""method":"prompts/get","params":{{"name":"{}"}}"#,
                "x".repeat(100_000)
            ),
            -32602,
        ),
    ] {
        client
            .raw(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{request}}}\n"))
            .await;
        let answer = client.answer_to(id).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(
            answer.to_string().len() < 4_000,
            "the text is returned completely"
        );
    }
    // A result, which models read.
    let unknown = client.tool(&"x".repeat(100_000), json!({})).await;
    assert_eq!(unknown["isError"], true);
    assert!(unknown.to_string().len() < 4_000, "{unknown}");
}

#[tokio::test]
async fn messages_before_initialization_are_ignored() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    for stray in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
    ] {
        client.write(&stray).await;
    }
    assert!(
        client
            .call("tools/list", json!({}))
            .await
            .get("result")
            .is_some()
    );
}

#[tokio::test]
async fn before_negotiation_only_requests_are_accepted() {
    let host = Host::new();
    let server = host.server(&[]);
    let client_info = json!({"name": "test", "version": "1"});
    let greeting =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info});
    let initialize = |id: u64, params: &Value| json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
    for stray in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 0, "result": {}}),
    ] {
        let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
        client.ok("server/discover", json!({})).await;
        client.write(&stray).await;
        client
            .write(&json!({"jsonrpc": "2.0", "id": 51, "method": "ping"}))
            .await;
        client.write(&stray).await;
        client.write(&initialize(52, &json!({}))).await;
        assert!(client.answer_to(52).await.get("error").is_some());
        client.write(&stray).await;
        client.write(&initialize(53, &greeting)).await;
        assert_eq!(
            client.answer_to(53).await["result"]["protocolVersion"],
            "2025-11-25",
            "{stray}"
        );
    }
}

/// A stream with a small buffer, so that responses wait to be read.
struct Narrow {
    reader: ReadHalf<DuplexStream>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    stop: CancellationToken,
}

impl Narrow {
    fn serve(server: Server, capacity: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(capacity);
        let (input, output) = tokio::io::split(theirs);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            server
                .serve(input, output, stopped.cancelled_owned())
                .await
                .unwrap()
        });
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader,
            writer,
            serving,
            stop,
        }
    }
}

#[tokio::test]
async fn requests_before_the_end_of_input_are_answered() {
    let host = Host::new();
    let server = host.server(&[]);
    let Narrow {
        mut reader,
        mut writer,
        serving,
        ..
    } = Narrow::serve(server, 64);
    let asking = async move {
        for id in 0..20 {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            writer
                .write_all(format!("{ping}\n").as_bytes())
                .await
                .unwrap();
        }
        writer.shutdown().await.unwrap();
    };
    let mut answers = String::new();
    let (read, ()) = tokio::join!(reader.read_to_string(&mut answers), asking);
    read.unwrap();
    assert_eq!(answers.lines().count(), 20, "{answers}");
    serving.await.unwrap();
}

/// Paused time advances only when all tasks wait: the server for its client, and this test.
#[tokio::test(start_paused = true)]
async fn a_client_can_read_slowly_after_the_end_of_input() {
    let host = Host::new();
    let server = host.server(&[]);
    let Narrow {
        mut reader,
        mut writer,
        serving,
        ..
    } = Narrow::serve(server, 4096);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    for id in 0..100 {
        let list =
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta}});
        writer
            .write_all(format!("{list}\n").as_bytes())
            .await
            .unwrap();
    }
    writer.shutdown().await.unwrap();
    // More than the timeout of running calls.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(!serving.is_finished());
    let mut answers = String::new();
    reader.read_to_string(&mut answers).await.unwrap();
    assert_eq!(
        answers
            .lines()
            .filter(|line| serde_json::from_str::<Value>(line).is_ok())
            .count(),
        100
    );
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_does_not_delay_a_shutdown() {
    let host = Host::new();
    let server = host.server(&[]);
    let Narrow {
        reader: _reader,
        mut writer,
        serving,
        stop,
    } = Narrow::serve(server, 16);
    writer
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}\n")
        .await
        .unwrap();
    writer.shutdown().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!serving.is_finished(), "a response waits to be read");
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_duplicate_id_does_not_affect_the_first_request() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("greet", "allowed-tools: Bash\n")
        .script("greet", "slow.sh", "sleep 1000\n");
    let server = host.server(&["spawn"]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    let slow =
        json!({"name": "skill__greet__slow", "arguments": {}, "_meta": {"progressToken": 1}});
    client
        .write(&json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": slow}))
        .await;
    client.notification("notifications/progress").await;
    for other in [
        r#"{"jsonrpc":"2.0","id":70,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":70,"method":"ping","params":{"_meta":{"a":"\ud800"}}}"#,
        r#"{"jsonrpc":"2.0","id":70}"#,
    ] {
        client.raw(&format!("{other}\n")).await;
        let refused = loop {
            let message = client.message().await;
            if message.get("method").is_none() {
                break message;
            }
        };
        assert_eq!(
            (refused.get("id"), &refused["error"]["code"]),
            (None, &json!(-32600)),
            "{refused}"
        );
    }
    client
        .notify("notifications/cancelled", json!({"requestId": 70}))
        .await;
    // The id can be reused once the call has ended.
    let ping = json!({"jsonrpc": "2.0", "id": 70, "method": "ping"});
    loop {
        client.write(&ping).await;
        let answer = client.message().await;
        if answer["result"] == json!({}) {
            break;
        }
        // The call was cancelled, so this response belongs to the ping.
        let is_refused = answer["id"] == 70 && answer["error"]["code"] == -32600;
        assert!(is_refused || answer.get("method").is_some(), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_served_further() {
    let host = Host::new();
    for number in 0..100 {
        host.skill(&format!("skill-{number}"), "");
    }
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    // Far more requests than can be in flight, without reading: the server stops reading, too.
    let line =
        json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {}}).to_string();
    let mut sent = 0;
    let flood = async {
        for number in 0..1_000_000_u64 {
            client
                .raw(
                    &line
                        .replace("\"id\":1,", &format!("\"id\":{number},"))
                        .replace('\n', ""),
                )
                .await;
            client.raw("\n").await;
            sent += 1;
        }
    };
    let flooded = tokio::time::timeout(std::time::Duration::from_secs(1), flood).await;
    assert!(flooded.is_err(), "a million requests were accepted");
    // Once the client reads, each accepted request gets a response or a rejection.
    for _ in 0..sent.min(200) {
        client.message().await;
    }
}

#[tokio::test]
async fn invalid_lines_are_harmless() {
    let host = Host::new();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    for line in [
        "{",
        "null",
        "[]",
        "\"x\"",
        "{\"jsonrpc\":\"1.0\"}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        "\u{0}",
    ] {
        client.raw(&format!("{line}\n")).await;
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client
        .raw(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{deep}}}\n"
        ))
        .await;
    // A line above the limit, and then the next one.
    let chunk = "x".repeat(1 << 20);
    for _ in 0..20 {
        client.raw(&chunk).await;
    }
    client.raw("\n").await;
    let pinged = client.call("ping", json!({})).await;
    assert_eq!(pinged["result"], json!({}), "{pinged}");
}
