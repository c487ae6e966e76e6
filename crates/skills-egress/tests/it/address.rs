//! Which addresses are public, and those of this machine.

use std::net::IpAddr;

use skills_egress::{Connector, SystemConnector, embedded_ipv4, is_private_network, is_public};

const PRIVATE: &[&str] = &[
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "233.252.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::1:8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "100:0:0:1::1",
    "200::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1ff::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "feff::1",
    "ff02::1",
    "ff0e::1",
];

#[test]
fn private_addresses_of_every_kind_are_not_public() {
    for text in PRIVATE {
        assert!(!is_public(text.parse::<IpAddr>().unwrap()), "{text}");
    }
}

#[test]
fn public_addresses_are_public() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.1",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.15",
        "169.253.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "192.88.98.1",
        "192.167.0.1",
        "192.169.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7::1",
        "2003::1",
        "2606:4700::1111",
        "2a00::1",
        "64:ff9b::8.8.8.8",
    ] {
        assert!(is_public(text.parse::<IpAddr>().unwrap()), "{text}");
    }
}

#[test]
fn private_networks_are_neither_this_machine_nor_metadata_services() {
    let is_private = |text: &str| is_private_network(text.parse().unwrap());
    for text in ["10.1.2.3", "172.31.0.1", "192.168.0.1", "fd12:3456::1"] {
        assert!(is_private(text), "{text}");
    }
    for text in ["127.0.0.1", "169.254.169.254", "fd00:ec2::254", "8.8.8.8"] {
        assert!(!is_private(text), "{text}");
    }
}

#[test]
fn an_embedded_address_is_found_for_two_prefixes_only() {
    let embedded = |text: &str| embedded_ipv4(text.parse().unwrap()).map(|ip| ip.to_string());
    assert_eq!(embedded("::ffff:10.0.0.1").as_deref(), Some("10.0.0.1"));
    assert_eq!(embedded("64:ff9b::10.0.0.1").as_deref(), Some("10.0.0.1"));
    assert_eq!(embedded("64:ff9b:1::10.0.0.1"), None);
    assert_eq!(embedded("10.0.0.1"), None);
}

/// The kernel decides which public addresses belong to the host itself; loopback represents them
/// here.
#[tokio::test]
async fn addresses_of_the_host_are_not_connected_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = SystemConnector::default()
        .connect(listener.local_addr().unwrap())
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
}
