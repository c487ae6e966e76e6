//! Tests at the boundary of the crate: skills on disk in, artifacts out.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests make their own files and fail by panicking")]

mod examples;
mod find;
mod fixture;
mod mode;
mod path;
mod turn;
