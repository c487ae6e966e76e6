//! Host names and addresses as programs write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use skills_policy::{HostFilter, HostPattern};

use crate::address::is_public;

/// The port of TLS.
pub const TLS_PORT: u16 = 443;
/// The port of HTTP, the only one that is allowed without TLS.
pub const HTTP_PORT: u16 = 80;
/// The name of the machine itself, which is never resolved.
pub(crate) const LOCALHOST: &str = "localhost";

/// A host: a lowercase name without a final dot, or an address. The same text is checked against
/// the granted hosts, resolved, and compared with the name in the connection, so these cannot
/// differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    text: String,
    address: Option<IpAddr>,
}

impl Host {
    /// Parses a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// Text that a resolver may treat as an address (`127.1`, `0177.0.0.1`, `2130706433`, `0x7f.1`)
    /// is rejected unless it is a valid address.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        // Names in other scripts have their ASCII form in a protocol.
        let text = std::str::from_utf8(text)
            .ok()
            .filter(|text| text.is_ascii())?;
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::from_address(address.into()));
        }
        // The definition of a name by `HostFilter`, so that the compared text is the resolved one.
        let name = text.parse::<HostPattern>().ok()?.to_string();
        // Neither a wildcard nor a name with a port is a host.
        if name.contains(['*', ':']) {
            return None;
        }
        // The pattern accepts a number as the last label in this notation only. Resolvers know
        // others, in which an address would pass as a granted name.
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Some(Self::from_address(address.into()));
        }
        Some(Self {
            text: name,
            address: None,
        })
    }

    /// Returns the name of the machine itself.
    pub(crate) fn localhost() -> Self {
        Self {
            text: LOCALHOST.to_owned(),
            address: None,
        }
    }

    fn from_address(address: IpAddr) -> Self {
        let text = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        Self {
            text,
            address: Some(address),
        }
    }

    /// Returns the canonical text of the host; an IPv6 address is in brackets.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the address if the host is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Returns the host as a rule names it to allow a connection to this port: `a.example`, or
    /// `localhost:8080` for another port than 80 and 443 and for a host without a public address.
    #[must_use]
    pub fn rule_text(&self, port: u16) -> String {
        if matches!(port, TLS_PORT | HTTP_PORT) && !self.is_private() {
            self.text.clone()
        } else {
            format!("{}:{port}", self.text)
        }
    }

    /// Returns the value of the field `Host` of an HTTP request to this port.
    #[must_use]
    pub fn field_text(&self, port: u16) -> String {
        match port {
            HTTP_PORT => self.text.clone(),
            _ => format!("{}:{port}", self.text),
        }
    }

    /// Returns true for a name of the machine itself.
    pub(crate) fn is_localhost(&self) -> bool {
        self.text == LOCALHOST || self.text.ends_with(".localhost")
    }

    /// Returns true for the loopback device of the machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.is_localhost() || self.address.is_some_and(|address| address.is_loopback())
    }

    /// Returns true if the host has no public address, whatever a resolver says.
    pub(crate) fn is_private(&self) -> bool {
        self.is_localhost() || self.address.is_some_and(|address| !is_public(address))
    }

    /// Returns true if the list allows the port of the host. An address must be listed itself: `*`
    /// means all names.
    pub(crate) fn is_allowed(&self, hosts: &HostFilter, port: u16) -> bool {
        // `*` would otherwise allow every address, including private ones.
        hosts.allows(&self.text, port) && (self.address.is_none() || self.is_listed(hosts))
    }

    fn is_listed(&self, hosts: &HostFilter) -> bool {
        hosts
            .allowed()
            .iter()
            .any(|pattern| pattern.to_string() == self.text)
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::from_address(address)
    }
}

/// A host and a port, as in `example.com:443`. User information is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Authority {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl Authority {
    /// Parses both. `default` is the port if none is written; without a default the port is
    /// required.
    #[must_use]
    pub fn parse(text: &[u8], default: Option<u16>) -> Option<Self> {
        let (host, port) = split_port(text);
        let port = match port {
            Some(digits) => parse_port(digits)?,
            None => default?,
        };
        Some(Self {
            host: Host::parse(host)?,
            port,
        })
    }
}

/// Splits at the last colon outside of brackets.
pub(crate) fn split_port(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    // The last colon, but not one inside of an IPv6 address.
    match text.iter().rposition(|b| matches!(b, b':' | b']')) {
        Some(colon) if text[colon] == b':' => (&text[..colon], Some(&text[colon + 1..])),
        _ => (text, None),
    }
}

fn parse_port(digits: &[u8]) -> Option<u16> {
    // `0443` and `+443` are rejected, since the server could parse them differently.
    let is_plain = digits.iter().all(u8::is_ascii_digit) && digits.first() != Some(&b'0');
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_addresses_have_one_canonical_text() {
        let text = |text: &str| Host::parse(text.as_bytes()).map(|host| host.text);
        for (written, read) in [
            ("a.example", "a.example"),
            ("A.Example.", "a.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("_dmarc.a.example", "_dmarc.a.example"),
            ("1e100.example", "1e100.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
            ("[::FFFF:127.0.0.1]", "[::ffff:127.0.0.1]"),
        ] {
            assert_eq!(text(written).as_deref(), Some(read), "{written}");
        }
        for pattern in [
            "*",
            "*.a.example",
            "a.example:80",
            "a:1",
            "127.0.0.1:80",
            "[::1]:80",
        ] {
            assert_eq!(text(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn ports_are_plain_numbers() {
        let port = |text: &str| {
            Authority::parse(text.as_bytes(), Some(80)).map(|authority| authority.port)
        };
        assert_eq!(
            (
                port("a.example"),
                port("a.example:443"),
                port("[::1]:443"),
                port("[::1]")
            ),
            (Some(80), Some(443), Some(443), Some(80))
        );
        for wrong in [
            "a.example:",
            "a.example:0443",
            "a.example:+443",
            "a.example:65536",
            "a.example:x",
            "a:b:80",
            "::1:80",
            ":80",
            "",
        ] {
            assert_eq!(port(wrong), None, "{wrong}");
        }
        assert!(Authority::parse(b"a.example", None).is_none());
    }

    proptest! {
        #[test]
        fn the_compared_text_is_the_resolved_text(text in "[aA0-9xX.:%@/\\\\\\[\\]_ \\-\0\n\u{e9}*]{0,20}") {
            let Some(host) = Host::parse(text.as_bytes()) else { return Ok(()) };
            let canonical = host.as_str().to_owned();
            // The text is the input except for case and one final dot, or an address in canonical
            // form; and it parses to itself.
            let written = text.strip_suffix('.').unwrap_or(&text).to_ascii_lowercase();
            prop_assert!(host.address().is_some_and(|ip| ip.is_ipv6()) || canonical == written);
            prop_assert_eq!(Host::parse(canonical.as_bytes()), Some(host.clone()));
            if let Ok(pattern) = text.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string(), canonical.clone());
                prop_assert!(pattern.matches(&canonical));
            }
            // No resolver treats it as an address unless we do.
            let last = canonical.rsplit('.').next().unwrap_or_default();
            prop_assert!(host.address().is_some() || !last.bytes().all(|b| b.is_ascii_digit()));
        }

        #[test]
        fn names_contain_only_name_characters(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(host) = Host::parse(&bytes) {
                prop_assert!(host.as_str().len() <= 253 && host.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.[]:".contains(&b)));
            }
        }
    }
}
