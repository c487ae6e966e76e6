//! Tests at the boundary of the crate: tools and rules in, decisions out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod approve;
mod approve_commands;
mod attempts;
mod decide;
mod declared_tools;
#[cfg(feature = "toml")]
mod file;
mod grants;
mod model;
mod permission;
mod property;
mod protected;
#[cfg(feature = "toml")]
mod record_mode;
mod response;
mod rule;
mod rule_requests;
mod spelling;
mod standing_rules;
mod undeclared_packages;
