//! Tests at the boundary of the crate: items and bodies in, prompts out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod catalogue;
mod fragment;
