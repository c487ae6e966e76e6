//! Host names and host patterns.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// Maximum length of a host name (RFC 1035).
const MAX_NAME_BYTES: usize = 253;
/// Maximum length of a label, the part between two dots.
const MAX_LABEL_BYTES: usize = 63;

/// A pattern of host names: one host, all hosts below a domain, or all hosts.
///
/// Written as `api.example.com`, `*.example.com` (which does not match `example.com` itself) and
/// `*`, without scheme, port or path. Normalized to lowercase without a final dot. Names in other
/// scripts are written in their ASCII form (`xn--…`): a rule and a request must not look alike and
/// mean different hosts.
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
    /// All hosts below this domain.
    Subdomains(String),
    Any,
}

impl HostPattern {
    /// The pattern that matches all hosts, written `*`.
    pub const ANY: Self = Self(Kind::Any);

    /// Returns true if a host name matches. Case and a final dot are ignored; text that is not a
    /// host name matches nothing.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        normalize_name(host).is_some_and(|host| self.covers(&Self(Kind::Exact(host))))
    }

    /// Returns true if every host that matches `other` matches `self`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
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
}

/// Returns true if `host` is strictly below `domain`.
fn is_below(host: &str, domain: &str) -> bool {
    // Labels are never empty, so there is a label before the dot; the dot itself is required, since
    // `evilexample.com` is not below `example.com`.
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.ends_with('.'))
}

/// Returns the name in lowercase without a final dot; `None` if it is not a host name.
fn normalize_name(text: &str) -> Option<String> {
    // `a.example.` is the same host in absolute form; a rule must match both.
    let text = text.strip_suffix('.').unwrap_or(text);
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
    (text.len() <= MAX_NAME_BYTES && text.split('.').all(is_label))
        .then(|| text.to_ascii_lowercase())
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
            Some(domain) => normalize_name(domain)
                .map(Kind::Subdomains)
                .map(Self)
                .ok_or_else(invalid),
            None => normalize_name(text)
                .map(Kind::Exact)
                .map(Self)
                .ok_or_else(invalid),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Exact(name) => f.write_str(name),
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
    /// Returns true if the filter allows a host name. The backend additionally checks the addresses
    /// that the name resolves to: private ones are never allowed.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|pattern| pattern.matches(host))
            && !self.denied.iter().any(|pattern| pattern.matches(host))
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
            "a.example:443",
            "a.example/x",
            "a@b",
            "a..b",
            "*a.example",
            "a.*.b",
            "-a.b",
            "ä.example",
            "a b",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
            assert!(!HostPattern::ANY.matches(text), "{text}");
        }
        assert!(pattern("127.0.0.1").matches("127.0.0.1"));
    }

    #[test]
    fn denied_hosts_are_subtracted() {
        let filter = HostFilter {
            allowed: [pattern("*.example")].into(),
            denied: [pattern("evil.example"), pattern("*.evil.example")].into(),
        };
        assert!(
            filter.allows("good.example")
                && !filter.allows("EVIL.example.")
                && !filter.allows("x.evil.example")
                && !filter.allows("other")
        );
    }
}
