//! Errors of the HTTP server.

use std::io;
use std::net::SocketAddr;

/// Error of setting up or running the HTTP server.
///
/// Most kinds are errors of the configuration, which [`HttpServer::bind`](crate::HttpServer::bind)
/// reports before the first request is accepted. Tokens never appear in a message, only their
/// names.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct HttpError(#[from] Repr);

impl HttpError {
    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> HttpErrorKind {
        match &self.0 {
            Repr::RemoteNotAllowed { .. } => HttpErrorKind::RemoteNotAllowed,
            Repr::NoToken { .. } => HttpErrorKind::NoToken,
            Repr::NoHost { .. } => HttpErrorKind::NoHost,
            Repr::DuplicateTokenName { .. } | Repr::DuplicateTokenSecret { .. } => {
                HttpErrorKind::DuplicateToken
            }
            Repr::InvalidHost { .. } => HttpErrorKind::InvalidHost,
            Repr::InvalidOrigin { .. } => HttpErrorKind::InvalidOrigin,
            Repr::Bind { .. } | Repr::Accept { .. } => HttpErrorKind::Io,
        }
    }
}

/// Classifies an [`HttpError`].
///
/// Use it to point a user to the setting that is missing or invalid. All kinds except
/// [`Io`](Self::Io) are found before the address is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The address is not loopback, and remote access is not enabled.
    RemoteNotAllowed,
    /// The address is not loopback, and no token is configured.
    NoToken,
    /// The address is not loopback, and no host name is configured.
    NoHost,
    /// Two tokens have the same name or secret.
    DuplicateToken,
    /// A host is invalid, or has a scheme or a path.
    InvalidHost,
    /// An origin is invalid, or has no scheme.
    InvalidOrigin,
    /// The address cannot be bound, or connections cannot be accepted.
    Io,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("cannot listen on {address}: remote access is not enabled")]
    RemoteNotAllowed { address: SocketAddr },
    #[error("cannot listen on {address}: no token is configured")]
    NoToken { address: SocketAddr },
    #[error("cannot listen on {address}: no host name is configured")]
    NoHost { address: SocketAddr },
    #[error("duplicate token name `{name}`")]
    DuplicateTokenName { name: String },
    #[error("tokens `{first}` and `{second}` have the same secret")]
    DuplicateTokenSecret { first: String, second: String },
    #[error("invalid host `{text}`: expected NAME or NAME:PORT")]
    InvalidHost { text: String },
    #[error("invalid origin `{text}`: expected SCHEME://HOST, optionally with :PORT or :*")]
    InvalidOrigin { text: String },
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot accept connections on {address}")]
    Accept {
        address: SocketAddr,
        source: io::Error,
    },
}
