//! Tests at the boundary of the crate: bytes in, text out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod corpus;
mod dialects;
mod draft;
mod keys;
mod parse;
mod property;
mod repair;
mod strict;
