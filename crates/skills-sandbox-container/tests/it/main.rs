//! Runs in containers of an engine of this host; skipped without one.
#![cfg(unix)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

mod run;
mod skill;
