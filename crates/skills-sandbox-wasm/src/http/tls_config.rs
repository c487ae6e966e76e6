//! Whom TLS believes.

use std::io;
use std::sync::Arc;

use skills_sandbox::SandboxError;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The configuration of TLS, made once and shared by all runs. It remembers nothing of one
/// connection for the next.
#[derive(Clone)]
pub(crate) struct TlsConfig(Arc<ClientConfig>);

impl TlsConfig {
    /// Believes the authorities that browsers believe (Mozilla's list), as they were when this was
    /// built.
    pub(crate) fn with_public_roots() -> Result<Self, SandboxError> {
        Self::from_root_store(RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        })
    }

    /// Believes these certificates and no others; each is one in DER.
    pub(crate) fn with_roots(certificates: &[Vec<u8>]) -> Result<Self, SandboxError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots
                .add(CertificateDer::from(certificate.as_slice()))
                .map_err(|error| tls_error(io::Error::other(error)))?;
        }
        Self::from_root_store(roots)
    }

    pub(super) fn connector(&self) -> TlsConnector {
        TlsConnector::from(Arc::clone(&self.0))
    }

    fn from_root_store(roots: RootCertStore) -> Result<Self, SandboxError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| tls_error(io::Error::other(error)))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A ticket would tell a host that two runs are of the same machine.
        config.resumption = Resumption::disabled();
        Ok(Self(Arc::new(config)))
    }
}

fn tls_error(error: io::Error) -> SandboxError {
    SandboxError::setup("reading root certificates", error)
}
