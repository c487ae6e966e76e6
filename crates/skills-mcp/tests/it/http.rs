//! What stands between a socket and the protocol, as a client meets it: raw requests to a server at a port of its own.

mod bodies;
mod client;
mod gates;
mod limits;
mod probe;
mod sessions;
mod setup;
mod stopping;
