//! The HTTP server as a client sees it: raw requests to a server on its own port.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of a test fail like the test"
)]

mod access;
mod access_log;
mod approval;
mod bodies;
mod client;
mod handshake;
mod limits;
mod probe;
mod roots;
mod sessions;
mod setup;
mod stopping;
