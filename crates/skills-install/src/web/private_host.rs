//! Hosts whose private addresses may be connected.

use std::fmt;
use std::str::FromStr;

/// A host, at one port or at any, whose addresses need not be public.
///
/// ```
/// use skills_install::PrivateHost;
///
/// let host: PrivateHost = "git.acme.example:8443".parse()?;
/// assert_eq!(host.to_string(), "git.acme.example:8443");
/// assert!("https://git.acme.example".parse::<PrivateHost>().is_err());
/// assert!("*.acme.example".parse::<PrivateHost>().is_err());
/// # Ok::<(), skills_install::InvalidHost>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateHost {
    host: url::Host,
    port: Option<u16>,
}

/// The text is not a host with or without a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST or HOST:PORT, such as git.acme.example or 10.0.0.7:8443")]
pub struct InvalidHost;

impl PrivateHost {
    /// Returns true for a host of a URL and its port.
    pub(crate) fn contains(&self, host: &str, port: u16) -> bool {
        let is_port = self.port.is_none_or(|own| own == port);
        is_port && url::Host::parse(host).is_ok_and(|host| host == self.host)
    }
}

impl FromStr for PrivateHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // The last part of an address in brackets ends with one.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if is_number(port) => {
                (host, Some(port.parse().map_err(|_| InvalidHost)?))
            }
            _ => (text, None),
        };
        let host = url::Host::parse(host).map_err(|_| InvalidHost)?;
        match &host {
            url::Host::Domain(name) if name.contains('*') => Err(InvalidHost),
            _ => Ok(Self { host, port }),
        }
    }
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => write!(f, "{}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_optional() {
        let contains = |text: &str, host: &str, port| {
            let parsed: PrivateHost = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
            parsed.contains(host, port)
        };
        assert!(contains("git.example", "git.example", 443));
        assert!(contains("git.example:443", "GIT.example", 443));
        assert!(!contains("git.example:443", "git.example", 8443));
        assert!(!contains("git.example", "a.git.example", 443));
        assert!(contains("10.0.0.1:80", "10.0.0.1", 80));
        assert!(contains("[fd00::1]:80", "[fd00::1]", 80));
        assert!(contains("[fd00::1]", "[fd00::1]", 443));
        for text in [
            "",
            ":80",
            "a b",
            "a/b",
            "a@b",
            "a:99999",
            "*.example",
            "fd00::1",
        ] {
            assert_eq!(text.parse::<PrivateHost>(), Err(InvalidHost), "{text}");
        }
    }
}
