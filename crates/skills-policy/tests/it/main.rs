//! Tests at the boundary of the crate: tools and rules in, decisions out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod answer;
mod approve;
mod claim;
mod decide;
#[cfg(feature = "toml")]
mod file;
mod grants;
mod model;
mod permission;
mod property;
mod protected;
mod rule;
mod standing;
