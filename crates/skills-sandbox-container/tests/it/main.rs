//! Runs in containers of an engine of this host; skipped without one.
#![cfg(unix)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

#[cfg(target_os = "linux")]
mod conformance;
#[cfg(target_os = "linux")]
mod engine_proxy;
#[cfg(target_os = "linux")]
#[path = "../../../skills-sandbox-linux/tests/it/fake_network.rs"]
mod fake_network;
#[cfg(target_os = "linux")]
#[path = "../../../skills-sandbox-linux/tests/it/lifetime_pipe.rs"]
mod lifetime_pipe;
mod run;
mod skill;
#[cfg(target_os = "linux")]
mod swapped_mounts;
