//! From a target to a connection on which HTTP can be spoken.

use std::io;

use skills_sandbox::egress::{Limit, Proxy, Reason};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use wasmtime_wasi_http::Error;

use super::failure::Failure;
use super::fuse::Fuse;
use super::limits::HttpLimits;
use super::target::{Security, Target};
use super::trust::Trust;
use super::wire::{Metered, Wire};

/// Asks the list, resolves once, dials what was checked, and has the host prove who it is.
pub(super) async fn connect(
    way: &Proxy,
    target: &Target,
    trust: &Trust,
    limits: &HttpLimits,
    fuse: &Fuse,
    permit: OwnedSemaphorePermit,
) -> Result<Box<dyn Wire>, Failure> {
    let destination = way.admit(target.host.clone(), target.port).await?;
    let stream = Metered::new(way.dial(&destination).await?, fuse.clone(), limits, permit);
    if target.security == Security::Plain {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(destination.host().as_str().to_owned());
    let name =
        name.map_err(|_| Failure::refused(Error::HttpRequestUriInvalid, Reason::NotAHost))?;
    match timeout(limits.dial_time, trust.connector().connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(handshake(fuse, &error)),
        Err(_) => Err(Failure::limited(Error::ConnectionTimeout, Limit::DialTime)),
    }
}

/// Says why there is no TLS. What the host sent of it is not passed on.
fn handshake(fuse: &Fuse, error: &io::Error) -> Failure {
    if let Some(cut) = fuse.cut() {
        return Failure::unrecorded(cut.error());
    }
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Failure::refused(Error::TlsCertificateError, Reason::NotProven)
        }
        Some(rustls::Error::AlertReceived(_)) => Failure::refused(
            Error::TlsAlertReceived {
                alert_id: None,
                alert_message: None,
            },
            Reason::NotReached,
        ),
        Some(_) => Failure::refused(Error::TlsProtocolError, Reason::NotTls),
        None => Failure::refused(Error::ConnectionTerminated, Reason::NotReached),
    }
}
