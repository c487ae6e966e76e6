//! Tests at the boundary of the crate: skills on disk in, artifacts out.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod approve;
mod audit;
mod command;
#[cfg(unix)]
mod contents;
mod examples;
mod find;
mod fixture;
mod holes;
mod hooks;
#[cfg(target_os = "linux")]
mod interpreters;
mod mode;
mod path;
mod precompile;
mod question;
mod secrets;
mod session;
mod turn;
#[cfg(feature = "watch")]
mod watch;
mod workflows;
mod workspace;
