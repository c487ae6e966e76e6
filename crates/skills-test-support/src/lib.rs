//! What the tests of several crates share: what this host offers, and the record of skipped tests.
//!
//! ```text
//! host: system calls in a child process --> Ok | what is missing --> skip(reason) --> standard error
//!                                                                                 --> the file that SKILLS_TEST_SKIPS names
//! ```
//!
//! A test is skipped only where the host lacks something, and this crate finds that out without the
//! product: it depends on no other crate of the workspace, so a sandbox that cannot start on a host
//! that could serve it fails its tests and skips none. `cargo xtask test` reads the record, prints
//! it and, in CI, fails on a skip that `xtask/expected-skips.txt` does not list.
//!
//! It must never know what is tested, and nothing but tests may depend on it.
//!
//! ```
//! if !std::path::Path::new("/").exists() {
//!     return skills_test_support::skip("this host has no files");
//! }
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at the host of the tests, and where they want their record"
)]

pub mod host;
mod skip;

pub use skip::{RECORD, skip, skip_part, skip_without_file_events, skip_without_sandbox};
