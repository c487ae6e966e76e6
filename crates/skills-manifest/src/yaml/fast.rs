//! Parses the subset of YAML that nearly all skills use, ten times faster than the library:
//! `key: value` lines, nested mappings and lists, quoted, folded and block scalars, and flow
//! collections.
//!
//! For anything else it returns `None`, and the caller uses the library. Property tests check that
//! both agree on every text that this parser accepts.

mod build;
mod event;
mod flow;
mod lines;
mod parser;
mod peek;
mod quoted;
mod scalar;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Parses `yaml`; `None` if only the YAML library can.
pub(super) fn parse_mapping(yaml: &str) -> Option<Map<String, Value>> {
    build::parse_mapping(&with_line_feeds(yaml))
}

/// Returns `name` as written if the text is certainly a valid manifest; `None` if only the full
/// parser can decide.
#[expect(
    clippy::option_option,
    reason = "a valid manifest without a name differs from an undecided one"
)]
pub(crate) fn peek_name(yaml: &str) -> Option<Option<String>> {
    let yaml = with_line_feeds(yaml);
    peek::peek_name(&yaml).map(|name| name.map(str::to_owned))
}

/// Converts CRLF to LF, as YAML does. The parser rejects other carriage returns.
fn with_line_feeds(yaml: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', yaml.as_bytes()).is_some() {
        yaml.replace("\r\n", "\n").into()
    } else {
        yaml.into()
    }
}
