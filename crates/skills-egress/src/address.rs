//! Classifies IP addresses: which are public, and which belong to a private network.
//!
//! Programs and sources of skills both name hosts. One table decides for both which addresses they
//! reach. It knows numbers only: no names, no sockets, no policy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks that are not public, each with its prefix length (IANA's special-purpose registry, and
/// addresses of cloud services).
const SPECIAL_PURPOSE_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Carrier-grade NAT; one cloud's metadata service is at 100.100.100.200.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // One cloud's host services, including metadata: the address is public, the services are not.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Link-local, and most clouds' metadata services.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // 6to4 relays.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The exceptions within `2000::/3`; outside of it no address is public.
const SPECIAL_PURPOSE_V6: [(Ipv6Addr, u32); 4] = [
    // IETF protocol assignments: Teredo (which embeds an IPv4 address), benchmarks, identifiers.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which embeds an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns true if an address is globally reachable.
///
/// Not public are loopback, private, shared, link-local, multicast, broadcast, unspecified and
/// reserved addresses, those for documentation and benchmarks, and those of cloud metadata
/// services. IPv6 addresses that embed an IPv4 address (mapped, compatible, 6to4, Teredo) are not
/// public either, whatever they embed. The exception is the well-known NAT64 prefix, which networks
/// without IPv4 depend on: it is classified by the embedded address.
///
/// ```
/// use skills_egress::is_public;
///
/// assert!(is_public("1.1.1.1".parse()?));
/// // Metadata services of clouds.
/// assert!(!is_public("169.254.169.254".parse()?));
/// assert!(!is_public("::ffff:127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match ip.segments() {
            // Networks without IPv4 depend on this prefix.
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(low_ipv4(ip)),
            [first, ..] => {
                // Only `2000::/3` is globally routed. An allow list, so that ranges assigned later
                // are not public.
                first >> 13 == 1
                    && !SPECIAL_PURPOSE_V6.iter().any(|(network, length)| {
                        shares_prefix(ip.into(), (*network).into(), 128, *length)
                    })
            }
        },
    }
}

/// Networks of an organization or a home, each with its prefix length. Those for documentation and
/// benchmarks are included: closed networks use them, and nothing else does.
const PRIVATE_V4: [(Ipv4Addr, u32); 7] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
];
const PRIVATE_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// One cloud's metadata service.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Returns true for an address of a private network, which is neither this machine nor a metadata
/// service.
#[must_use]
pub fn is_private_network(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_in_v4(ip, &PRIVATE_V4),
        IpAddr::V6(ip) => {
            let (network, length) = PRIVATE_V6;
            ip != METADATA_V6 && shares_prefix(ip.into(), network.into(), 128, length)
        }
    }
}

/// Returns the IPv4 address embedded in an IPv6 address, by NAT64's well-known prefix or as a
/// mapped address.
#[must_use]
pub fn embedded_ipv4(ip: IpAddr) -> Option<Ipv4Addr> {
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
    !is_in_v4(ip, &SPECIAL_PURPOSE_V4)
}

fn is_in_v4(ip: Ipv4Addr, networks: &[(Ipv4Addr, u32)]) -> bool {
    networks.iter().any(|(network, length)| {
        shares_prefix(
            u32::from(ip).into(),
            u32::from(*network).into(),
            32,
            *length,
        )
    })
}

/// Returns true if the first `length` of `width` bits are equal; `length` is not 0.
fn shares_prefix(ip: u128, network: u128, width: u32, length: u32) -> bool {
    (ip ^ network) >> (width - length) == 0
}
