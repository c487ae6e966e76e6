//! Host names and host patterns.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// Maximum length of a host name (RFC 1035).
const MAX_NAME_BYTES: usize = 253;
/// Maximum length of a label, the part between two dots.
const MAX_LABEL_BYTES: usize = 63;

/// The ports of a host that is named without one: those of HTTP and of TLS.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// A pattern of host names: one host, all hosts below a domain, or all hosts.
///
/// Written as `api.example.com`, `*.example.com` (which does not match `example.com` itself) and
/// `*`, without scheme or path. They mean the ports 80 and 443 and public addresses. A host with a
/// port, `localhost:8080`, means this port only, also of the machine itself or of a private network;
/// no other pattern covers it.
///
/// Normalized to lowercase without a final dot. Names in other scripts are converted to their ASCII
/// form (`xn--…`, UTS 46), in which they are also displayed: a rule and a request must not look alike
/// and mean different hosts. IPv6 addresses are in brackets, in the form of RFC 5952; one that embeds
/// an IPv4 address is that address. A number in another notation than `127.0.0.1`, such as `127.1`,
/// is an error: connections to it are never allowed.
///
/// ```
/// use skills_policy::HostPattern;
///
/// let pattern: HostPattern = "*.Example.com".parse()?;
/// assert_eq!(pattern.to_string(), "*.example.com");
/// assert!(pattern.matches("api.example.com.") && !pattern.matches("example.com"));
/// assert!(HostPattern::ANY.covers(&pattern));
/// assert!("https://example.com".parse::<HostPattern>().is_err());
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct HostPattern(Kind);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Exact(String),
    /// One port of a host.
    Service(String, u16),
    /// All hosts below this domain.
    Subdomains(String),
    Any,
}

impl HostPattern {
    /// The pattern that matches all hosts, written `*`.
    pub const ANY: Self = Self(Kind::Any);

    /// Returns the port, if the pattern names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match &self.0 {
            Kind::Service(_, port) => Some(*port),
            Kind::Exact(_) | Kind::Subdomains(_) | Kind::Any => None,
        }
    }

    /// Returns true if a host name matches, with the ports 80 and 443. Case and a final dot are
    /// ignored; text that is not a host name matches nothing.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        normalize_name(host).is_some_and(|host| self.covers(&Self(Kind::Exact(host))))
    }

    /// Returns true if every host and port that matches `other` matches `self`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Service(..), _) | (_, Kind::Service(..)) => self == other,
            (Kind::Any, _) => true,
            (Kind::Exact(name), Kind::Exact(other)) => name == other,
            (Kind::Subdomains(domain), Kind::Exact(other)) => is_below(other, domain),
            // All subdomains of `other` are below `domain`, also if both are the same.
            (Kind::Subdomains(domain), Kind::Subdomains(other)) => {
                other == domain || is_below(other, domain)
            }
            (_, Kind::Any) | (Kind::Exact(_), Kind::Subdomains(_)) => false,
        }
    }

    /// Returns true if denying `self` denies all of `other`. A pattern without a port denies all
    /// ports of its hosts.
    pub(crate) fn denies(&self, other: &Self) -> bool {
        match &other.0 {
            Kind::Service(name, _) => {
                self == other || self.covers(&Self(Kind::Exact(name.clone())))
            }
            _ => self.covers(other),
        }
    }

    /// Returns true if allowing `self` allows a port of a host.
    fn allows_port(&self, host: &str, port: u16) -> bool {
        match &self.0 {
            Kind::Service(..) => self.is_service(host, port),
            _ => DEFAULT_PORTS.contains(&port) && self.matches(host),
        }
    }

    /// Returns true if denying `self` denies a port of a host.
    fn denies_port(&self, host: &str, port: u16) -> bool {
        self.is_service(host, port) || self.matches(host)
    }

    /// Returns true if the pattern names exactly this port of this host.
    fn is_service(&self, host: &str, port: u16) -> bool {
        matches!(&self.0, Kind::Service(name, named) if *named == port
            && normalize_name(host).as_ref() == Some(name))
    }
}

/// Parses `HOST:PORT`. `None` if one of them is not valid.
fn parse_service(text: &str) -> Option<Kind> {
    let (name, port) = text.rsplit_once(':')?;
    // `0443` and `+443` could be read differently elsewhere.
    let is_plain = port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0');
    let port = port.parse().ok().filter(|_| is_plain)?;
    Some(Kind::Service(normalize_name(name)?, port))
}

/// Returns true if `host` is strictly below `domain`.
fn is_below(host: &str, domain: &str) -> bool {
    // Labels are never empty, so there is a label before the dot; the dot itself is required, since
    // `evilexample.com` is not below `example.com`.
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.ends_with('.'))
}

/// Returns the name in lowercase without a final dot, or the canonical text of an address; `None` if
/// it is not a host.
fn normalize_name(text: &str) -> Option<String> {
    if let Some(address) = text.strip_prefix('[') {
        return normalize_ipv6(address.strip_suffix(']')?);
    }
    let text = if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        // Maps full-width letters, dots and the like, too.
        Cow::Owned(idna::domain_to_ascii(text).ok()?)
    };
    // `a.example.` is the same host in absolute form; a rule must match both.
    let name = text.strip_suffix('.').unwrap_or(&text);
    let is_label = |label: &str| {
        // Underscores are not valid in host names but common in DNS.
        let has_valid_chars = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        has_valid_chars
            && !label.is_empty()
            && label.len() <= MAX_LABEL_BYTES
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_valid = name.len() <= MAX_NAME_BYTES
        && name.split('.').all(is_label)
        && (!is_numeric(name) || name.parse::<Ipv4Addr>().is_ok());
    is_valid.then(|| name.to_ascii_lowercase())
}

/// Returns true if resolvers and browsers treat a name as an IPv4 address, in any notation: the last
/// label is a number.
pub(crate) fn is_numeric(name: &str) -> bool {
    let label = name.rsplit('.').next().unwrap_or_default();
    let is_hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    is_hexadecimal || label.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the text of an IPv6 address as hosts have it; of an embedded IPv4 address that one.
fn normalize_ipv6(text: &str) -> Option<String> {
    let address: Ipv6Addr = text.parse().ok()?;
    Some(match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    })
}

/// Returns the domain of a pattern of all hosts below it; `None` if no host can be below it.
fn normalize_domain(text: &str) -> Option<String> {
    // `x.` is the shortest that a host below it has before the domain.
    normalize_name(text)
        .filter(|domain| domain.len() + 2 <= MAX_NAME_BYTES)
        .filter(|domain| !domain.starts_with('[') && !is_numeric(domain))
}

impl FromStr for HostPattern {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let invalid = || {
            PolicyError::from(Repr::Host {
                text: text.to_owned(),
            })
        };
        // A wildcard is the whole first label only: `*a.example` would match hosts of other owners.
        match text.strip_prefix("*.") {
            _ if text == "*" => Ok(Self::ANY),
            Some(domain) => normalize_domain(domain)
                .map(Kind::Subdomains)
                .map(Self)
                .ok_or_else(invalid),
            None => parse_service(text)
                .or_else(|| normalize_name(text).map(Kind::Exact))
                .map(Self)
                .ok_or_else(invalid),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Exact(name) => f.write_str(name),
            Kind::Service(name, port) => write!(f, "{name}:{port}"),
            Kind::Subdomains(domain) => write!(f, "*.{domain}"),
            Kind::Any => f.write_str("*"),
        }
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl TryFrom<String> for HostPattern {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

/// A filter of host names: a host passes if it matches one of `allowed` and none of `denied`.
///
/// `deny` rules for hosts are subtracted here instead of denying a wider pattern as a whole,
/// because each connection is checked by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct HostFilter {
    pub(crate) allowed: BTreeSet<HostPattern>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) denied: BTreeSet<HostPattern>,
}

impl HostFilter {
    /// Returns true if the filter allows a port of a host. The backend additionally checks the
    /// addresses that the name resolves to: private ones are allowed only if the port is
    /// [named](Self::names_service).
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        self.allowed
            .iter()
            .any(|pattern| pattern.allows_port(host, port))
            && !self.denies(host, port)
    }

    /// Returns true if the filter allows a port of a host by a pattern that names both.
    #[must_use]
    pub fn names_service(&self, host: &str, port: u16) -> bool {
        self.allowed
            .iter()
            .any(|pattern| pattern.is_service(host, port))
            && !self.denies(host, port)
    }

    /// Returns true if the filter denies a port of a host.
    #[must_use]
    pub fn denies(&self, host: &str, port: u16) -> bool {
        self.denied
            .iter()
            .any(|pattern| pattern.denies_port(host, port))
    }

    /// Returns the allowed patterns, of which a host must match at least one.
    #[must_use]
    pub fn allowed(&self) -> &BTreeSet<HostPattern> {
        &self.allowed
    }

    /// Returns the denied patterns, of which a host must match none.
    #[must_use]
    pub fn denied(&self) -> &BTreeSet<HostPattern> {
        &self.denied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_pattern_leaves_room_for_a_name_below_its_domain() {
        let label = "a".repeat(62);
        let domain = |bytes: usize| {
            let rest = "b".repeat(bytes - 3 * 63);
            format!("*.{label}.{label}.{label}.{rest}")
        };
        assert!(domain(MAX_NAME_BYTES - 2).parse::<HostPattern>().is_ok());
        assert!(domain(MAX_NAME_BYTES - 1).parse::<HostPattern>().is_err());
    }

    #[test]
    fn patterns_cover_names_and_each_other() {
        for (wide, narrow, covers) in [
            ("a.example", "A.example.", true),
            ("a.example", "b.example", false),
            ("*.example", "a.example", true),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("*.example", "evilexample", false),
            ("*.example", "*.a.example", true),
            ("*.a.example", "*.example", false),
            ("a.example", "*.a.example", false),
            ("*", "*.example", true),
            ("a.example:80", "a.example:80", true),
            ("a.example", "a.example:80", false),
            ("a.example:80", "a.example", false),
            ("*", "a.example:80", false),
            ("*.example", "a.example:80", false),
            ("*.example", "*", false),
        ] {
            assert_eq!(
                pattern(wide).covers(&pattern(narrow)),
                covers,
                "{wide} {narrow}"
            );
        }
    }

    #[test]
    fn invalid_host_names_are_rejected() {
        for text in [
            "",
            "https://a.example",
            "a.example:0",
            "a.example:0443",
            "a.example:+443",
            "a.example:65536",
            "a.example:",
            "*.example:443",
            "*:443",
            "::1",
            "[::1",
            "[fe80::1%1]",
            "[127.0.0.1]",
            "127.1",
            "0x7f.0.0.1",
            "0177.0.0.1",
            "2130706433",
            "1.2.3.4.5",
            "*.0.0.1",
            "*.[::1]",
            "a.example/x",
            "a@b",
            "a..b",
            "*a.example",
            "a.*.b",
            "-a.b",
            "xn--\u{e4}.example",
            "a\u{ff0f}b.example",
            "\u{ff0a}.example",
            "a b",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
            assert!(!HostPattern::ANY.matches(text), "{text}");
        }
        assert!(pattern("127.0.0.1").matches("127.0.0.1"));
    }

    #[test]
    fn equivalent_spellings_are_one_pattern() {
        for (spelling, canonical) in [
            ("B\u{fc}cher.Example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example.", "xn--bcher-kva.example"),
            ("*.b\u{fc}cher\u{3002}example", "*.xn--bcher-kva.example"),
            ("\u{ff41}.example\u{ff0e}:8080", "a.example:8080"),
            ("\u{ff11}27.0.0.1", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
            ("[2001:DB8:0:0:0:0:0:1]:8080", "[2001:db8::1]:8080"),
            ("[::ffff:10.0.0.5]:5432", "10.0.0.5:5432"),
            ("[::FFFF:0a00:5]", "10.0.0.5"),
        ] {
            assert_eq!(pattern(spelling).to_string(), canonical, "{spelling}");
            assert_eq!(pattern(canonical).to_string(), canonical);
        }
        assert!(pattern("b\u{fc}cher.example").matches("XN--bcher-kva.example."));
    }

    #[test]
    fn denied_hosts_are_subtracted() {
        let filter = HostFilter {
            allowed: [pattern("*.example")].into(),
            denied: [pattern("evil.example"), pattern("*.evil.example")].into(),
        };
        assert!(
            filter.allows("good.example", 443)
                && !filter.allows("good.example", 8_443)
                && !filter.allows("EVIL.example.", 443)
                && !filter.allows("x.evil.example", 443)
                && !filter.allows("other", 443)
        );
    }

    #[test]
    fn a_port_is_allowed_only_by_its_name_and_denied_with_its_host() {
        let filter = |denied: &[&str]| HostFilter {
            allowed: [pattern("LocalHost:8080"), pattern("*")].into(),
            denied: denied.iter().map(|text| pattern(text)).collect(),
        };
        assert!(filter(&[]).names_service("localhost.", 8_080));
        assert!(!filter(&[]).allows("localhost", 8_081));
        assert!(filter(&[]).allows("localhost", 80) && !filter(&[]).names_service("localhost", 80));
        for denied in ["localhost:8080", "localhost", "*"] {
            assert!(!filter(&[denied]).allows("localhost", 8_080), "{denied}");
            assert!(
                pattern(denied).denies(&pattern("localhost:8080")),
                "{denied}"
            );
        }
        assert!(filter(&["localhost:8081"]).allows("localhost", 8_080));
        assert!(!pattern("localhost:80").denies(&pattern("localhost")));
        assert!(!filter(&["localhost:80"]).allows("localhost", 80));
    }
}
