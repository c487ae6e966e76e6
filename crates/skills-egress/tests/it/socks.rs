//! SOCKS, and unknown protocols.

use super::fixture::{ProxyFixture, SOCKS_GRANTED, client_hello, socks};

#[tokio::test]
async fn socks_requests_may_arrive_byte_by_byte() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    let server = fixture.server("93.184.216.34:443", "hello", "server").await;
    let mut client = fixture.connect().await;
    for byte in [
        socks(b"a.example", 443),
        client_hello(Some("a.example"), 999),
    ]
    .concat()
    {
        client.send([byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.rest().await, format!("{SOCKS_GRANTED}server"));
    server.await.unwrap();
}

#[tokio::test]
async fn other_versions_methods_and_commands_are_rejected() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for (request, answer) in [
        // SOCKS 4, with an address and with a name.
        (
            b"\x04\x01\x01\xbb\x5d\xb8\xd8\x22\0".as_slice(),
            b"\0\x5b\0\0\0\0\0\0".as_slice(),
        ),
        (
            b"\x04\x01\x01\xbb\0\0\0\x01\0a.example\0",
            b"\0\x5b\0\0\0\0\0\0",
        ),
        // Only with a password; no method at all.
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\0", b"\x05\xff"),
        // BIND, UDP, another address type, a wrong version.
        (
            b"\x05\x01\0\x05\x02\0\x03\x09a.example\x01\xbb",
            b"\x05\0\x05\x07\0\x01\0\0\0\0\0\0",
        ),
        (
            b"\x05\x01\0\x05\x03\0\x03\x09a.example\x01\xbb",
            b"\x05\0\x05\x07\0\x01\0\0\0\0\0\0",
        ),
        (
            b"\x05\x01\0\x05\x01\0\x02\x09a.example\x01\xbb",
            b"\x05\0\x05\x08\0\x01\0\0\0\0\0\0",
        ),
        (
            b"\x05\x01\0\x04\x01\0\x03\x09a.example\x01\xbb",
            b"\x05\0\x05\x01\0\x01\0\0\0\0\0\0",
        ),
    ] {
        assert_eq!(
            fixture.exchange(request).await,
            String::from_utf8_lossy(answer),
            "{request:?}"
        );
    }
    fixture.assert_no_connections("socks");
}

#[tokio::test]
async fn other_protocols_are_rejected() {
    let fixture = ProxyFixture::new(&["a.example"]).await;
    for request in [
        b"\0".as_slice(),
        &client_hello(Some("a.example"), 999),
        b"EHLO x\r\n\r\n",
        b"\xff\xff\r\n\r\n",
        b"\n",
        b"\r\n\r\n",
    ] {
        let answer = fixture.exchange(request).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 "),
            "{request:?}: {answer:?}"
        );
    }
    fixture.assert_no_connections("neither");
}
