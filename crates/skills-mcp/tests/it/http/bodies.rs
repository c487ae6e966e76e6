//! Request bodies, valid and invalid.

use super::client::{Call, Open};
use super::probe::Server;

const TOO_MUCH: usize = 5 << 20;

#[tokio::test]
async fn bodies_above_the_limit_are_rejected() {
    let server = Server::start(|http| http).await;
    let long = Call::post(vec![b' '; TOO_MUCH]);
    assert_eq!(
        long.send(server.address).await.status(),
        413,
        "with a length"
    );
    assert_eq!(
        long.with("transfer-encoding", "chunked")
            .send(server.address)
            .await
            .status(),
        413,
        "in chunks"
    );
    let announced = Call::new("POST", "/mcp")
        .with("content-type", "application/json")
        .with("content-length", "9000000000");
    assert_eq!(
        announced
            .with("expect", "100-continue")
            .send(server.address)
            .await
            .status(),
        413,
        "only announced"
    );
    server.answers().await;
}

#[tokio::test]
async fn bodies_up_to_the_limit_are_accepted() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let server = Server::start(|http| http.max_request_body_bytes(body.len())).await;
    assert_ne!(Call::post(body).send(server.address).await.status(), 413);
    assert_eq!(
        Call::post(format!("{body} "))
            .send(server.address)
            .await
            .status(),
        413
    );
}

#[tokio::test]
async fn bodies_with_too_many_values_are_rejected() {
    let server = Server::start(|http| http).await;
    let values = |number: usize| {
        Call::post(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":[{}1]}}"#,
            "1,".repeat(number)
        ))
    };
    let reply = values(140_000).send(server.address).await;
    assert_eq!((reply.status(), reply.code()), (413, -32600));
    assert_ne!(values(100_000).send(server.address).await.status(), 413);
    let text = Call::post(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#,
        ",[{".repeat(140_000)
    ));
    assert_ne!(
        text.send(server.address).await.status(),
        413,
        "a string is one value"
    );
}

#[tokio::test]
async fn slow_long_bodies_do_not_block_short_ones() {
    let server = Server::start(|http| http.max_concurrent_requests(1)).await;
    let head = Call::post("").with("content-length", &(4 << 20).to_string());
    let bytes = String::from_utf8(head.bytes())
        .unwrap()
        .replace("content-length: 0\r\n", "");
    let mut begun = vec![];
    for _ in 0..40 {
        begun.push(
            Open::send(
                server.address,
                &[bytes.as_bytes(), &[b' '; 20 << 10]].concat(),
            )
            .await,
        );
    }
    server.answers().await;
}

#[tokio::test]
async fn invalid_messages_are_rejected() {
    let server = Server::start(|http| http).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let deep_object = r#"{"a":"#.repeat(100_000);
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    let bad: [(&[u8], i64); 10] = [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (deep_object.as_bytes(), -32700),
        (deep.as_bytes(), -32600),
        (batch.as_bytes(), -32600),
        (b"[]", -32600),
        (b"7", -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            -32600,
        ),
    ];
    for (body, code) in bad {
        let reply = Call::post(body).send(server.address).await;
        assert_eq!(
            (reply.status(), reply.code()),
            (400, code),
            "{}",
            String::from_utf8_lossy(&body[..body.len().min(80)])
        );
    }
    server.answers().await;
}

#[tokio::test]
async fn the_content_type_must_be_json() {
    let server = Server::start(|http| http).await;
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
    ] {
        let reply = Call::tool("whoami")
            .with("content-type", media_type)
            .send(server.address)
            .await;
        assert_eq!(reply.status(), 415, "{media_type}");
    }
    let reply = Call::tool("whoami")
        .with("content-type", "Application/JSON; charset=utf-8")
        .send(server.address)
        .await;
    assert_eq!(reply.status(), 200);
    assert_eq!(
        Call::tool("whoami")
            .with("accept", "text/html")
            .send(server.address)
            .await
            .status(),
        406
    );
}

#[tokio::test]
async fn head_and_body_must_match() {
    let server = Server::start(|http| http).await;
    let mismatched = [
        Call::tool("whoami").with("mcp-method", "tools/list"),
        Call::tool("whoami").with("mcp-name", "head"),
        Call::tool("whoami").with("mcp-protocol-version", "2025-11-25"),
        Call::tool("whoami").without("mcp-method"),
        Call::tool("whoami").without("mcp-name"),
        Call::tool("whoami").without("mcp-protocol-version"),
    ];
    for call in mismatched {
        let reply = call.send(server.address).await;
        assert_eq!((reply.status(), reply.code()), (400, -32020), "{reply:?}");
    }
    let twice = Call::tool("whoami")
        .also("mcp-protocol-version", "2025-11-25")
        .send(server.address)
        .await;
    assert_eq!(twice.status(), 400);
    server.answers().await;
}

#[tokio::test]
async fn requests_without_a_session_may_have_the_same_id() {
    let server = Server::start(|http| http).await;
    let waiting = Open::send(server.address, &Call::tool("wait").bytes()).await;
    super::probe::heard(&server.probe.started).await;
    server.answers().await;
    server.probe.go_on.notify_one();
    assert_eq!(waiting.rest().await.text(), "went on");
}
