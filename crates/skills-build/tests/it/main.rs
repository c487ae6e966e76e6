//! Tests of builds: sources in, plans and artifacts out.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

#[cfg(unix)]
mod build;
mod fixture;
mod lock;
mod plan;
#[cfg(unix)]
mod property;
#[cfg(unix)]
mod real;
mod source;
mod tools;
