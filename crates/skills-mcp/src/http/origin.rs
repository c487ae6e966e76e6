//! Allowed origins of web pages.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HeaderMap, ORIGIN};

use super::error::{HttpError, Repr};
use super::headers::single_value;
use super::host::Host;
use super::rejection::Rejection;

/// The origins that a request may come from. A request without `Origin` does not come from a
/// browser and is accepted.
#[derive(Debug, Clone)]
pub(super) struct AllowedOrigins(Vec<OriginPattern>);

impl AllowedOrigins {
    /// Creates the list for an address: local pages if it is loopback, and the configured origins.
    pub(super) fn new(address: IpAddr, configured: &[String]) -> Result<Self, HttpError> {
        let local = if address.is_loopback() {
            ["localhost", "127.0.0.1", "::1"].as_slice()
        } else {
            &[]
        };
        let mut patterns: Vec<_> = local
            .iter()
            .map(|name| OriginPattern {
                scheme: "http".to_owned(),
                host: (*name).to_owned(),
                port: None,
            })
            .collect();
        for text in configured {
            patterns.push(
                OriginPattern::parse(text)
                    .ok_or_else(|| Repr::InvalidOrigin { text: text.clone() })?,
            );
        }
        Ok(Self(patterns))
    }

    /// Rejects requests of other origins, and of opaque ones (`null`).
    fn check(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let Some(origin) = single_value(headers, &ORIGIN)? else {
            return Ok(());
        };
        let origin = origin
            .to_str()
            .ok()
            .and_then(Origin::parse)
            .ok_or(Rejection::OriginNotAllowed)?;
        if self.0.iter().any(|pattern| pattern.allows(&origin)) {
            Ok(())
        } else {
            Err(Rejection::OriginNotAllowed)
        }
    }
}

#[derive(Debug, Clone)]
struct OriginPattern {
    scheme: String,
    host: String,
    /// `None` allows any port.
    port: Option<u16>,
}

impl OriginPattern {
    fn parse(text: &str) -> Option<Self> {
        let (text, any_port) = text
            .strip_suffix(":*")
            .map_or((text, false), |text| (text, true));
        let Origin { scheme, host } = Origin::parse(text)?;
        let port = match (any_port, host.port) {
            (true, None) => None,
            // `host:80:*` has two ports.
            (true, Some(_)) => return None,
            (false, port) => Some(port.or_else(|| default_port(&scheme))?),
        };
        Some(Self {
            scheme,
            host: host.name,
            port,
        })
    }

    fn allows(&self, origin: &Origin) -> bool {
        // Browsers omit the default port.
        let port = || origin.host.port.or_else(|| default_port(&origin.scheme));
        self.scheme == origin.scheme
            && self.host == origin.host.name
            && (self.port.is_none() || self.port == port())
    }
}

struct Origin {
    scheme: String,
    host: Host,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_valid_scheme = !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        let host = Host::parse(host)?;
        is_valid_scheme.then(|| Self {
            scheme: scheme.to_ascii_lowercase(),
            host,
        })
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Layer that rejects requests of other origins.
pub(super) async fn check(
    State(origins): State<Arc<AllowedOrigins>>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    origins.check(request.headers())?;
    Ok(next.run(request).await)
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
