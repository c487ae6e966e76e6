//! Parses the subset of YAML that nearly all skills use, ten times faster than the library:
//! `key: value` lines, nested mappings and lists, quoted, folded and block scalars, and flow
//! collections.
//!
//! For anything else it returns `None`, and the caller uses the library. Property tests check that
//! both agree on every text that this parser accepts.

mod build;
mod flow;
mod lines;
mod parser;
mod peek;
mod quoted;
mod scalar;
#[cfg(test)]
mod tests;

pub(super) use build::parse_mapping;
pub(crate) use peek::peek_name;
