//! Connects to a target, with TLS if required.

use std::io;

use skills_egress::{ExceededLimit, HostConnector, RejectReason, UpstreamProxy};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use wasmtime_wasi_http::Error;

use super::abort::AbortState;
use super::failure::HttpFailure;
use super::limits::HttpLimits;
use super::metered_stream::{IoStream, MeteredStream};
use super::target::{Security, Target};
use super::tls_config::TlsConfig;

/// A connection for one request.
pub(super) struct Wire {
    pub(super) stream: Box<dyn IoStream>,
    /// The proxy of the user that it leads to. Otherwise it leads to the host.
    pub(super) proxy: Option<UpstreamProxy>,
}

/// Checks that the host is granted, resolves once, connects to a checked address, and verifies the
/// certificate.
pub(super) async fn connect(
    connector: &HostConnector,
    target: &Target,
    trust: &TlsConfig,
    limits: &HttpLimits,
    abort: &AbortState,
    permit: OwnedSemaphorePermit,
) -> Result<Wire, HttpFailure> {
    // The name is resolved once: the address that was checked is connected, so a second lookup
    // cannot lead elsewhere.
    let destination = connector
        .authorize(target.authority.host.clone(), target.authority.port)
        .await?;
    let stream = match target.security {
        Security::Plain => connector.connect_for_request(&destination).await?,
        Security::Tls => connector.connect(&destination).await?,
    };
    // Below TLS, so that its overhead is counted.
    let stream = MeteredStream::new(stream, abort.clone(), limits, permit);
    if target.security == Security::Plain {
        return Ok(Wire {
            stream: Box::new(stream),
            proxy: destination.proxy().cloned(),
        });
    }
    let name = ServerName::try_from(destination.host().as_str().to_owned());
    let name = name
        .map_err(|_| HttpFailure::new(Error::HttpRequestUriInvalid, RejectReason::InvalidHost))?;
    match timeout(
        limits.connections.connect_timeout,
        trust.connector().connect(name, stream),
    )
    .await
    {
        Ok(Ok(stream)) => Ok(Wire {
            stream: Box::new(stream),
            proxy: None,
        }),
        Ok(Err(error)) => Err(handshake_failure(abort, &error)),
        Err(_) => Err(HttpFailure::new(
            Error::ConnectionTimeout,
            ExceededLimit::ConnectTimeout,
        )),
    }
}

/// Returns why the TLS handshake failed. Data from the host is not included.
fn handshake_failure(abort: &AbortState, error: &io::Error) -> HttpFailure {
    // The exceeded limit is the cause, and the TLS error only follows from it.
    if let Some(cause) = abort.reason() {
        return HttpFailure::unrecorded(cause.error());
    }
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            HttpFailure::new(Error::TlsCertificateError, RejectReason::InvalidCertificate)
        }
        Some(rustls::Error::AlertReceived(_)) => HttpFailure::new(
            Error::TlsAlertReceived {
                alert_id: None,
                alert_message: None,
            },
            RejectReason::Unreachable,
        ),
        Some(_) => HttpFailure::new(Error::TlsProtocolError, RejectReason::NotTls),
        None => HttpFailure::new(Error::ConnectionTerminated, RejectReason::Unreachable),
    }
}
