//! Which addresses are the public's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks that are not the public's, each with the length of its prefix (IANA's special-purpose
/// registry, and what clouds keep there).
const SPECIAL_PURPOSE_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Shared by carriers; one cloud's metadata are at 100.100.100.200.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // The services of one cloud's own host, metadata among them: the address is public, what is
    // there is not.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Link-local, and most clouds' metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// What of `2000::/3`, outside of which nothing is the public's, is not.
const SPECIAL_PURPOSE_V6: [(Ipv6Addr, u32); 4] = [
    // Protocols' own: Teredo, which holds an IPv4 address, benchmarks, identifiers.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which holds an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Says whether an address is one that the public can have.
///
/// Loopback, private, shared and link-local addresses are not, nor are multicast, broadcast,
/// unspecified and reserved ones, those for documentation and benchmarks, and those at which clouds
/// keep metadata. An IPv6 address that stands for an IPv4 one (mapped, compatible, 6to4, Teredo) is
/// not either, whatever it stands for; only the well-known prefix of NAT64, by which networks
/// without IPv4 reach all the rest, is judged by what it stands for.
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match ip.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(low_ipv4(ip)),
            [first, ..] => {
                first >> 13 == 1
                    && !SPECIAL_PURPOSE_V6.iter().any(|(network, length)| {
                        shares_prefix(ip.into(), (*network).into(), 128, *length)
                    })
            }
        },
    }
}

/// Returns the IPv4 address for which an IPv6 address stands: by NAT64's well-known prefix, or
/// mapped.
pub(super) fn embedded_ipv4(ip: IpAddr) -> Option<Ipv4Addr> {
    match ip {
        IpAddr::V4(_) => None,
        IpAddr::V6(ip) => matches!(
            ip.segments(),
            [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..]
        )
        .then(|| low_ipv4(ip)),
    }
}

/// Returns the last four bytes.
fn low_ipv4(ip: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = ip.octets();
    Ipv4Addr::new(a, b, c, d)
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    !SPECIAL_PURPOSE_V4.iter().any(|(network, length)| {
        shares_prefix(
            u32::from(ip).into(),
            u32::from(*network).into(),
            32,
            *length,
        )
    })
}

/// Says whether the first `length` of `width` bits are the same; `length` is not 0.
fn shares_prefix(ip: u128, network: u128, width: u32, length: u32) -> bool {
    (ip ^ network) >> (width - length) == 0
}
