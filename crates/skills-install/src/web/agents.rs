//! What makes the connections of a client.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Proxy, ProxyProtocol};
use url::Url;

use super::resolver::CheckedResolver;
use super::roots::{NoAuthorities, Roots};

/// How long a name may take to be resolved and a connection to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server may send nothing.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(60);
const USER_AGENT: &str = concat!("skills/", env!("CARGO_PKG_VERSION"));

/// One agent for plain HTTP, and one for TLS: only that one needs certificate authorities, which
/// take time to read.
pub(super) struct Agents {
    resolver: CheckedResolver,
    proxy: Option<Proxy>,
    roots: Roots,
    plain: OnceCell<Agent>,
    tls: OnceCell<Agent>,
}

impl Agents {
    pub(super) fn new(resolver: CheckedResolver, proxy: Option<Proxy>, roots: Roots) -> Self {
        Self {
            resolver,
            proxy,
            roots,
            plain: OnceCell::new(),
            tls: OnceCell::new(),
        }
    }

    /// Returns the agent for a URL.
    ///
    /// # Errors
    /// Fails if the certificate authorities cannot be read.
    pub(super) fn get(&self, url: &Url) -> Result<&Agent, NoAuthorities> {
        let is_tls_proxy = |proxy: &Proxy| proxy.protocol() == ProxyProtocol::Https;
        if url.scheme() != "https" && !self.proxy.as_ref().is_some_and(is_tls_proxy) {
            let none = RootCerts::Specific(Arc::default());
            return Ok(self.plain.get_or_init(|| self.create(none)));
        }
        if let Some(agent) = self.tls.get() {
            return Ok(agent);
        }
        let roots = self.roots.load()?;
        Ok(self.tls.get_or_init(|| self.create(roots)))
    }

    fn create(&self, roots: RootCerts) -> Agent {
        let tls = TlsConfig::builder()
            .root_certs(roots)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The client checks each.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT))
            .proxy(self.proxy.clone())
            .tls_config(tls)
            .build();
        Agent::with_parts(config, DefaultConnector::default(), self.resolver.clone())
    }
}
