//! Hosts as programs write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use skills_policy::{HostList, HostPattern};

/// A host: a name in lower case without a final dot, or an address. The one text is asked of the
/// list, resolved, and compared with what the connection itself names, so that these cannot
/// disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    text: String,
    address: Option<IpAddr>,
}

impl Host {
    /// Reads a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// What a resolver might take for an address (`127.1`, `0177.0.0.1`, `2130706433`, `0x7f.1`) is
    /// nothing unless it is one.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::from_address(address.into()));
        }
        // The list's own notion of a name, so that what it compares is what is dialled.
        let name = text.parse::<HostPattern>().ok()?.to_string();
        if name.starts_with('*') {
            return None;
        }
        if is_numeric_label(name.rsplit('.').next()?) {
            let address: Ipv4Addr = name.parse().ok()?;
            return Some(Self::from_address(address.into()));
        }
        Some(Self {
            text: name,
            address: None,
        })
    }

    pub(super) fn from_address(address: IpAddr) -> Self {
        let text = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        Self {
            text,
            address: Some(address),
        }
    }

    /// Returns the one text of the host; an IPv6 address stands in brackets.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the address when the host is one and not a name.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Says whether the list has the host. An address must be on it as such: `*` means all names.
    pub(super) fn is_allowed(&self, hosts: &HostList) -> bool {
        let is_named = || {
            hosts
                .allowed()
                .iter()
                .any(|pattern| pattern.to_string() == self.text)
        };
        hosts.allows(&self.text) && (self.address.is_none() || is_named())
    }
}

/// Says whether a last label makes an address of a name, as resolvers and browsers see it.
fn is_numeric_label(label: &str) -> bool {
    let is_hexadecimal = label
        .strip_prefix("0x")
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    is_hexadecimal || label.bytes().all(|b| b.is_ascii_digit())
}

/// A host and a port, as in `example.com:443`, and nothing else: no user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Authority {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl Authority {
    /// Reads both; `default` is the port when none is written, without it one must be.
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
pub(super) fn split_port(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().rposition(|b| matches!(b, b':' | b']')) {
        Some(colon) if text[colon] == b':' => (&text[..colon], Some(&text[colon + 1..])),
        _ => (text, None),
    }
}

fn parse_port(digits: &[u8]) -> Option<u16> {
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
    fn names_and_addresses_have_one_text() {
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
        fn what_the_list_compares_is_what_is_dialled(text in "[aA0-9xX.:%@/\\\\\\[\\]_ \\-\0\n\u{e9}*]{0,20}") {
            let Some(host) = Host::parse(text.as_bytes()) else { return Ok(()) };
            let dialled = host.as_str().to_owned();
            // The text is what was written but for case and one final dot, or an address in its one
            // form; and it reads as itself.
            let written = text.strip_suffix('.').unwrap_or(&text).to_ascii_lowercase();
            prop_assert!(host.address().is_some_and(|ip| ip.is_ipv6()) || dialled == written);
            prop_assert_eq!(Host::parse(dialled.as_bytes()), Some(host.clone()));
            if let Ok(pattern) = text.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string(), dialled.clone());
                prop_assert!(pattern.matches(&dialled));
            }
            // No resolver takes it for an address unless we do.
            let last = dialled.rsplit('.').next().unwrap_or_default();
            prop_assert!(host.address().is_some() || !last.bytes().all(|b| b.is_ascii_digit()));
        }

        #[test]
        fn names_are_never_more_than_names(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(host) = Host::parse(&bytes) {
                prop_assert!(host.as_str().len() <= 253 && host.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.[]:".contains(&b)));
            }
        }
    }
}
