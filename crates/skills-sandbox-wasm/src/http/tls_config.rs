//! TLS client configuration and root certificates.

use std::io;
use std::path::Path;
use std::sync::Arc;

use skills_sandbox::SandboxError;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The TLS client configuration, created once and shared by all runs. No state is kept between
/// connections.
#[derive(Clone)]
pub(crate) struct TlsConfig(Arc<ClientConfig>);

impl TlsConfig {
    /// Trusts the authorities that browsers trust (Mozilla's list), as of build time.
    pub(crate) fn with_public_roots() -> Result<Self, SandboxError> {
        Self::from_root_store(RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        })
    }

    /// Trusts only these certificates; each is in DER.
    pub(crate) fn with_roots(certificates: &[Vec<u8>]) -> Result<Self, SandboxError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots
                .add(CertificateDer::from(certificate.as_slice()))
                .map_err(|error| tls_error(io::Error::other(error)))?;
        }
        Self::from_root_store(roots)
    }

    /// Trusts only the certificates of a file in PEM.
    pub(crate) fn with_file(path: &Path) -> Result<Self, SandboxError> {
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| tls_error(io::Error::other(error)))?;
        let certificates: Vec<_> = certificates.iter().map(|der| der.to_vec()).collect();
        if certificates.is_empty() {
            return Err(tls_error(io::Error::other("the file has no certificate")));
        }
        Self::with_roots(&certificates)
    }

    pub(super) fn connector(&self) -> TlsConnector {
        TlsConnector::from(Arc::clone(&self.0))
    }

    fn from_root_store(roots: RootCertStore) -> Result<Self, SandboxError> {
        // The provider is passed: a process-wide one could be set by other code of the host.
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| tls_error(io::Error::other(error)))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        // The only version that this client speaks.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A session ticket would show a host that two runs come from the same machine.
        config.resumption = Resumption::disabled();
        Ok(Self(Arc::new(config)))
    }
}

fn tls_error(error: io::Error) -> SandboxError {
    SandboxError::setup("reading root certificates", error)
}
