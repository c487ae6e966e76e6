//! Errors of building a server and of serving a client.

/// Error of building a server.
///
/// Either the key for request state is too short, or none was configured and the system has no
/// source of randomness. The message contains no part of the key.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ServerBuildError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("invalid request state key: expected at least {min} bytes, found {actual}")]
    KeyTooShort { min: usize, actual: usize },
    #[error("cannot generate a request state key")]
    NoRandomness(#[source] getrandom::Error),
}

/// Error of serving a client on a stream.
///
/// The client did not start with a valid request of any supported protocol version. Clients that
/// disconnect later, or send invalid messages, cause no error.
#[derive(Debug, thiserror::Error)]
#[error("cannot initialize the connection")]
pub struct ServeError(#[source] Box<rmcp::service::ServerInitializeError>);

impl ServeError {
    pub(crate) fn new(error: rmcp::service::ServerInitializeError) -> Self {
        Self(Box::new(error))
    }
}
