//! HTTP configuration of a backend, for all of its runs.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use skills_egress::{Connector, SystemConnector};
use skills_policy::HostFilter;
use skills_sandbox::SandboxError;

use super::context::HttpContext;
use super::limits::HttpLimits;
use super::tls_config::TlsConfig;

/// What all runs of a backend share: connector, TLS roots, limits. Cheap to clone.
#[derive(Clone)]
pub(crate) struct HttpConfig {
    connector: Arc<dyn Connector>,
    roots: Roots,
    limits: HttpLimits,
    tls_config: Arc<OnceLock<TlsConfig>>,
}

/// The authorities that servers are checked with.
#[derive(Clone)]
enum Roots {
    Public,
    /// Each in DER.
    Certificates(Arc<[Vec<u8>]>),
    /// A file in PEM, which is read when it is first needed.
    File(PathBuf),
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connector: Arc::new(SystemConnector::default()),
            roots: Roots::Public,
            limits: HttpLimits::default(),
            tls_config: Arc::default(),
        }
    }
}

impl HttpConfig {
    pub(crate) fn connector(self, outside: Arc<dyn Connector>) -> Self {
        Self {
            connector: outside,
            ..self
        }
    }

    /// Trusts these certificates, each in DER, instead of the public authorities.
    pub(crate) fn root_certificates(self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            roots: Roots::Certificates(certificates.into_iter().collect()),
            // A new cell, since clones that exist keep their roots.
            tls_config: Arc::default(),
            ..self
        }
    }

    /// Trusts the certificates of a file in PEM instead of the public authorities.
    pub(crate) fn certificate_file(self, path: PathBuf) -> Self {
        Self {
            roots: Roots::File(path),
            tls_config: Arc::default(),
            ..self
        }
    }

    pub(crate) fn limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Creates the HTTP state of one run.
    pub(crate) fn http_context(&self, hosts: &HostFilter) -> Result<HttpContext, SandboxError> {
        Ok(HttpContext::new(
            hosts,
            Arc::clone(&self.connector),
            &self.tls_config()?,
            self.limits,
        ))
    }

    /// Loads the root certificates when they are first needed.
    fn tls_config(&self) -> Result<TlsConfig, SandboxError> {
        if let Some(trust) = self.tls_config.get() {
            return Ok(trust.clone());
        }
        let trust = match &self.roots {
            Roots::Public => TlsConfig::with_public_roots()?,
            Roots::Certificates(certificates) => TlsConfig::with_roots(certificates)?,
            Roots::File(path) => TlsConfig::with_file(path)?,
        };
        Ok(self.tls_config.get_or_init(|| trust).clone())
    }
}
