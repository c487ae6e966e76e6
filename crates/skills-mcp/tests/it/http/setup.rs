//! Which servers there can be.

use skills_mcp::{Http, HttpErrorKind, Token};

async fn check(change: impl FnOnce(Http) -> Http, address: &str, kind: HttpErrorKind) {
    let error = change(Http::new(address.parse().unwrap()))
        .bind()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(!error.to_string().contains(SECRET), "{error}");
}

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn token(name: &str) -> Token {
    Token::new(name, SECRET).unwrap()
}

#[tokio::test]
async fn addresses_that_others_reach_need_leave_a_token_and_a_name() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        check(|http| http, address, HttpErrorKind::RemoteNotAllowed).await;
        check(
            |http| http.token(token("ci")).host("a.example"),
            address,
            HttpErrorKind::RemoteNotAllowed,
        )
        .await;
        check(
            |http| http.allow_remote().host("a.example"),
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

#[tokio::test]
async fn what_is_no_host_or_origin_or_cannot_be_told_apart_is_refused() {
    check(|http| http.host("*"), "127.0.0.1:0", HttpErrorKind::Names).await;
    check(
        |http| http.origin("null"),
        "127.0.0.1:0",
        HttpErrorKind::Names,
    )
    .await;
    check(
        |http| http.token(token("ci")).token(token("laptop")),
        "127.0.0.1:0",
        HttpErrorKind::Tokens,
    )
    .await;
}

#[tokio::test]
async fn an_address_that_is_taken_cannot_be_had() {
    let first = Http::new("127.0.0.1:0".parse().unwrap())
        .bind()
        .await
        .unwrap();
    assert_ne!(first.address().port(), 0);
    check(|http| http, &first.address().to_string(), HttpErrorKind::Io).await;
}
