//! Parses YAML into JSON values, and writes it.
//!
//! ```text
//! parse --fast----> the subset that nearly all skills use
//!       \-library-> everything else
//! ```

mod brackets;
mod emit;
mod fast;
mod library;
mod parsed;

use serde_json::Value;

pub(crate) use emit::{Field, write_fields};
pub(crate) use fast::peek_name;
pub(crate) use parsed::{DuplicateKey, ParseError, ParseErrorKind, Parsed};

/// Parses one document.
///
/// Tags are ignored, and merge keys are ordinary keys. Numbers, booleans and `null` as keys become
/// text; keys that are mappings or lists are rejected. A number stays a number only if JSON writes
/// it in the same way: `1.10`, `0x1F` and `1e3` become text, since authors mean versions and words.
pub(crate) fn parse(yaml: &str) -> Result<Parsed, ParseError> {
    match fast::parse_mapping(yaml) {
        Some(map) => Ok(Parsed::from_map(map)),
        None => library::parse(yaml),
    }
}

/// Parses one document with the numbers of YAML: `1.10` is 1.1, `0x1F` is 31.
///
/// It always uses the library, since the fast parser does not report what parsers disagree about.
pub(crate) fn parse_exact(yaml: &str) -> Result<Parsed, ParseError> {
    library::parse_exact(yaml)
}

/// Returns the type of a value in the terms of YAML, with an article, for messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_writes_differently_become_text() {
        let value = parse("a: 1.10\nb: 1.5\nc: [0x1F, 12, {d: 1e3}]\ne: '1.10'\nf: -0\n")
            .unwrap()
            .value;
        assert_eq!(
            value,
            serde_json::json!({"a": "1.10", "b": 1.5, "c": ["0x1F", 12, {"d": "1e3"}], "e": "1.10", "f": "-0"})
        );
    }
}
