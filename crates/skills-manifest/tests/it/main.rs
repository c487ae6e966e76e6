//! Tests at the boundary of the crate: bytes in, text out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bounds;
mod clients;
mod corpus;
mod dialects;
mod document;
mod draft;
mod fence;
mod fields;
mod keys;
mod parse;
mod property;
mod repair;
mod repair_rules;
mod strict;
