//! The options of the client.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::credentials::is_loopback;
use super::private_host::PrivateHost;
use super::roots::{Roots, SystemRoots};
use crate::progress::Progress;

/// Returns the addresses of a host name and port.
pub type Lookup = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// How archives, web sites, registries and MCP servers are reached.
///
/// By default only HTTPS is spoken, with the certificate authorities of Mozilla, and only to public
/// addresses. An address is checked after its name was resolved, and exactly the checked address is
/// connected, for each redirect anew. At most five redirects are followed, none from HTTPS to plain
/// HTTP. Requests have no cookies, no credentials but those of
/// [`Fetcher::use_git_credentials`](crate::Fetcher::use_git_credentials), and the user agent
/// `skills/VERSION`. A server is
/// given up if it cannot be connected within 30 seconds or sends nothing for a minute, and in any
/// case after the time of the [limits](crate::FetchLimits::timeout).
///
/// The environment is not read: a proxy is an argument, and
/// [`system_certificates`](Self::system_certificates) is an option.
///
/// ```
/// use skills_install::{Fetcher, GitOptions, WebOptions};
///
/// let web = WebOptions::new()
///     .proxy("http://proxy.acme.example:3128")
///     .no_proxy([".acme.example"]);
/// let fetcher = Fetcher::new(GitOptions::new("/usr/bin/git")).web(web);
/// ```
#[derive(Clone, Default)]
pub struct WebOptions {
    pub(super) http: bool,
    pub(super) loopback: bool,
    pub(super) private: Vec<PrivateHost>,
    pub(super) proxy: Option<String>,
    pub(super) no_proxy: Vec<String>,
    pub(super) lookup: Option<Lookup>,
    pub(super) roots: Roots,
    pub(super) progress: Progress,
}

impl WebOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also allows plain HTTP, which authenticates no server, for sources that the user wrote with
    /// `http:`, and for the addresses that such a source leads to.
    #[must_use]
    pub fn allow_http(mut self) -> Self {
        self.http = true;
        self
    }

    /// Also allows servers of this machine, by HTTPS and HTTP, if the source itself is on one: a
    /// server elsewhere can never lead to this machine.
    #[must_use]
    pub fn allow_loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// Also allows the private addresses of these hosts, by HTTPS, if the source itself is on one of
    /// them: a server elsewhere can never lead to a private network. Addresses of metadata services and
    /// of this machine stay refused.
    #[must_use]
    pub fn private_hosts(mut self, hosts: impl IntoIterator<Item = PrivateHost>) -> Self {
        self.private = hosts.into_iter().collect();
        self
    }

    /// Returns the scheme for an address without one: `http` for a server of this machine, if those
    /// are allowed.
    pub(crate) fn scheme_for(&self, host: &str) -> &'static str {
        let url = url::Url::parse(&format!("http://{host}/"));
        if self.loopback && url.is_ok_and(|url| is_loopback(&url)) {
            "http"
        } else {
            "https"
        }
    }

    /// Uses a proxy (`http:` or `https:`, with a user name and password if it needs them), by
    /// `CONNECT` for every request. The proxy resolves names, so only the addresses that are written
    /// as numbers are checked here.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Reaches hosts without the proxy: `acme.example` is one host, `.acme.example` all hosts below
    /// it, `*` every host.
    #[must_use]
    pub fn no_proxy(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.no_proxy = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Trusts these certificate authorities instead of those of Mozilla. Each is the DER encoding of
    /// a certificate.
    #[must_use]
    pub fn root_certificates(mut self, certificates: Vec<Vec<u8>>) -> Self {
        self.roots = Roots::Given(certificates);
        self
    }

    /// Trusts the certificate authorities of the operating system instead of those of Mozilla. If
    /// the variable `SSL_CERT_FILE` of this process names a file, or `SSL_CERT_DIR` directories, with
    /// certificates in PEM, exactly those are trusted. They are read once, when a server is first
    /// reached by HTTPS. A system without any has those of Mozilla.
    #[must_use]
    pub fn system_certificates(mut self) -> Self {
        self.roots = Roots::System(SystemRoots::default());
        self
    }

    /// Replaces where progress is reported.
    pub(crate) fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Resolves names by a function instead of the operating system.
    #[must_use]
    pub fn lookup(mut self, lookup: Lookup) -> Self {
        self.lookup = Some(lookup);
        self
    }
}

impl fmt::Debug for WebOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy may have a password.
        f.debug_struct("WebOptions")
            .field("http", &self.http)
            .field("loopback", &self.loopback)
            .field("private", &self.private)
            .field("has_proxy", &self.proxy.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish_non_exhaustive()
    }
}
