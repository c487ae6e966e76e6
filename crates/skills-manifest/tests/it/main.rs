//! Tests of the public interface: bytes in, text out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bounds;
mod corpus;
mod delimiters;
mod dialects;
mod document;
mod draft;
mod fields;
mod keys;
mod missing_description;
mod parse;
mod property;
mod repair;
mod repair_rules;
