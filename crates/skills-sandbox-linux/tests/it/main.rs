//! Tests of the public API: real scripts run, and their output is checked. The same tests run as
//! root and as an unprivileged user.
#![cfg(target_os = "linux")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

mod command;
mod confined;
mod conformance;
mod control_groups;
mod disk;
mod escape;
mod fake_network;
mod grace;
mod keys;
mod layer;
mod lifetime;
mod lifetime_pipe;
mod local_sockets;
mod memory;
mod network;
mod plan;
mod proc;
mod project;
mod protected;
mod quota;
mod refusals;
mod run;
mod signals;
mod skill;
mod terminal;
