//! What stands between a socket and the protocol, as a client meets it: raw requests to a server at
//! a port of its own.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test does"
)]

mod bodies;
mod client;
mod gates;
mod limits;
mod probe;
mod records;
mod served;
mod sessions;
mod setup;
mod stopping;
