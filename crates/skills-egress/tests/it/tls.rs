//! Tunnels to port 443: the required first message.

use insta::assert_snapshot;

use super::lab::{Lab, PUBLIC, SOCKS_GRANTED, hello, socks};

const OPENED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Case 42 in a tunnel.
#[tokio::test]
async fn case_42_what_is_not_tls_for_the_host_is_not_sent_on() {
    let lab = Lab::new(&["a.example", "b.example", PUBLIC]).await;
    for (first, host) in [
        (hello(Some("b.example"), 999), "a.example"),
        (hello(Some("b.example"), 3), "a.example"),
        (hello(Some("evil.example"), 999), "a.example"),
        (hello(Some("a.example.evil.example"), 999), "a.example"),
        (hello(Some("a.example\0"), 999), "a.example"),
        (hello(Some(""), 999), "a.example"),
        (hello(None, 999), "a.example"),
        (hello(Some("a.example"), 999), PUBLIC),
        (
            b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(),
            "a.example",
        ),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), "a.example"),
        (vec![0; 5], "a.example"),
    ] {
        let tunnel = format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").into_bytes();
        assert_eq!(
            lab.talk([tunnel, first.clone()].concat()).await,
            OPENED,
            "{host}"
        );
        assert_eq!(
            lab.talk([socks(host.as_bytes(), 443), first].concat())
                .await,
            SOCKS_GRANTED,
            "{host}"
        );
    }
    assert_eq!(lab.went().1, Vec::<String>::new());
    assert_snapshot!(lab.summary().to_string().replace("; ", "\n"), @r"
    rejected a.example: the connection names a different host, or none (12)
    rejected a.example: port 443 requires TLS (8)
    rejected 93.184.216.34: the connection names a different host, or none (2)
    ");
}

#[tokio::test]
async fn a_hello_may_arrive_in_any_pieces() {
    let lab = Lab::new(&["a.example"]).await;
    for size in [1, 10, 999] {
        let server = lab.server("93.184.216.34:443", "hello", "server").await;
        let mut client = lab.connect().await;
        client
            .say("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nUser-Agent: x\r\n\r\n")
            .await;
        assert_eq!(client.head().await, OPENED);
        for byte in hello(Some("a.example"), size) {
            client.say([byte]).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(client.rest().await, "server");
        server.await.unwrap();
    }
}

#[tokio::test]
async fn both_directions_stay_open_until_both_have_ended() {
    let lab = Lab::new(&["a.example"]).await;
    let server = lab.server("93.184.216.34:443", "the end", "answer").await;
    let mut client = lab.connect().await;
    client
        .say(
            [
                b"CONNECT a.example:443 HTTP/1.1\r\n\r\n".as_slice(),
                &hello(Some("a.example"), 999),
                b"early",
            ]
            .concat(),
        )
        .await;
    client.head().await;
    client.say("the end").await;
    assert_eq!(client.hear().await, *b"answer");
    client.say("after").await;
    drop(client);
    assert!(server.await.unwrap().ends_with("helloearlythe endafter"));
    let summary = lab.summary();
    assert_eq!(
        (summary.sent_bytes(), summary.received_bytes()),
        (hello(Some("a.example"), 999).len() as u64 + 17, 6)
    );
}
