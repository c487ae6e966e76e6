//! Tests of the tools through their public interface: name and arguments in, text and data out.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod boundaries;
mod catalog_tools;
mod definitions;
mod engine;
mod escape;
mod examples;
mod files;
mod fixture;
mod hooks;
mod overrides;
mod prompts;
mod publication;
mod reference;
mod run;
mod scripts;
mod sources;
mod usage;
#[cfg(feature = "watch")]
mod watch;
mod workspaces;
