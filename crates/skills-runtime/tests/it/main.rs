//! Tests at the boundary of the crate: skills on disk in, artifacts out.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod approve;
mod attempts;
mod audit;
mod command;
#[cfg(unix)]
mod content_changes;
mod examples;
mod execute;
mod find;
mod fixture;
#[cfg(all(target_os = "linux", feature = "native"))]
mod generated_files;
mod hooks;
#[cfg(target_os = "linux")]
mod interpreters;
#[cfg(all(target_os = "linux", feature = "native"))]
mod live_server;
mod mentions;
mod mode;
#[cfg(unix)]
mod planned;
mod precompile;
mod question;
mod readable_skills;
#[cfg(all(target_os = "linux", feature = "native"))]
mod repaired;
#[cfg(feature = "search")]
mod search;
mod secrets;
mod session;
#[cfg(unix)]
mod sources;
mod turn;
mod usage;
mod vulnerabilities;
#[cfg(feature = "watch")]
mod watch;
mod workflows;
mod workspace;
