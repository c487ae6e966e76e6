//! Test support for several crates: detects what this host supports, creates what surrounds a sandboxed
//! program, and records skipped tests.
//!
//! ```text
//! host: system calls in a child process --> Ok
//!                                       \-> missing feature --> skip(reason) --> standard error
//!                                                                            \-> SKILLS_TEST_SKIPS
//! ```
//!
//! A test is skipped only if the host lacks something, and this crate detects that without the
//! product: it depends on no other crate of the workspace. So a sandbox that cannot start on a host
//! that supports it fails its tests instead of skipping them. `cargo xtask test` reads the record,
//! prints it and, in CI, fails on a skip that `xtask/expected-skips.txt` does not list.
//!
//! [`host_process`] starts a test program again as another process, and [`scene`] creates what an attempt
//! to leave a sandbox needs. [`source_tree`] finds test data, and a [`SkillTree`] is skills that a test writes.
//!
//! It must never know what is tested, and only tests may depend on it.
//!
//! ```
//! use skills_test_support::{host, skip};
//!
//! fn a_script_of_node_runs() {
//!     let node = match host::program("node") {
//!         Ok(node) => node,
//!         Err(reason) => return skip(reason),
//!     };
//!     assert!(node.is_absolute());
//! }
//! # a_script_of_node_runs();
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "it inspects the host of the tests, and reads where to write the record"
)]
#![expect(clippy::panic, reason = "tests fail by panicking")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

pub mod host;
pub mod host_process;
#[cfg(unix)]
pub mod scene;
mod skill_tree;
mod skip;
mod source_tree;
mod thread_time;

use std::fs;
use std::path::Path;

pub use skill_tree::SkillTree;
pub use skip::{RECORD, skip, skip_part, skip_without_file_events, skip_without_sandbox};
pub use source_tree::{SOURCE_TREE, assert_document, source_tree};
pub use thread_time::thread_time;

/// Copies a directory with everything in it, as a clone of a repository does.
///
/// # Panics
/// Panics if a file cannot be read or written.
pub fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
