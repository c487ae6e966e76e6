//! Paths as string literals of the profile language.

use std::path::Path;

use crate::error::{ProfileError, Repr};

/// A path that can be written into a profile: absolute, without `.` and `..`, UTF-8, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal(String);

impl Literal {
    pub(crate) fn new(path: &Path) -> Result<Self, ProfileError> {
        let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
        let text = text.ok_or_else(|| Repr::Unprintable(path.to_owned()))?;
        if !text.starts_with('/') {
            return Err(Repr::Relative(path.to_owned()).into());
        }
        if text.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(Repr::NotCanonical(path.to_owned()).into());
        }
        Ok(Self(text.to_owned()))
    }

    /// The language is a Scheme: inside quotes only the backslash and the quote are special.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
