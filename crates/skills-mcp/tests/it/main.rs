//! The server as clients see it.

#[cfg(feature = "http")]
mod http;
