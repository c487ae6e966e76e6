//! Tests at the boundary of the crate: events in, lines and reports out.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod log;
#[cfg(target_os = "linux")]
mod space;
mod verify;
