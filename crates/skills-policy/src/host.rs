//! Names of hosts, and patterns of them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// The longest name of a host (RFC 1035).
const MAX_NAME_BYTES: usize = 253;
/// The longest part of one.
const MAX_LABEL_BYTES: usize = 63;

/// A host, all hosts below a domain, or all hosts.
///
/// Written as `api.example.com`, `*.example.com` (which is not `example.com` itself) and `*`. Kept
/// in lower case, without a final dot. No scheme, port or path; names in other scripts are written
/// in their ASCII form (`xn--…`).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct HostPattern(Kind);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Exact(String),
    /// All below this domain.
    Subdomains(String),
    Any,
}

impl HostPattern {
    /// All hosts.
    pub const ANY: Self = Self(Kind::Any);

    /// Says whether a host fits; it is compared without regard to case and final dot.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        normalize_name(host).is_some_and(|host| self.covers(&Self(Kind::Exact(host))))
    }

    /// Says whether every host that fits `other` fits this as well.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Any, _) => true,
            (Kind::Exact(name), Kind::Exact(other)) => name == other,
            (Kind::Subdomains(domain), Kind::Exact(other)) => is_below(other, domain),
            (Kind::Subdomains(domain), Kind::Subdomains(other)) => {
                other == domain || is_below(other, domain)
            }
            (_, Kind::Any) | (Kind::Exact(_), Kind::Subdomains(_)) => false,
        }
    }
}

/// No part of a [`name`] is empty, so that there is a name before the dot.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.ends_with('.'))
}

/// Returns the name in lower case without a final dot; nothing when it is none.
fn normalize_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let inside = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        inside
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
        let wrong = || {
            PolicyError::from(Repr::Host {
                text: text.to_owned(),
            })
        };
        match text.strip_prefix("*.") {
            _ if text == "*" => Ok(Self::ANY),
            Some(domain) => normalize_name(domain)
                .map(Kind::Subdomains)
                .map(Self)
                .ok_or_else(wrong),
            None => normalize_name(text)
                .map(Kind::Exact)
                .map(Self)
                .ok_or_else(wrong),
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

/// The hosts that may be reached: those that fit one of `allowed` and none of `denied`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct HostFilter {
    pub(crate) allowed: BTreeSet<HostPattern>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) denied: BTreeSet<HostPattern>,
}

impl HostFilter {
    /// Says whether a host may be reached. What its name leads to is the backend's affair: private
    /// addresses never are.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|pattern| pattern.matches(host))
            && !self.denied.iter().any(|pattern| pattern.matches(host))
    }

    /// Returns the patterns of which a host must fit one.
    #[must_use]
    pub fn allowed(&self) -> &BTreeSet<HostPattern> {
        &self.allowed
    }

    /// Returns the patterns of which a host must fit none.
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
    fn what_is_no_name_is_refused() {
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
    fn a_list_takes_denied_hosts_out() {
        let list = HostFilter {
            allowed: [pattern("*.example")].into(),
            denied: [pattern("evil.example"), pattern("*.evil.example")].into(),
        };
        assert!(
            list.allows("good.example")
                && !list.allows("EVIL.example.")
                && !list.allows("x.evil.example")
                && !list.allows("other")
        );
    }
}
