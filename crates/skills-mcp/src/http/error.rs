//! Why there is no server over HTTP.

use std::io;
use std::net::SocketAddr;

/// Says why the server could not be set up or had to stop.
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
            Repr::InvalidHost { .. } | Repr::InvalidOrigin { .. } => {
                HttpErrorKind::InvalidHostOrOrigin
            }
            Repr::Bind { .. } | Repr::Accept { .. } => HttpErrorKind::Io,
        }
    }
}

/// The classes of [`HttpError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// Other machines reach the address, and that was not allowed.
    RemoteNotAllowed,
    /// Other machines reach the address, and no token was given.
    NoToken,
    /// Other machines reach the address, and it was not said by which name.
    NoHost,
    /// The tokens cannot be told apart.
    DuplicateToken,
    /// A host or an origin is none.
    InvalidHostOrOrigin,
    /// The address could not be had, or no longer.
    Io,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error(
        "other machines can reach {address}: allow that in so many words, or listen on 127.0.0.1"
    )]
    RemoteNotAllowed { address: SocketAddr },
    #[error(
        "other machines can reach {address}: give a token of at least 32 characters, for instance what `openssl rand -hex 32` prints"
    )]
    NoToken { address: SocketAddr },
    #[error("other machines can reach {address}: name the hosts by which clients call it")]
    NoHost { address: SocketAddr },
    #[error("two tokens have the name {name}")]
    DuplicateTokenName { name: String },
    #[error("the tokens {first} and {second} are the same")]
    DuplicateTokenSecret { first: String, second: String },
    #[error("{text:?} is no host: write a name or an address, and a port if it must be that one")]
    InvalidHost { text: String },
    #[error("{text:?} is no origin: write a scheme and a host, and a port or `:*`")]
    InvalidOrigin { text: String },
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot accept connections at {address} any longer")]
    Accept {
        address: SocketAddr,
        source: io::Error,
    },
}
