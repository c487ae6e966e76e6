//! Tests at the boundary of the crate: a directory tree in, text out.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod codex;
mod content_lock;
mod digest;
mod explain;
mod files;
mod generated_files;
mod lookup;
mod profile_reading;
mod profiles;
mod property;
mod rescan;
mod scan;
mod sources;
mod stamps;
mod tree;
mod trusted_skills;
mod unread;
mod usage;
#[cfg(feature = "watch")]
mod watch;
