//! The results of the YAML parsers.

use serde_json::{Map, Value};

/// A parsed YAML document, with what JSON cannot express or YAML parsers disagree about.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// The keys that occur twice in one mapping; the first value was kept.
    pub(crate) duplicate_keys: Vec<DuplicateKey>,
    /// Whether a value had a tag, which was ignored.
    pub(crate) has_tags: bool,
    /// Whether a key was a scalar other than text, or `<<`.
    pub(crate) has_non_text_key: bool,
    /// Whether a number was infinite, not a number, or longer than 64 bits.
    pub(crate) has_unrepresentable_number: bool,
    /// How many keys and values are null.
    pub(crate) null_count: usize,
}

impl Parsed {
    /// Creates the result for a mapping of plain values.
    pub(crate) fn from_map(map: Map<String, Value>) -> Self {
        Self {
            value: Value::Object(map),
            ..Self::default()
        }
    }
}

/// A key that occurs twice in one mapping.
#[derive(Debug)]
pub(crate) struct DuplicateKey {
    pub(crate) key: String,
    pub(crate) is_top_level: bool,
}

/// An error of the parser; line and column are counted from 1.
#[derive(Debug)]
pub(crate) struct ParseError {
    pub(crate) kind: ParseErrorKind,
    pub(crate) message: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

#[derive(Debug)]
pub(crate) enum ParseErrorKind {
    /// The text is not valid YAML.
    Syntax,
    /// A key of a mapping is itself a mapping or a list.
    KeyNotScalar { found: &'static str },
    /// Nesting, brackets or aliases exceed a limit.
    BudgetExceeded,
}
