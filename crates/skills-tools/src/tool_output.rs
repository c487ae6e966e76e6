//! The result of a tool call.

use serde_json::{Map, Value, json};

use crate::virtual_path::escape_for_display;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of ignored arguments that a result names.
const MAX_IGNORED: usize = 10;

/// Contains the result of a tool call, as text for a model and as structured data for a program.
///
/// Failed calls have a result, too: `is_error` is set, `text` says what failed and what to do about
/// it, and `structured` has an `error` with a code. Neither contains a path of the host.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct ToolOutput {
    /// Text for the model.
    pub text: String,
    /// The same as data, according to the output schema of the tool. A failed call has an `error`
    /// member.
    pub structured: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// Virtual paths of the files that the call created or changed.
    pub files: Vec<String>,
    /// What the host application should know about the run, such as a missing variable.
    pub notes: Vec<String>,
}

impl ToolOutput {
    pub(crate) fn new(text: impl Into<String>, structured: Value) -> Self {
        Self {
            text: text.into(),
            structured,
            is_error: false,
            files: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns a failed call that still has output: `text` and `data` are kept, and the error is
    /// added to them.
    pub(crate) fn error_with_data(
        text: impl Into<String>,
        mut data: Map<String, Value>,
        error: &ToolError,
    ) -> Self {
        data.insert("error".to_owned(), json!(error));
        Self {
            is_error: true,
            ..Self::new(text, Value::Object(data))
        }
    }

    /// Sets the files that the call created or changed.
    pub(crate) fn with_files(mut self, files: Vec<String>) -> Self {
        self.files = files;
        self
    }

    /// Sets the notes about a run.
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// Adds a note which arguments were ignored, if there were any.
    pub(crate) fn with_ignored_arguments(mut self, names: &[String]) -> Self {
        if !names.is_empty() {
            let names: Vec<String> = names
                .iter()
                .take(MAX_IGNORED)
                .map(|name| format!("`{}`", escape_for_display(name)))
                .collect();
            let note = format!(
                "\nNote: unknown arguments were ignored: {}",
                names.join(", ")
            );
            self.text.push_str(&note);
        }
        self
    }

    /// Returns the error code if the call failed, such as `not_found`; see
    /// [`ToolErrorCode`] for all codes.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.structured.get("error")?.get("code")?.as_str()
    }

    /// Returns true if the call failed with this code.
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
