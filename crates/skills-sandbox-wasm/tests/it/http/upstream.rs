//! Hosts behind a proxy of the user.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::fixture::{Generation, HttpFixture, OK, Security, acceptor};

/// The authority of the certificate of `a.example`.
const AUTHORITY: &str = "crates/skills-sandbox-wasm/tests/it/http/certificates/authority.pem";
const AUTHORIZATION: &str = "Basic YWRhOnNlY3JldA==";

type Heads = Arc<Mutex<Vec<String>>>;

/// Reads a head, and answers it.
async fn answer_head(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    answer: &str,
    heads: &Heads,
) {
    let mut got = Vec::new();
    while !got.ends_with(b"\r\n\r\n") && stream.read_buf(&mut got).await.unwrap_or(0) > 0 {}
    heads.lock().unwrap().push(String::from_utf8(got).unwrap());
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.flush().await;
}

/// Starts a proxy that is also the host behind it. Returns its URL and the heads that it receives.
async fn start_proxy(answer: &'static str) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ada:secret@{}", listener.local_addr().unwrap());
    let heads = Heads::default();
    let log = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let is_tunnel = {
                let mut first = [0; 7];
                stream.peek(&mut first).await.unwrap();
                first == *b"CONNECT"
            };
            answer_head(&mut stream, answer, &log).await;
            if is_tunnel && answer.starts_with("HTTP/1.1 200 ") {
                let acceptor = acceptor(Security::Tls).unwrap();
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    answer_head(&mut stream, OK, &log).await;
                    let _ = stream.shutdown().await;
                }
            }
        }
    });
    (url, heads)
}

#[tokio::test]
async fn a_named_host_is_reached_through_the_proxy_of_the_user() {
    let established = "HTTP/1.1 200 Connection established\r\n\r\n";
    for (scheme, answer, expected) in [
        (
            "https",
            established,
            vec![
                format!(
                    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: {AUTHORIZATION}\r\n\r\n"
                ),
                "GET /x HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n".to_owned(),
            ],
        ),
        (
            "http",
            OK,
            vec![format!(
                "GET http://a.example/x HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\nproxy-authorization: {AUTHORIZATION}\r\n\r\n"
            )],
        ),
    ] {
        let (url, heads) = start_proxy(answer).await;
        let fixture = HttpFixture::behind(&["a.example"], &url, AUTHORITY);
        for generation in Generation::ALL {
            let result = fixture
                .fetch(*generation, &[scheme, "a.example", "/x"])
                .await;
            assert_eq!(
                result.text, "200 [content-length=2] 2 \"hi\"",
                "{generation:?}"
            );
            assert_eq!(result.network, "reached a.example (1)");
            assert_eq!(std::mem::take(&mut *heads.lock().unwrap()), expected);
        }
        assert_eq!(fixture.take_connections().1, [""; 0]);
    }
}

#[tokio::test]
async fn a_proxy_that_asks_for_credentials_says_nothing_to_the_program() {
    let (url, heads) =
        start_proxy("HTTP/1.1 407 corp-name\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await;
    let fixture = HttpFixture::behind(&["a.example"], &url, AUTHORITY);
    for (generation, scheme) in [(Generation::Two, "http"), (Generation::Two, "https")] {
        let result = fixture.fetch(generation, &[scheme, "a.example", "/"]).await;
        assert_eq!(result.text, "ConnectionRefused");
        assert!(
            result
                .network
                .ends_with("the proxy of this machine requires other credentials (1)"),
            "{}",
            result.network
        );
    }
    heads.lock().unwrap().clear();
    // Names that only a pattern grants are not sent to it.
    let fixture = HttpFixture::behind(&["*.example"], &url, AUTHORITY);
    for scheme in ["http", "https"] {
        let result = fixture
            .fetch(Generation::Two, &[scheme, "a.example", "/"])
            .await;
        assert_eq!(result.text, "HttpRequestDenied");
    }
    assert_eq!(fixture.take_connections(), (vec![], vec![]));
    assert_eq!(*heads.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_file_without_certificates_is_an_error() {
    let (url, heads) = start_proxy(OK).await;
    let fixture = HttpFixture::behind(&["a.example"], &url, "Cargo.toml");
    let job = fixture.job(Generation::Two, &["https", "a.example", "/"]);
    let error = fixture.run(job).await.unwrap_err();
    assert!(
        error.to_string().contains("reading root certificates"),
        "{error}"
    );
    assert_eq!(*heads.lock().unwrap(), [""; 0]);
}
