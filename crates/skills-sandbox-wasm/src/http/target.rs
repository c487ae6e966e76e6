//! The target of a request: parsed once, from the URI.

use http::uri::{PathAndQuery, Scheme};
use http::{Method, Uri};
use skills_egress::{Authority, HTTP_PORT, RejectReason, TLS_PORT};
use wasmtime_wasi_http::Error;

use super::failure::HttpFailure;

/// The target of a request. After parsing, the text that the program wrote is not used any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The host and its port.
    pub(super) authority: Authority,
    pub(super) security: Security,
    pub(super) path: PathAndQuery,
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Security {
    /// Plain HTTP.
    Plain,
    /// TLS with a valid certificate.
    Tls,
}

impl Target {
    /// Parses the URI of a request. The port must not be the default of the other scheme.
    pub(super) fn from_uri(method: &Method, uri: &Uri) -> Result<Self, HttpFailure> {
        // No tunnels, and no responses that echo the fields set by the host.
        if ["CONNECT", "TRACE"]
            .iter()
            .any(|name| method.as_str().eq_ignore_ascii_case(name))
        {
            return Err(HttpFailure::malformed(
                Error::HttpRequestMethodInvalid,
                "method is not allowed",
            ));
        }
        // The scheme decides, so plain HTTP never reaches the port of TLS.
        let (security, port, other) = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => (Security::Tls, TLS_PORT, HTTP_PORT),
            Some(scheme) if *scheme == Scheme::HTTP => (Security::Plain, HTTP_PORT, TLS_PORT),
            _ => {
                return Err(HttpFailure::malformed(
                    Error::HttpProtocolError,
                    "scheme other than `http` and `https`",
                ));
            }
        };
        let text = uri
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let Some(authority) = text.and_then(|text| Authority::parse(text, Some(port))) else {
            return Err(HttpFailure::new(
                Error::HttpRequestUriInvalid,
                RejectReason::InvalidHost,
            ));
        };
        if authority.port == other {
            return Err(HttpFailure::new(
                Error::HttpRequestDenied,
                RejectReason::PortNotAllowed {
                    port: authority.port,
                },
            ));
        }
        Ok(Self {
            authority,
            security,
            path: path_and_query(uri)?,
        })
    }
}

/// Returns the path to send, which begins with `/`, so that the request line cannot name a host.
fn path_and_query(uri: &Uri) -> Result<PathAndQuery, HttpFailure> {
    let text = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let slash = if text.is_empty() || text.starts_with('?') {
        "/"
    } else {
        ""
    };
    let text = format!("{slash}{text}");
    // A space or a line break would end the request line.
    let is_plain = text.starts_with('/')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
    let path = Some(text)
        .filter(|_| is_plain)
        .and_then(|text| PathAndQuery::try_from(text).ok());
    path.ok_or_else(|| HttpFailure::malformed(Error::HttpRequestUriInvalid, "invalid path"))
}

#[cfg(test)]
mod tests {
    use skills_egress::CloseReason;

    use super::*;

    fn read(method: &str, uri: &str) -> Result<String, Option<RejectReason>> {
        let Ok(uri) = uri.parse::<Uri>() else {
            return Err(None);
        };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        match Target::from_uri(&method, &uri) {
            Ok(target) => Ok(format!(
                "{} {} {}",
                target.authority.host.as_str(),
                target.authority.port,
                target.path
            )),
            Err(HttpFailure {
                reason: CloseReason::Rejected(reason),
                ..
            }) => Err(Some(reason)),
            Err(failure) => panic!("{failure:?}"),
        }
    }

    #[test]
    fn the_parsed_host_is_the_one_connected_to() {
        for (uri, read_as) in [
            ("https://a.example", "a.example 443 /"),
            ("https://A.Example.:443/x?y=1", "a.example 443 /x?y=1"),
            ("HTTP://a.example:80?q", "a.example 80 /?q"),
            (
                "http://xn--bcher-kva.example/",
                "xn--bcher-kva.example 80 /",
            ),
            ("http://93.184.216.34/", "93.184.216.34 80 /"),
            (
                "http://a.example//evil.example/",
                "a.example 80 //evil.example/",
            ),
            (
                "http://a.example/http://evil.example/",
                "a.example 80 /http://evil.example/",
            ),
            ("http://a.example/#@evil.example", "a.example 80 /"),
        ] {
            assert_eq!(read("GET", uri).as_deref(), Ok(read_as), "{uri}");
        }
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for uri in [
            "http://user@a.example/",
            "http://a.example@evil.example/",
            "http://user:a.example@evil.example/",
            "http://evil.example%2f@a.example/",
            "http://a.example%00.evil.example/",
            "http://a%2eexample/",
            "http://a.example:/",
            "http://a.example:080/",
            "http://a.example:+80/",
            "http://a.example:99999/",
            "http://a.example../",
            "http://.a.example/",
            "http://*.example/",
            "http://*/",
            "http://:80/",
            "http://2130706433/",
            "http://017700000001/",
            "http://0x7f000001/",
            "http://127.1/",
            "http://127.0.0.01/",
            "http://0177.0.0.1/",
            "http://[::1",
            "http://[127.0.0.1]/",
            "http://[fe80::1%25eth0]/",
            "http://\u{430}.example/",
            "http://a\u{3002}example/",
            "/only/a/path",
            "a.example:80",
        ] {
            assert!(
                matches!(
                    read("GET", uri),
                    Err(None | Some(RejectReason::InvalidHost | RejectReason::Malformed { .. }))
                ),
                "{uri}: {:?}",
                read("GET", uri)
            );
        }
    }

    #[test]
    fn ports_belong_to_their_schemes() {
        for (uri, port) in [
            ("https://a.example:80/", 80),
            ("http://a.example:443/", 443),
        ] {
            assert_eq!(
                read("GET", uri),
                Err(Some(RejectReason::PortNotAllowed { port })),
                "{uri}"
            );
        }
        // Another port is granted by its number, or rejected before a connection.
        assert_eq!(
            read("GET", "http://localhost:8080/x").as_deref(),
            Ok("localhost 8080 /x")
        );
    }

    #[test]
    fn other_methods_and_schemes_are_rejected() {
        for (method, uri) in [
            ("CONNECT", "https://a.example/"),
            ("connect", "https://a.example/"),
            ("TRACE", "https://a.example/"),
            ("Trace", "https://a.example/"),
            ("GET", "ftp://a.example/"),
            ("GET", "file://a.example/etc/passwd"),
            ("GET", "ws://a.example/"),
        ] {
            assert!(
                matches!(read(method, uri), Err(Some(RejectReason::Malformed { .. }))),
                "{method} {uri}"
            );
        }
        for method in [
            "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND",
        ] {
            assert_eq!(
                read(method, "https://a.example/").as_deref(),
                Ok("a.example 443 /")
            );
        }
    }
}
