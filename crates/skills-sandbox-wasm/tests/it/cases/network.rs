//! Programs that try to use a network that is not granted.

use std::net::{TcpListener, UdpSocket};

use super::fixture::{Fixture, Generation};
use super::programs;

#[tokio::test]
async fn case_15_there_are_no_sockets() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (stream, datagram) = (
            listener.local_addr().unwrap().port().to_string(),
            receiver.local_addr().unwrap().port().to_string(),
        );
        fixture
            .rejects(
                &[&["connect", &stream], &["listen"], &["datagram", &datagram]],
                &["PermissionDenied"],
            )
            .await;
        listener.set_nonblocking(true).unwrap();
        receiver.set_nonblocking(true).unwrap();
        assert!(
            listener.accept().is_err(),
            "{generation:?}: a client connected"
        );
        assert!(
            receiver.recv(&mut [0; 16]).is_err(),
            "{generation:?}: something arrived"
        );
    }
}

#[tokio::test]
async fn case_16_no_name_is_resolved() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        fixture
            .rejects(
                &[&["resolve", "localhost"], &["resolve", "127.0.0.1"]],
                &["not resolved"],
            )
            .await;
    }
}

/// The tests of granted hosts check what is rejected there.
#[tokio::test]
async fn case_17_http_without_granted_hosts_is_rejected_by_name() {
    let interfaces = [
        (Generation::P2, "wasi:http/outgoing-handler@0.2.0"),
        (Generation::P3, "wasi:http/client@0.3.0"),
    ];
    for (generation, interface) in interfaces
        .into_iter()
        .filter(|(generation, _)| Generation::ALL.contains(generation))
    {
        let import = format!(r#"(import "{interface}" (instance (export "handle" (func))))"#);
        let bytes = programs::component(
            generation,
            &import,
            r#"(func (export "run") (result i32) i32.const 0)"#,
        );
        let error = Fixture::new(generation)
            .run_bytes(&bytes)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("wasi:http"), "{generation:?}: {error}");
    }
}
