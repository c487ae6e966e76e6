//! Addresses of this machine.

use skills_egress::{Connector, SystemConnector};

/// The kernel decides which public addresses belong to the host itself; loopback represents them
/// here.
#[tokio::test]
async fn addresses_of_the_host_are_not_connected_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = SystemConnector
        .connect(listener.local_addr().unwrap())
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
}
