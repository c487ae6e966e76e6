//! An error of the reference validator.

use std::fmt;

use super::python::escape_surrogates;

/// An error of the strict validation of a `SKILL.md`.
///
/// The message is that of the reference validator, in its words and its notation of values; the
/// code and the line are additions for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    code: &'static str,
    message: String,
    line: Option<usize>,
}

impl StrictError {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            // Messages are printed as UTF-8, which has no halves of surrogate pairs.
            message: escape_surrogates(&message),
            line: None,
        }
    }

    pub(super) fn with_line(code: &'static str, message: String, line: usize) -> Self {
        Self {
            line: Some(line),
            ..Self::new(code, message)
        }
    }

    /// Returns the stable code of the error's class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the message of the reference validator; one about YAML has several lines, with a
    /// snippet of the file.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the line of the file, counted from 1, for errors about YAML and encoding.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StrictError {}
