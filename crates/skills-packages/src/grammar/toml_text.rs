//! TOML.

use serde::de::DeserializeOwned;

use super::catch_panic;

/// Why a text is not the expected TOML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidToml {
    message: String,
    line: Option<usize>,
}

impl InvalidToml {
    /// Returns the line of the error, from 1, if it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

/// Parses TOML. The library limits the nesting of values.
///
/// # Errors
/// Fails if the text is not TOML or does not have the expected values.
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, InvalidToml> {
    match catch_panic(|| toml::from_str(text)) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(InvalidToml {
            message: error.message().to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
        }),
        None => Err(InvalidToml {
            message: "the parser failed".to_owned(),
            line: None,
        }),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}
