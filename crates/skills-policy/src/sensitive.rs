//! What no message suggests to allow: files with keys, and services that give keys or control.
//!
//! A user can still allow it. A message names it for what it is instead of offering an option to
//! copy, since a program can choose what its messages are about.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use crate::key_part;
use crate::numeric_address::parse_ipv4;

pub(crate) const KEYS: &str = "it may contain keys";
const METADATA: &str = "it can be the metadata service of a cloud, which hands out keys";
const ADMINISTRATION: &str = "programs of this machine are controlled by that port";

/// Names of metadata services that are not below `internal`.
const METADATA_NAMES: [&str; 7] = [
    "instance-data",
    "metadata",
    "metadata.azure.com",
    "metadata.goog",
    "metadata.packet.net",
    "metadata.tencentyun.com",
    "rancher-metadata",
];
/// Metadata services at addresses that are not link-local.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(100, 100, 100, 110),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The same, by the first two segments of the networks that contain them.
const METADATA_V6: [[u16; 2]; 3] = [[0xfd00, 0xec2], [0xfd00, 0xc1], [0xfd20, 0xce]];

/// Names of this machine.
const LOOPBACK_NAMES: [&str; 6] = [
    "gateway.docker.internal",
    "host.containers.internal",
    "host.docker.internal",
    "ip6-localhost",
    "ip6-loopback",
    "localhost",
];
/// Ports by which one starts or controls programs, or a machine: remote shells and desktops, engines
/// of containers, clusters, stores of configuration, debuggers, browsers, printers.
const ADMINISTRATION_PORTS: [u16; 48] = [
    22, 23, 111, 512, 513, 514, 623, 631, 873, 2019, 2049, 2345, 2375, 2376, 2377, 2379, 2380,
    3389, 4243, 4444, 4646, 5005, 5037, 5555, 5678, 5858, 5900, 5985, 5986, 6000, 6379, 6443, 8001,
    8088, 8200, 8500, 8888, 9000, 9001, 9222, 9229, 9443, 10000, 10249, 10250, 10255, 10256, 15672,
];

/// Returns why no message suggests to allow reading or writing a path, as a clause; `None` if there
/// is no reason.
///
/// ```
/// use skills_policy::path_caution;
/// use std::path::Path;
///
/// assert_eq!(path_caution(Path::new("/home/me/.aws/credentials")), Some("it may contain keys"));
/// assert_eq!(path_caution(Path::new("/home/me/notes.txt")), None);
/// ```
#[must_use]
pub fn path_caution(path: &Path) -> Option<&'static str> {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    key_part(&parts).map(|_| KEYS)
}

/// Returns why no message suggests to allow a connection to a host, with or without a port, as a
/// clause; `None` if there is no reason. Every spelling of an address counts.
///
/// ```
/// use skills_policy::host_caution;
///
/// assert!(host_caution("169.254.169.254:80").is_some() && host_caution("0xa9fea9fe").is_some());
/// assert!(host_caution("localhost:2375").is_some());
/// assert!(host_caution("localhost:8080").is_none() && host_caution("example.com").is_none());
/// ```
#[must_use]
pub fn host_caution(host: &str) -> Option<&'static str> {
    let (name, port) = split_port(host);
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let addresses: Vec<IpAddr> = parse_address(&name)
        .into_iter()
        .chain(embedded_addresses(&name))
        .collect();
    if is_metadata_name(&name) || addresses.iter().any(|address| is_metadata(*address)) {
        return Some(METADATA);
    }
    let is_loopback = LOOPBACK_NAMES.contains(&name.as_str())
        || name.ends_with(".localhost")
        || addresses.iter().any(|address| is_this_machine(*address));
    let is_administration = port.is_some_and(|port| ADMINISTRATION_PORTS.contains(&port));
    (is_loopback && is_administration).then_some(ADMINISTRATION)
}

/// Splits `host:port`, `[address]:port` and `[address]`.
fn split_port(host: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return (
            address,
            rest.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match host.rsplit_once(':') {
        // Of an address of version 6 the last part is no port.
        Some((name, port)) if !name.contains(':') => (name, port.parse().ok()),
        _ => (host, None),
    }
}

/// Returns the address that a name stands for, in all spellings that resolvers accept: `10.1` and
/// `0x7f.1` are addresses as well.
fn parse_address(name: &str) -> Option<IpAddr> {
    // Zones of link-local addresses follow a `%`.
    let without_zone = name.split('%').next().unwrap_or(name);
    if let Ok(address) = without_zone.parse() {
        return Some(address);
    }
    parse_ipv4(name).map(IpAddr::from)
}

/// Returns the addresses in a name such as `169.254.169.254.nip.io`, which public services resolve
/// to them.
fn embedded_addresses(name: &str) -> Vec<IpAddr> {
    let labels: Vec<&str> = name.split(['.', '-']).collect();
    let quads = labels.windows(4).map(|labels| labels.join("."));
    // `a9fea9fe.nip.io` is another spelling.
    let hexadecimal = labels
        .iter()
        .filter(|label| label.len() == 8)
        .filter_map(|label| u32::from_str_radix(label, 16).ok())
        .map(|address| Ipv4Addr::from(address).into());
    quads
        .filter_map(|quad| quad.parse().ok())
        .chain(hexadecimal)
        .collect()
}

fn is_metadata_name(name: &str) -> bool {
    let is_internal = name.ends_with(".internal")
        && name
            .split('.')
            .any(|label| label == "metadata" || label == "instance-data");
    is_internal || METADATA_NAMES.contains(&name)
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || METADATA_V4.contains(&address),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            let is_link_local = first & 0xffc0 == 0xfe80;
            is_link_local
                || METADATA_V6.contains(&[first, second])
                || low_ipv4(address).is_some_and(|low| is_metadata(low.into()))
        }
    }
}

fn is_this_machine(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_unspecified(),
        IpAddr::V6(address) => {
            let is_own = address.is_loopback() || address.is_unspecified();
            is_own || low_ipv4(address).is_some_and(|low| is_this_machine(low.into()))
        }
    }
}

/// Returns the address of version 4 at the end of a mapped, compatible or translated one.
fn low_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, ..] = address.segments();
    let has_low = matches!(
        [a, b, c, d, e, f],
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0]
    );
    let [.., w, x, y, z] = address.octets();
    has_low.then(|| Ipv4Addr::new(w, x, y, z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostPattern, Permission};

    #[test]
    fn metadata_services_are_recognized_in_every_spelling() {
        for host in [
            "169.254.169.254",
            "169.254.169.254:80",
            "169.254.170.2",
            "2852039166",
            "0xA9FEA9FE:80",
            "0251.0376.0251.0376",
            "169.254.43518",
            "[::ffff:169.254.169.254]:80",
            "::ffff:a9fe:a9fe",
            "64:ff9b::169.254.169.254",
            "fe80::1%eth0",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "168.63.129.16:32526",
            "metadata.google.internal.",
            "METADATA",
            "instance-data.ec2.internal",
            "metadata.eu.internal",
            "169.254.169.254.nip.io",
            "a-169-254-169-254.sslip.io",
        ] {
            assert_eq!(host_caution(host), Some(METADATA), "{host}");
        }
    }

    #[test]
    fn ports_that_control_this_machine_are_recognized() {
        for host in [
            "localhost",
            "127.0.0.1",
            "127.1",
            "[::1]",
            "0.0.0.0",
            "a.localhost",
        ] {
            for port in [22, 2375, 9229, 10250] {
                let service = format!("{host}:{port}");
                assert_eq!(host_caution(&service), Some(ADMINISTRATION), "{service}");
            }
            for port in ["", ":80", ":3000", ":8080", ":11434", ":5432"] {
                assert_eq!(host_caution(&format!("{host}{port}")), None, "{host}{port}");
            }
        }
    }

    #[test]
    fn keys_of_a_request_are_never_suggested() {
        use crate::{Authorization, Policy, Request};

        for request in [
            Request::new("/s").workspace("/w").read("/w/.env"),
            Request::new("/s").workspace("/w").write("/w/.aws/config"),
            Request::new("/s").workspace("/w").read_keys("/w/plain.txt"),
        ] {
            let Authorization::Denied(denial) = Policy::default().authorize(&request) else {
                panic!("keys are denied")
            };
            let mut denied = denial
                .decisions()
                .iter()
                .filter(|decision| decision.decision() != crate::Decision::Allow);
            assert!(denied.all(|decision| decision.permission().caution() == Some(KEYS)));
        }
        for host in ["a9fea9fe.nip.io:80", "localhost:6379"] {
            assert!(host_caution(host).is_some(), "{host}");
        }
    }

    #[test]
    fn ordinary_hosts_and_files_have_no_caution() {
        for host in [
            "example.com",
            "api.example.com:8443",
            "metadata.example.com",
            "db.internal",
            "1.1.1.1",
            "10.0.0.1:22",
            "a-1-2-3.example",
            "*.example.com",
            "*",
            "",
            ":",
            "[",
            "[]:",
            "2001:db8::1",
        ] {
            assert_eq!(host_caution(host), None, "{host}");
        }
        assert_eq!(path_caution(Path::new("/h/.ssh/config")), Some(KEYS));
        assert_eq!(path_caution(Path::new("/h/project/a.txt")), None);
        let host: HostPattern = "169.254.169.254:80".parse().unwrap();
        assert_eq!(Permission::Host(host).caution(), Some(METADATA));
    }
}
