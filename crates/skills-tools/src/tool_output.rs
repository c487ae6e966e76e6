//! What a tool gives back.

use serde_json::{Map, Value, json};

use crate::{ToolError, ToolErrorCode};

/// What a tool gives back: the same for people and models as text, and for programs as data.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct ToolOutput {
    /// What a model reads.
    pub text: String,
    /// The same as data, as the tool's output schema says. When the call failed it has an `error`.
    pub structured: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// The virtual paths of files that the call made or changed.
    pub files: Vec<String>,
}

impl ToolOutput {
    pub(crate) fn new(text: impl Into<String>, structured: Value) -> Self {
        Self {
            text: text.into(),
            structured,
            is_error: false,
            files: Vec::new(),
        }
    }

    /// A failed call that still has something to show: `text` and `data` stand as they are, and the
    /// error beside them.
    pub(crate) fn error_with_data(
        text: impl Into<String>,
        mut data: Map<String, Value>,
        error: &ToolError,
    ) -> Self {
        data.insert("error".to_owned(), json!(error));
        Self {
            text: text.into(),
            structured: Value::Object(data),
            is_error: true,
            files: Vec::new(),
        }
    }

    /// Returns the class of the error, when the call failed.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.structured.get("error")?.get("code")?.as_str()
    }

    /// Says whether the call failed in this way.
    #[must_use]
    pub fn has_code(&self, code: ToolErrorCode) -> bool {
        self.code() == Some(code.as_str())
    }
}

impl From<ToolError> for ToolOutput {
    fn from(error: ToolError) -> Self {
        let hint = error
            .hint
            .as_ref()
            .map_or_else(String::new, |hint| format!("\nHint: {hint}"));
        Self::error_with_data(
            format!("Error: {}{hint}", error.message),
            Map::new(),
            &error,
        )
    }
}
