//! Allowed host names.

use std::net::IpAddr;

use http::header::HOST;
use http::uri::Authority;

use super::error::{HttpError, Repr};
use super::headers::single_value;
use super::rejection::Rejection;

/// The hosts that a request may name.
///
/// Protects against DNS rebinding: a page can make its own host name resolve to 127.0.0.1, but the
/// browser still sends that name, which is not allowed.
#[derive(Debug, Clone)]
pub(super) struct AllowedHosts(Vec<Host>);

impl AllowedHosts {
    /// Creates the list for an address: the loopback names if it is loopback, and the configured
    /// hosts.
    pub(super) fn new(address: IpAddr, configured: &[String]) -> Result<Self, HttpError> {
        let local = ["localhost", "127.0.0.1", "[::1]"];
        let hosts = local
            .into_iter()
            .filter(|_| address.is_loopback())
            .chain(configured.iter().map(String::as_str))
            .map(|text| {
                let invalid = || Repr::InvalidHost {
                    text: text.to_owned(),
                };
                Host::parse(text).ok_or_else(invalid)
            });
        let mut hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        if address.is_loopback() {
            hosts.push(Host {
                name: address.to_string(),
                port: None,
            });
        }
        Ok(Self(hosts))
    }

    /// Rejects requests with no host, several hosts, or one that is not allowed.
    pub(super) fn check<B>(&self, request: &http::Request<B>) -> Result<(), Rejection> {
        let named = single_value(request.headers(), &HOST)?.and_then(|host| host.to_str().ok());
        let named = named.and_then(Host::parse).ok_or(Rejection::MissingHost)?;
        // An absolute request target overrides the header, so both must be allowed.
        let target = request.uri().authority().map(Host::from_authority);
        if self.allows(&named) && target.is_none_or(|target| self.allows(&target)) {
            Ok(())
        } else {
            Err(Rejection::HostNotAllowed)
        }
    }

    fn allows(&self, host: &Host) -> bool {
        self.0.iter().any(|allowed| {
            allowed.name == host.name && allowed.port.is_none_or(|port| host.port == Some(port))
        })
    }
}

/// A lowercase name, without the brackets of an IPv6 address, and an optional port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl Host {
    /// Parses `name`, `name:port`, `[address]` or `[address]:port`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let is_plain =
            !text.contains('@') && !authority.host().is_empty() && !authority.host().contains('*');
        // `name:` and `name:99999` have a colon, but no valid port.
        let has_valid_port = authority.host().len() == text.len() || authority.port_u16().is_some();
        (is_plain && has_valid_port).then(|| Self::from_authority(&authority))
    }

    fn from_authority(authority: &Authority) -> Self {
        let name = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        Self {
            // Host names are compared without case.
            name: name.to_ascii_lowercase(),
            port: authority.port_u16(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn check(hosts: &AllowedHosts, named: &[&str], target: &str) -> bool {
        let request = named
            .iter()
            .fold(http::Request::builder().uri(target), |request, host| {
                request.header(HOST, *host)
            });
        hosts.check(&request.body(()).unwrap()).is_ok()
    }

    #[test]
    fn loopback_names_are_allowed_with_any_port() {
        let hosts = AllowedHosts::new(
            Ipv4Addr::new(127, 0, 0, 9).into(),
            &["Tools.example:8443".to_owned()],
        )
        .unwrap();
        for good in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "[::1]",
            "127.0.0.9:3",
            "tools.example:8443",
        ] {
            assert!(check(&hosts, &[good], "/mcp"), "{good}");
        }
        let bad = [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "tools.example",
            "tools.example:443",
            "user@localhost",
        ];
        for bad in bad.into_iter().chain([
            "",
            "localhost:",
            "localhost:99999",
            "localhost/",
            "192.168.0.1",
        ]) {
            assert!(!check(&hosts, &[bad], "/mcp"), "{bad}");
        }
    }

    #[test]
    fn the_header_and_the_target_must_name_an_allowed_host() {
        let hosts = AllowedHosts::new(Ipv6Addr::LOCALHOST.into(), &[]).unwrap();
        assert!(check(&hosts, &["localhost:80"], "http://localhost:80/mcp"));
        assert!(!check(&hosts, &["localhost:80"], "http://evil.example/mcp"));
        assert!(
            !check(&hosts, &["localhost", "evil.example"], "/mcp"),
            "several"
        );
        assert!(
            !check(&hosts, &["localhost", "localhost"], "/mcp"),
            "the same twice"
        );
        assert!(!check(&hosts, &[], "/mcp"), "none");
    }

    #[test]
    fn other_addresses_allow_configured_names_only() {
        let hosts =
            AllowedHosts::new(Ipv4Addr::UNSPECIFIED.into(), &["tools.example".to_owned()]).unwrap();
        assert!(
            check(&hosts, &["tools.example"], "/mcp")
                && check(&hosts, &["tools.example:8443"], "/mcp")
        );
        assert!(!check(&hosts, &["localhost"], "/mcp") && !check(&hosts, &["0.0.0.0"], "/mcp"));
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for bad in [
            "",
            "*",
            "*.example",
            "a b",
            "http://example",
            "example:",
            "example:99999",
            "user@example",
            "example/mcp",
        ] {
            assert!(
                AllowedHosts::new(Ipv4Addr::LOCALHOST.into(), &[bad.to_owned()]).is_err(),
                "{bad}"
            );
        }
    }
}
