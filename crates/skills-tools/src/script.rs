//! Scripts of skills as tools: what they are called, what they take, and how arguments reach them.
//!
//! Everything here is computed from values: nothing is read, imported or started. What a script says of itself is untrusted text.
#![cfg_attr(not(test), expect(dead_code, reason = "the set of tools that calls these functions is not wired yet"))]

pub(crate) mod name;
pub(crate) mod scan;

/// Returns a file's name without its last ending.
pub(crate) fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}
