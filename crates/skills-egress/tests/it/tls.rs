//! Tunnels to port 443: the required first message.

use insta::assert_snapshot;

use super::fixture::{PUBLIC, ProxyFixture, SOCKS_GRANTED, client_hello, socks};

const OPENED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Case 42 in a tunnel.
#[tokio::test]
async fn case_42_only_tls_for_the_host_is_forwarded() {
    let fixture = ProxyFixture::new(&["a.example", "b.example", PUBLIC]).await;
    for (first, host) in [
        (client_hello(Some("b.example"), 999), "a.example"),
        (client_hello(Some("b.example"), 3), "a.example"),
        (client_hello(Some("evil.example"), 999), "a.example"),
        (
            client_hello(Some("a.example.evil.example"), 999),
            "a.example",
        ),
        (client_hello(Some("a.example\0"), 999), "a.example"),
        (client_hello(Some(""), 999), "a.example"),
        (client_hello(None, 999), "a.example"),
        (client_hello(Some("a.example"), 999), PUBLIC),
        (
            b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(),
            "a.example",
        ),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), "a.example"),
        (vec![0; 5], "a.example"),
    ] {
        let tunnel = format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").into_bytes();
        assert_eq!(
            fixture.exchange([tunnel, first.clone()].concat()).await,
            OPENED,
            "{host}"
        );
        assert_eq!(
            fixture
                .exchange([socks(host.as_bytes(), 443), first].concat())
                .await,
            SOCKS_GRANTED,
            "{host}"
        );
    }
    assert_eq!(fixture.connections().1, Vec::<String>::new());
    assert_snapshot!(fixture.summary().to_string().replace("; ", "\n"), @r"
    rejected a.example: the connection names a different host, or none (12)
    rejected a.example: port 443 requires TLS (8)
    rejected 93.184.216.34: the connection names a different host, or none (2)
    ");
}

#[tokio::test]
async fn a_client_hello_may_arrive_in_pieces() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for size in [1, 10, 999] {
        let server = fixture.server("93.184.216.34:443", "hello", "server").await;
        let mut client = fixture.connect().await;
        client
            .send("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nUser-Agent: x\r\n\r\n")
            .await;
        assert_eq!(client.head().await, OPENED);
        for byte in client_hello(Some("a.example"), size) {
            client.send([byte]).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(client.rest().await, "server");
        server.await.unwrap();
    }
}

#[tokio::test]
async fn both_directions_stay_open_until_both_have_ended() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let server = fixture
        .server("93.184.216.34:443", "the end", "answer")
        .await;
    let mut client = fixture.connect().await;
    client
        .send(
            [
                b"CONNECT a.example:443 HTTP/1.1\r\n\r\n".as_slice(),
                &client_hello(Some("a.example"), 999),
                b"early",
            ]
            .concat(),
        )
        .await;
    client.head().await;
    client.send("the end").await;
    assert_eq!(client.receive().await, *b"answer");
    client.send("after").await;
    drop(client);
    assert!(server.await.unwrap().ends_with("helloearlythe endafter"));
    let summary = fixture.summary();
    assert_eq!(
        (summary.sent_bytes, summary.received_bytes),
        (client_hello(Some("a.example"), 999).len() as u64 + 17, 6)
    );
}
