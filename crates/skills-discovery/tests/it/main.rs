//! Tests at the boundary of the crate: a directory tree in, text out.
#![expect(clippy::panic, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests make their own files and fail by panicking")]

mod files;
mod property;
mod scan;
mod tree;
