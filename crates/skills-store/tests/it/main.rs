//! Tests at the boundary of the crate.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[cfg(unix)]
mod trusted_file;
