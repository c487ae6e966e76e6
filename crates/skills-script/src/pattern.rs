//! Patterns of arguments.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A regular expression of JSON Schema, in the syntax of ECMAScript.
///
/// Matching takes linear time, since patterns come from skills; lookaround and backreferences, which
/// can take exponential time, are rejected.
///
/// ```
/// use skills_script::Pattern;
///
/// assert!(Pattern::new(r"^\d+$").unwrap().is_match("42"));
/// assert!(Pattern::new("(?=a)").is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern. `None` if it is invalid, too large or not supported.
    pub fn new(pattern: &str) -> Option<Self> {
        let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
        let compiled = RegexBuilder::new(&translated)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        compiled.ok().map(Self)
    }

    /// Returns true if the pattern matches a part of the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}
