//! Access control: hosts, origins and tokens.

use skills_mcp::BearerToken;

use super::client::Call;
use super::probe::Server;

const ONE: &str = "0123456789abcdef0123456789abcdef";
const TWO: &str = "fedcba9876543210fedcba9876543210";

#[tokio::test]
async fn only_allowed_hosts_and_origins_are_accepted() {
    let server = Server::start(|http| {
        http.allow_host("tools.example:8443")
            .allow_origin("https://app.example")
    })
    .await;
    for path in ["/healthz", "/mcp"] {
        let call = || {
            if path == "/mcp" {
                Call::tool("whoami")
            } else {
                Call::new("GET", path)
            }
        };
        let status = async |call: Call| call.send(server.address).await.status();
        for good in ["localhost", "127.0.0.1:9", "[::1]:1", "tools.example:8443"] {
            assert_eq!(
                status(call().with("host", good)).await,
                200,
                "{path} {good}"
            );
        }
        for bad in ["evil.example", "tools.example", "localhost.evil.example"] {
            assert_eq!(status(call().with("host", bad)).await, 403, "{path} {bad}");
        }
        assert_eq!(status(call().without("host")).await, 400);
        assert_eq!(
            status(call().also("host", "localhost")).await,
            400,
            "several"
        );
        for good in [
            "http://localhost:6274",
            "http://[::1]:1",
            "https://app.example",
        ] {
            assert_eq!(
                status(call().with("origin", good)).await,
                200,
                "{path} {good}"
            );
        }
        for bad in [
            "null",
            "http://evil.example",
            "https://localhost",
            "https://app.example:444",
        ] {
            assert_eq!(
                status(call().with("origin", bad)).await,
                403,
                "{path} {bad}"
            );
        }
    }
    server.answers().await;
}

#[tokio::test]
async fn a_target_with_another_host_is_rejected() {
    let server = Server::start(|http| http).await;
    let call = Call::new("GET", "/healthz").line("GET http://evil.example/healthz HTTP/1.1");
    assert_eq!(call.send(server.address).await.status(), 403);
    let call = Call::new("GET", "/healthz").line("GET http://localhost/healthz HTTP/1.1");
    assert_eq!(call.send(server.address).await.status(), 200);
}

#[tokio::test]
async fn tokens_identify_principals() {
    let tokens = BearerToken::parse_file(&format!("ci: {ONE}\nlaptop: {TWO}")).unwrap();
    let server =
        Server::start(|http| tokens.into_iter().fold(http, skills_mcp::HttpServer::token)).await;
    for (token, name) in [(ONE, "ci"), (TWO, "laptop")] {
        let call = Call::tool("whoami").with("authorization", &format!("Bearer {token}"));
        assert_eq!(call.send(server.address).await.text(), name);
    }
    assert_eq!(
        Call::new("GET", "/healthz")
            .send(server.address)
            .await
            .status(),
        200,
        "the health check needs no token"
    );
}

#[tokio::test]
async fn other_credentials_are_rejected() {
    let server = Server::start(|http| http.token(BearerToken::new("ci", ONE).unwrap())).await;
    let none = r#"Bearer realm="skills""#;
    let wrong = r#"Bearer realm="skills", error="invalid_token""#;
    let reply = Call::tool("whoami").send(server.address).await;
    assert_eq!(
        (reply.status(), reply.header("www-authenticate")),
        (401, Some(none))
    );
    let basic = format!("Basic {ONE}");
    let longer = format!("Bearer {ONE}0");
    let shown = [
        (&*basic, none),
        ("Bearer", none),
        ("Bearer short", wrong),
        (&longer, wrong),
    ];
    for (authorization, challenge) in shown
        .into_iter()
        .chain([(&*format!("Bearer {TWO}"), wrong)])
    {
        let reply = Call::tool("whoami")
            .with("authorization", authorization)
            .send(server.address)
            .await;
        assert_eq!(
            (reply.status(), reply.header("www-authenticate")),
            (401, Some(challenge)),
            "{authorization}"
        );
    }
    for call in [
        Call::get(),
        Call::new("DELETE", "/mcp"),
        Call::new("OPTIONS", "/mcp"),
        Call::new("POST", &format!("/mcp?access_token={ONE}")),
    ] {
        assert_eq!(call.send(server.address).await.status(), 401);
    }
}

#[tokio::test]
async fn handlers_do_not_see_credentials() {
    let server = Server::start(|http| http.token(BearerToken::new("ci", ONE).unwrap())).await;
    let call = Call::tool("head")
        .with("authorization", &format!("Bearer {ONE}"))
        .with("cookie", "a=b")
        .with("mcp-session-id", "hidden");
    let head = call.send(server.address).await.text();
    assert!(head.contains("mcp-protocol-version"), "{head}");
    for secret in [ONE, "cookie", "hidden"] {
        assert!(!head.contains(secret), "{head}");
    }
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let server = Server::start(|http| http).await;
    for path in [
        "/",
        "/mcp/",
        "/MCP",
        "/.well-known/oauth-protected-resource",
        "/healthz/x",
        "//mcp",
    ] {
        assert_eq!(
            Call::new("GET", path).send(server.address).await.status(),
            404,
            "{path}"
        );
    }
    for method in ["PUT", "OPTIONS", "PATCH", "TRACE", "BREW"] {
        assert_eq!(
            Call::new(method, "/mcp")
                .send(server.address)
                .await
                .status(),
            405,
            "{method}"
        );
    }
    let reply = Call::tool("whoami").send(server.address).await;
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("content-type"), Some("application/json"));
}

/// Without configuration, nginx speaks HTTP/1.0 to servers.
#[tokio::test]
async fn http_1_0_has_the_same_checks() {
    let server = Server::start(|http| http.token(BearerToken::new("ci", ONE).unwrap())).await;
    let call = || Call::tool("whoami").with("authorization", &format!("Bearer {ONE}"));
    let status = async |call: Call| {
        let reply = call.line("POST /mcp HTTP/1.0").send(server.address).await;
        reply.status_of_any_version()
    };
    let old = call().line("POST /mcp HTTP/1.0").send(server.address).await;
    let new = call().send(server.address).await;
    assert_eq!((old.status_of_any_version(), new.status()), (200, 200));
    assert_eq!(old.text(), new.text());
    // An answer without a length ends with the connection.
    assert_eq!(old.header("transfer-encoding"), None);
    for (bad, expected) in [
        (call().without("host"), 400),
        (call().also("host", "localhost"), 400),
        (call().with("host", "evil.example"), 403),
        (call().with("origin", "https://evil.example"), 403),
        (call().without("authorization"), 401),
        // A proxy that does not know chunks sees another request in the body.
        (call().with("transfer-encoding", "chunked"), 400),
    ] {
        assert_eq!(status(bad).await, expected);
    }
    let forged = call().line("POST http://evil.example/mcp HTTP/1.0");
    assert_eq!(
        forged.send(server.address).await.status_of_any_version(),
        403
    );
    for version in ["HTTP/0.9", "HTTP/2.0", "HTTP/1.2"] {
        let other = call().line(&format!("POST /mcp {version}"));
        let reply = other.send(server.address).await;
        assert!(
            reply.0.is_empty() || reply.status_of_any_version() >= 400,
            "{version}"
        );
    }
}

/// A client that tries OAuth, or has no token, tells its user what is missing.
#[tokio::test]
async fn bodies_say_in_one_line_which_token_is_wanted() {
    let server = Server::start(|http| http.token(BearerToken::new("ci", ONE).unwrap())).await;
    for (call, status) in [
        (Call::tool("whoami"), 401),
        (
            Call::tool("whoami").with("authorization", &format!("Bearer {TWO}")),
            401,
        ),
        (
            Call::new("GET", "/.well-known/oauth-protected-resource"),
            404,
        ),
        (
            Call::new("GET", "/.well-known/oauth-authorization-server/mcp"),
            404,
        ),
    ] {
        let reply = call.send(server.address).await;
        assert_eq!(reply.status(), status);
        let message = reply.message()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.contains("`Authorization: Bearer TOKEN`"),
            "{message}"
        );
        assert!(!message.contains('\n') && !message.contains(ONE) && !message.contains(TWO));
    }
}
