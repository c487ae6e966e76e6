//! Validation of the server configuration.

use skills_mcp::{BearerToken, HttpErrorKind, HttpServer};

async fn check(change: impl FnOnce(HttpServer) -> HttpServer, address: &str, kind: HttpErrorKind) {
    let error = change(HttpServer::new(address.parse().unwrap()))
        .bind()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(!error.to_string().contains(SECRET), "{error}");
}

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn token(name: &str) -> BearerToken {
    BearerToken::new(name, SECRET).unwrap()
}

#[tokio::test]
async fn remote_addresses_need_permission_a_token_and_a_host() {
    let mapped = ["[::ffff:0.0.0.0]:0", "[::ffff:192.0.2.1]:80"];
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"]
        .into_iter()
        .chain(mapped)
    {
        check(|http| http, address, HttpErrorKind::RemoteNotAllowed).await;
        check(
            |http| http.token(token("ci")).allow_host("a.example"),
            address,
            HttpErrorKind::RemoteNotAllowed,
        )
        .await;
        check(
            |http| http.allow_remote().allow_host("a.example"),
            address,
            HttpErrorKind::NoToken,
        )
        .await;
        check(
            |http| http.allow_remote().token(token("ci")),
            address,
            HttpErrorKind::NoHost,
        )
        .await;
    }
}

/// The same loopback address in another spelling.
#[tokio::test]
async fn a_mapped_loopback_address_is_that_of_ipv4() {
    let address = "[::ffff:127.0.0.1]:0".parse().unwrap();
    let bound = HttpServer::new(address).bind().await.unwrap();
    assert_eq!(bound.address().ip().to_string(), "127.0.0.1");
}

#[tokio::test]
async fn invalid_hosts_and_origins_and_duplicate_tokens_are_rejected() {
    check(
        |http| http.allow_host("*"),
        "127.0.0.1:0",
        HttpErrorKind::InvalidHost,
    )
    .await;
    check(
        |http| http.allow_origin("null"),
        "127.0.0.1:0",
        HttpErrorKind::InvalidOrigin,
    )
    .await;
    check(
        |http| http.token(token("ci")).token(token("laptop")),
        "127.0.0.1:0",
        HttpErrorKind::DuplicateToken,
    )
    .await;
}

#[tokio::test]
async fn an_address_in_use_cannot_be_bound() {
    let first = HttpServer::new("127.0.0.1:0".parse().unwrap())
        .bind()
        .await
        .unwrap();
    assert_ne!(first.address().port(), 0);
    check(|http| http, &first.address().to_string(), HttpErrorKind::Io).await;
}
