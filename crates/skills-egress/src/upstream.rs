//! The proxies of the user, by which a machine reaches other hosts.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::host::{Authority, HTTP_PORT, Host, split_port};

/// The variables of the proxy for TLS and of that for HTTP; the first one that is set counts.
const TLS_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const HTTP_VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"];
const EXCEPTION_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// A variable of a CGI program, in which a client sets `HTTP_PROXY` by a header of its request.
const CGI_VARIABLE: &str = "REQUEST_METHOD";
/// The maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 16 * 1024;
/// The maximum length of user name and password, in bytes.
const MAX_CREDENTIAL_BYTES: usize = 1024;

/// The proxies that the user names in `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, and the hosts
/// that are reached without them (`NO_PROXY`). Default: none.
///
/// Programs never see them. A host that is granted is reached through one, since a company may
/// leave no other way out; such a proxy resolves names itself, so more is refused than without it:
/// see [`HostConnector::authorize`](crate::HostConnector::authorize).
///
/// ```
/// use skills_egress::UpstreamProxies;
///
/// let variables = [("https_proxy", "http://ada:secret@proxy.corp.example:3128"), ("NO_PROXY", ".corp.example")];
/// let (proxies, invalid) = UpstreamProxies::from_variables(|name| {
///     let found = variables.iter().find(|(known, _)| *known == name);
///     found.map(|(_, value)| (*value).to_owned())
/// });
/// assert!(invalid.is_empty());
/// assert!(!format!("{proxies:?}").contains("secret"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamProxies {
    tls: Option<Arc<UpstreamProxy>>,
    http: Option<Arc<UpstreamProxy>>,
    exceptions: Vec<Exception>,
}

/// An HTTP proxy, with the credentials of the user for it, which `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    authority: Authority,
    authorization: Option<String>,
}

/// A variable that names a proxy in a way that is not supported. The message does not contain its
/// value, which can have a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidProxy {
    variable: &'static str,
    reason: &'static str,
}

/// Hosts that are reached without a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    All,
    /// A name and all names below it, at one port or all.
    Domain(String, Option<u16>),
    /// The addresses that begin with these bits.
    Network(IpAddr, u32),
}

impl UpstreamProxies {
    /// Reads the variables of a user's environment. `value` returns that of a name. A proxy that is
    /// not supported is left out and reported: one that is not reached by HTTP, such as
    /// `socks5://`.
    #[must_use]
    pub fn from_variables(value: impl Fn(&str) -> Option<String>) -> (Self, Vec<InvalidProxy>) {
        let mut invalid = Vec::new();
        let is_cgi = value(CGI_VARIABLE).is_some();
        let mut read = |names: &[&'static str]| {
            let mut names = names
                .iter()
                .filter(|name| !(is_cgi && **name == "HTTP_PROXY"));
            let (variable, text) = names.find_map(|name| Some((*name, non_empty(value(name))?)))?;
            match UpstreamProxy::parse(&text) {
                Ok(proxy) => Some(Arc::new(proxy)),
                Err(reason) => {
                    let problem = InvalidProxy { variable, reason };
                    if !invalid.contains(&problem) {
                        invalid.push(problem);
                    }
                    None
                }
            }
        };
        let (tls, http) = (read(&TLS_VARIABLES), read(&HTTP_VARIABLES));
        let exceptions = EXCEPTION_VARIABLES
            .iter()
            .find_map(|name| non_empty(value(name)));
        let exceptions = exceptions.as_deref().unwrap_or_default();
        let proxies = Self {
            tls,
            http,
            exceptions: exceptions
                .split(|c: char| c == ',' || c.is_ascii_whitespace())
                .filter_map(Exception::parse)
                .collect(),
        };
        (proxies, invalid)
    }

    /// Returns true if no host is reached through a proxy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tls.is_none() && self.http.is_none()
    }

    /// Returns the proxy for a port of a host. This machine and private addresses are never reached
    /// through one: there, they would be those of the proxy.
    pub(crate) fn find(&self, host: &Host, port: u16) -> Option<&Arc<UpstreamProxy>> {
        if host.is_private() || self.exceptions.iter().any(|known| known.has(host, port)) {
            return None;
        }
        match port {
            HTTP_PORT => self.http.as_ref(),
            _ => self.tls.as_ref(),
        }
    }
}

impl UpstreamProxy {
    /// Parses `[http://][USER[:PASSWORD]@]HOST[:PORT][/]`.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err("it is not one of the scheme `http`"),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // A password may contain an `@`, a host does not.
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, rest),
        };
        let authority = Authority::parse(authority.as_bytes(), Some(HTTP_PORT));
        Ok(Self {
            authority: authority.ok_or("it has no valid host and port")?,
            authorization: user.map(basic_authorization).transpose()?,
        })
    }

    /// Returns the host and the port of the proxy.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns the value of the field `Proxy-Authorization`, which only the proxy may get.
    #[must_use]
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamProxy")
            .field("authority", &self.authority)
            .field("has_credentials", &self.authorization.is_some())
            .finish()
    }
}

impl fmt::Display for InvalidProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, reason } = self;
        write!(f, "cannot use the proxy of `{variable}`: {reason}")
    }
}

impl Exception {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address))?;
            return Some(Self::Network(address, bits));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Network(address, width(address)));
        }
        let text = text.strip_prefix('*').unwrap_or(text);
        let (name, port) = split_port(text.strip_prefix('.').unwrap_or(text).as_bytes());
        let host = Host::parse(name)?;
        let port = match port {
            Some(_) => Some(Authority::parse(text.trim_start_matches('.').as_bytes(), None)?.port),
            None => None,
        };
        Some(Self::Domain(host.as_str().to_owned(), port))
    }

    fn has(&self, host: &Host, port: u16) -> bool {
        match self {
            Self::All => true,
            Self::Domain(name, only) => {
                only.is_none_or(|only| only == port) && is_at_or_below(host.as_str(), name)
            }
            Self::Network(network, bits) => host
                .address()
                .is_some_and(|address| has_prefix(address, *network, *bits)),
        }
    }
}

fn is_at_or_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn has_prefix(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let to_bits = |address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let ignored = width(network) - bits;
    let prefix = |address| to_bits(address).checked_shr(ignored).unwrap_or(0);
    width(address) == width(network) && prefix(address) == prefix(network)
}

/// Returns the value of the field for `USER[:PASSWORD]`, with percent encoding.
fn basic_authorization(user: &str) -> Result<String, &'static str> {
    let invalid = "it has an invalid user or password";
    if user.len() > MAX_CREDENTIAL_BYTES {
        return Err(invalid);
    }
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let [user, password] = [user, password].map(|text| percent_decode_str(text).decode_utf8());
    let (Ok(user), Ok(password)) = (user, password) else {
        return Err(invalid);
    };
    // The first colon would end the name.
    if user.contains(':') {
        return Err(invalid);
    }
    // Encoded, so that no character of it can end the field.
    Ok(format!(
        "Basic {}",
        STANDARD.encode(format!("{user}:{password}"))
    ))
}

fn non_empty(value: Option<String>) -> Option<String> {
    let value = value.filter(|value| value.len() <= MAX_VALUE_BYTES)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (UpstreamProxies, Vec<InvalidProxy>) {
        UpstreamProxies::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn proxy_of(proxies: &UpstreamProxies, host: &str, port: u16) -> Option<String> {
        let proxy = proxies.find(&Host::parse(host.as_bytes()).unwrap(), port)?;
        Some(proxy.authority().host.field_text(proxy.authority().port))
    }

    #[test]
    fn each_spelling_of_the_variables_is_read() {
        for (variable, tls, http) in [
            ("HTTPS_PROXY", true, false),
            ("https_proxy", true, false),
            ("HTTP_PROXY", false, true),
            ("http_proxy", false, true),
            ("ALL_PROXY", true, true),
            ("all_proxy", true, true),
        ] {
            let (proxies, invalid) = read(&[(variable, "http://proxy:3128/")]);
            assert_eq!(invalid, []);
            for (port, is_set) in [(443, tls), (80, http), (8443, tls)] {
                let expected = is_set.then(|| "proxy:3128".to_owned());
                assert_eq!(
                    proxy_of(&proxies, "a.example", port),
                    expected,
                    "{variable}"
                );
            }
        }
        let (proxies, _) = read(&[("HTTPS_PROXY", " "), ("https_proxy", "10.0.0.1")]);
        assert_eq!(
            proxy_of(&proxies, "a.example", 443).as_deref(),
            Some("10.0.0.1")
        );
        let of_request = [("HTTP_PROXY", "http://evil:1"), (CGI_VARIABLE, "GET")];
        assert!(read(&of_request).0.is_empty());
    }

    #[test]
    fn exceptions_are_reached_directly() {
        let exceptions = "corp.example, .dot.example *.star.example\tport.example:8443,93.184.0.0/16,2001:4860::/32,1.1.1.1,/,x/y,1.2.3.4/33,a b@c";
        let (proxies, _) = read(&[("ALL_PROXY", "proxy:1"), ("no_proxy", exceptions)]);
        for (host, port, is_direct) in [
            ("corp.example", 443, true),
            ("a.corp.example", 443, true),
            ("acorp.example", 443, false),
            ("dot.example", 443, true),
            ("a.star.example", 80, true),
            ("port.example", 8443, true),
            ("port.example", 443, false),
            ("93.184.216.34", 443, true),
            ("93.185.216.34", 443, false),
            ("[2001:4860::1]", 443, true),
            ("[2001:4861::1]", 443, false),
            ("1.1.1.1", 443, true),
            ("1.1.1.2", 443, false),
            ("b.example", 443, false),
            // Always.
            ("localhost", 80, true),
            ("a.localhost", 80, true),
            ("127.0.0.1", 8080, true),
            ("10.0.0.1", 8443, true),
            ("169.254.169.254", 80, true),
            ("[::1]", 80, true),
        ] {
            assert_eq!(
                proxy_of(&proxies, host, port).is_none(),
                is_direct,
                "{host}:{port}"
            );
        }
        let all = read(&[("ALL_PROXY", "proxy:1"), ("NO_PROXY", "*")]).0;
        assert_eq!(proxy_of(&all, "a.example", 443), None);
    }

    #[test]
    fn credentials_are_decoded_and_shown_nowhere() {
        let value = |text: &str| {
            let (proxies, invalid) = read(&[("HTTPS_PROXY", text)]);
            let shown = format!("{proxies:?} {invalid:?}");
            let shown = invalid
                .iter()
                .fold(shown, |shown, problem| format!("{shown} {problem}"));
            assert!(!shown.contains("secret"), "{shown}");
            proxies.tls.map(|proxy| proxy.authorization.clone())
        };
        let basic = |text: &str| Some(Some(format!("Basic {}", STANDARD.encode(text))));
        assert_eq!(value("http://proxy:1"), Some(None));
        assert_eq!(value("http://ada:secret@proxy:1"), basic("ada:secret"));
        assert_eq!(value("http://secret@proxy:1"), basic("secret:"));
        assert_eq!(value("ada:secret@x%40@proxy:1"), basic("ada:secret@x@"));
        // A line break of a password ends no field.
        assert_eq!(
            value("http://a:secret%0d%0aX:y@proxy:1"),
            basic("a:secret\r\nX:y")
        );
        for invalid in [
            "socks5://ada:secret@proxy:1",
            "https://ada:secret@proxy:1",
            "http://ada:secret@",
            "http://ada:secret@proxy:0",
            "http://ada:secret@proxy:99999",
            "http://ada:secret@proxy:1/path",
            "http://ada:secret@127.1:1",
            "http://ada:secret@a b:1",
            "http://a%3ab:secret@proxy:1",
            "http://%ff:secret@proxy:1",
            "http://ada:secret@proxy:1\r\nX: y",
            &format!("http://{}:secret@proxy:1", "a".repeat(MAX_CREDENTIAL_BYTES)),
        ] {
            assert_eq!(value(invalid), None, "{invalid}");
        }
    }
}
