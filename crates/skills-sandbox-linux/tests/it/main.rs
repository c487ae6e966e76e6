//! Tests at the boundary of the crate: a real script in, an outcome out. The same tests run as root
//! and as an unprivileged user.
#![cfg(target_os = "linux")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod command;
mod conformance;
mod escape;
mod lifeline;
mod lifetime;
mod network;
mod outside;
mod plan;
mod protected;
mod quota;
mod run;
mod skill;
