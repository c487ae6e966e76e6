//! Allowed origins of web pages.

use std::net::IpAddr;

use http::header::{HeaderMap, ORIGIN};

use super::error::{HttpError, Repr};
use super::headers::single_value;
use super::host::Host;
use super::rejection::Rejection;

/// The origins that a request may come from. A request without `Origin` does not come from a
/// browser and is accepted.
#[derive(Debug, Clone)]
pub(super) struct AllowedOrigins(Vec<Origin>);

impl AllowedOrigins {
    /// Creates the list for an address: local pages if it is loopback, and the configured origins.
    pub(super) fn new(address: IpAddr, configured: &[String]) -> Result<Self, HttpError> {
        let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let patterns = local
            .into_iter()
            .filter(|_| address.is_loopback())
            .chain(configured.iter().map(String::as_str))
            .map(|text| {
                let invalid = || Repr::InvalidOrigin {
                    text: text.to_owned(),
                };
                Origin::parse_pattern(text).ok_or_else(invalid)
            });
        Ok(Self(patterns.collect::<Result<_, _>>()?))
    }

    /// Rejects requests of other origins, and of opaque ones (`null`).
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let Some(origin) = single_value(headers, &ORIGIN)? else {
            return Ok(());
        };
        let origin = origin.to_str().ok().and_then(Origin::parse);
        if origin.is_some_and(|origin| self.0.iter().any(|pattern| pattern.allows(&origin))) {
            Ok(())
        } else {
            Err(Rejection::OriginNotAllowed)
        }
    }
}

/// An origin, or a pattern of origins.
#[derive(Debug, Clone)]
struct Origin {
    scheme: String,
    host: String,
    /// In a pattern, `None` allows any port.
    port: Option<u16>,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_scheme_character = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
        if scheme.is_empty() || !scheme.bytes().all(is_scheme_character) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let host = Host::parse(host)?;
        // Browsers omit the default port.
        let port = host.port.or(match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Some(Self {
            scheme,
            host: host.name,
            port,
        })
    }

    /// Parses an origin with a known port, or with `*` for any port.
    fn parse_pattern(text: &str) -> Option<Self> {
        let Some(text) = text.strip_suffix(":*") else {
            return Self::parse(text).filter(|origin| origin.port.is_some());
        };
        // With another port, so that `host:80:*`, which has two, is invalid.
        let origin = Self::parse(&format!("{text}:0"))?;
        Some(Self {
            port: None,
            ..origin
        })
    }

    fn allows(&self, origin: &Self) -> bool {
        self.scheme == origin.scheme
            && self.host == origin.host
            && (self.port.is_none() || self.port == origin.port)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn check(address: Ipv4Addr, given: &[&str], origin: &str) -> bool {
        let given: Vec<_> = given.iter().map(|&text| text.to_owned()).collect();
        let headers = HeaderMap::from_iter([(ORIGIN, origin.parse().unwrap())]);
        AllowedOrigins::new(address.into(), &given)
            .unwrap()
            .check(&headers)
            .is_ok()
    }

    #[test]
    fn local_origins_are_allowed_on_loopback() {
        for good in [
            "http://localhost:6274",
            "http://localhost",
            "http://127.0.0.1:3000",
            "http://[::1]:80",
            "HTTP://LocalHost:1",
        ] {
            assert!(check(Ipv4Addr::LOCALHOST, &[], good), "{good}");
            assert!(
                !check(Ipv4Addr::UNSPECIFIED, &[], good),
                "{good}, but the server is not on loopback"
            );
        }
        let bad = [
            "null",
            "",
            "http://evil.example",
            "https://localhost:6274",
            "http://localhost.evil.example",
            "http://localhost:1/x",
        ];
        for bad in bad.into_iter().chain([
            "http://user@localhost",
            "localhost",
            "http://",
            "file://",
            "http://localhost:*",
        ]) {
            assert!(!check(Ipv4Addr::LOCALHOST, &[], bad), "{bad}");
        }
        assert!(
            AllowedOrigins::new(Ipv4Addr::LOCALHOST.into(), &[])
                .unwrap()
                .check(&HeaderMap::new())
                .is_ok(),
            "no browser"
        );
    }

    #[test]
    fn configured_origins_are_allowed_with_their_port() {
        let given = [
            "https://a.example",
            "https://b.example:8443",
            "http://c.example:*",
        ];
        for good in [
            "https://a.example",
            "https://a.example:443",
            "https://b.example:8443",
            "http://c.example:9",
        ] {
            assert!(check(Ipv4Addr::UNSPECIFIED, &given, good), "{good}");
        }
        for bad in [
            "http://a.example",
            "https://a.example:444",
            "https://b.example",
            "https://c.example:9",
        ] {
            assert!(!check(Ipv4Addr::UNSPECIFIED, &given, bad), "{bad}");
        }
    }

    #[test]
    fn invalid_origins_are_rejected() {
        for bad in [
            "null",
            "*",
            "",
            "a.example",
            "https://",
            "https://*",
            "https://a.example/",
            "https://a.example:1:*",
            "app://a",
        ] {
            assert!(
                AllowedOrigins::new(Ipv4Addr::LOCALHOST.into(), &[bad.to_owned()]).is_err(),
                "{bad}"
            );
        }
    }
}
