//! What goes wrong before a server serves.

/// Why a server cannot be put together.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ServerBuildError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("the key that seals questions has {actual} bytes, and needs at least {min}")]
    KeyTooShort { min: usize, actual: usize },
    #[error("this system has no random numbers for a key")]
    NoRandomness(#[source] getrandom::Error),
}

impl ServerBuildError {
    pub(crate) fn key_too_short(min: usize, actual: usize) -> Self {
        Repr::KeyTooShort { min, actual }.into()
    }

    pub(crate) fn no_randomness(error: getrandom::Error) -> Self {
        Repr::NoRandomness(error).into()
    }
}

/// Why a server stopped serving a connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection was not opened as the protocol says")]
pub struct ServeError(#[source] Box<rmcp::service::ServerInitializeError>);

impl ServeError {
    pub(crate) fn new(error: rmcp::service::ServerInitializeError) -> Self {
        Self(Box::new(error))
    }
}
