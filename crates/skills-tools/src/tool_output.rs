//! The result of a tool call.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use skills_runtime::ExecutionStatus;
use skills_runtime::manifest::escape_invisible;

use crate::long_text::{cut_end, cut_output};
use crate::virtual_path::escape_for_display;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of ignored arguments that a result names.
const MAX_IGNORED: usize = 10;

/// The smallest bound of a text, in bytes.
const MIN_TEXT_BYTES: usize = 4 << 10;

/// The line between the words of a tool and the output of the program that it ran.
const PROGRAM_OUTPUT: &str = "Program output:";

/// Contains the result of a tool call, as text for a model and as structured data for a program.
///
/// Failed calls have a result, too: `is_error` is set, the text says what failed and what to do
/// about it, and `structured` has an `error` with a code. Neither contains a path of the host.
///
/// What a program printed is a part of its own, [`program_output`](Self::program_output): it never
/// changes the words of the tool, [`own_text`](Self::own_text). Both are in [`text`](Self::text).
#[derive(Debug, Clone, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct ToolOutput {
    own_text: String,
    program_output: Option<String>,
    /// How many bytes the program printed, which can be more than were kept.
    printed_bytes: Option<u64>,
    /// The virtual path at which the session can read the output of the program, in parts.
    kept_path: Option<String>,
    /// The same as data, according to the output schema of the tool. A failed call has an `error`
    /// member.
    pub structured: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// Virtual paths of the files that the call created or changed.
    pub files: Vec<String>,
    /// What the host application should know about the run, such as a missing variable.
    pub notes: Vec<String>,
    /// How the program of the call ended; `None` if it started none, or if its end is not recorded.
    /// For the host application: it can contain paths of the host.
    pub exit_status: Option<ExecutionStatus>,
    /// Whether the call started a program.
    pub started_program: bool,
    /// Whether the same call would repeat a change that this one made itself, such as a line of commands
    /// that ended after a redirection wrote. Such a call is not made again to ask for an approval.
    pub repeats_effects: bool,
    /// The skill that the call loaded. Its scripts can be further tools of the session; see
    /// [`ToolSet::session_definitions`](crate::ToolSet::session_definitions).
    pub loaded_skill: Option<String>,
}

impl ToolOutput {
    pub(crate) fn new(own_text: impl Into<String>, structured: Value) -> Self {
        Self {
            own_text: own_text.into(),
            program_output: None,
            printed_bytes: None,
            kept_path: None,
            structured,
            is_error: false,
            files: Vec::new(),
            notes: Vec::new(),
            exit_status: None,
            started_program: false,
            repeats_effects: false,
            loaded_skill: None,
        }
    }

    /// Returns a failed call that still has output: `own_text` and `data` are kept, and the error is
    /// added to them.
    pub(crate) fn error_with_data(
        own_text: impl Into<String>,
        mut data: Map<String, Value>,
        error: &ToolError,
    ) -> Self {
        data.insert("error".to_owned(), json!(error));
        Self {
            is_error: true,
            ..Self::new(own_text, Value::Object(data))
        }
    }

    /// Sets what the program of this call printed.
    pub(crate) fn with_program_output(mut self, output: String) -> Self {
        self.program_output = Some(output).filter(|output| !output.trim().is_empty());
        self
    }

    /// Sets how many bytes the program of this call printed.
    pub(crate) fn with_printed_bytes(mut self, printed_bytes: u64) -> Self {
        self.printed_bytes = Some(printed_bytes);
        self
    }

    /// Keeps the output of the program if a text of `max_bytes` has only a part of it. `keep` returns the
    /// virtual path at which it can be read.
    pub(crate) fn keep_output(
        &mut self,
        max_bytes: usize,
        keep: impl FnOnce(&str) -> Option<String>,
    ) {
        if let Some(output) = &self.program_output
            && self.text().len() > max_bytes.max(MIN_TEXT_BYTES)
        {
            self.kept_path = keep(output);
        }
    }

    /// Adds a note which arguments were ignored, if there were any.
    pub(crate) fn with_ignored_arguments(mut self, names: &[String]) -> Self {
        if !names.is_empty() {
            let names: Vec<String> = names
                .iter()
                .take(MAX_IGNORED)
                .map(|name| format!("`{}`", escape_for_display(name)))
                .collect();
            let note = format!("Note: unknown arguments were ignored: {}", names.join(", "));
            self.add_own_line(&note);
        }
        self
    }

    /// Adds a line to the words of the tool. It stays one line, also if it quotes a program.
    pub(crate) fn add_own_line(&mut self, line: &str) {
        if !self.own_text.is_empty() && !self.own_text.ends_with('\n') {
            self.own_text.push('\n');
        }
        self.own_text.push_str(&escape_invisible(line));
    }

    /// Makes a failed call of this one, and adds the error to the words of the tool.
    pub(crate) fn fail_with(&mut self, error: &ToolError) {
        self.is_error = true;
        if let Some(data) = self.structured.as_object_mut() {
            data.insert("error".to_owned(), json!(error));
        }
        self.add_own_line(&format!("Error: {}", error.message));
    }

    /// Replaces the hint of an error in the words of the tool and in the data: clients show either
    /// of them.
    pub fn replace_hint(&mut self, hint: &str) {
        if let Some(old_hint) = self.structured["error"]["hint"].as_str() {
            let old_line = format!("\nHint: {old_hint}");
            let kept = self.own_text.strip_suffix(&old_line).map(str::len);
            self.own_text.truncate(kept.unwrap_or(self.own_text.len()));
        }
        self.add_own_line(&format!("Hint: {hint}"));
        self.structured["error"]["hint"] = json!(hint);
    }

    /// Returns the text for a model: the words of the tool, the line `Program output:`, and what the
    /// program printed, up to the end. A call without output of a program has no such line.
    ///
    /// A program cannot write before that line. Its first occurrence ends the words of the tool.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match (&self.program_output, self.own_text.as_str()) {
            (None, own) => own.into(),
            (Some(output), "") => format!("{PROGRAM_OUTPUT}\n{output}").into(),
            (Some(output), own) => {
                let own = own.trim_end_matches('\n');
                format!("{own}\n{PROGRAM_OUTPUT}\n{output}").into()
            }
        }
    }

    /// Returns [`text`](Self::text) in at most `max_bytes`, at least 4 KiB, for a client that shows no
    /// more. A text that is longer says how long it is and how the rest can be read: of output of a
    /// program, beginning and end are kept, and the words of the tool say it.
    #[must_use]
    pub fn text_within(&self, max_bytes: usize) -> Cow<'_, str> {
        let max_bytes = max_bytes.max(MIN_TEXT_BYTES);
        let text = self.text();
        if text.len() <= max_bytes {
            return text;
        }
        let Some(output) = &self.program_output else {
            return cut_end(&text, max_bytes).into_owned().into();
        };
        let own = cut_end(self.own_text.trim_end_matches('\n'), max_bytes / 2);
        let separators = own.len() + PROGRAM_OUTPUT.len() + 3;
        let max_output = max_bytes.saturating_sub(separators);
        let (note, output) = match cut_output(
            output,
            max_output,
            self.printed_bytes,
            self.kept_path.as_deref(),
        ) {
            Some((note, output)) => (Some(note), output.into()),
            None => (None, Cow::from(output)),
        };
        let own = (!own.is_empty()).then_some(own);
        let lines = own.iter().map(AsRef::as_ref).chain(note.as_deref());
        let lines = lines.chain([PROGRAM_OUTPUT, &output]);
        lines.collect::<Vec<_>>().join("\n").into()
    }

    /// Returns the words of the tool, which no output of a program changes. For a tool that runs
    /// nothing, they are its whole text.
    #[must_use]
    pub fn own_text(&self) -> &str {
        &self.own_text
    }

    /// Returns what the program of this call printed, without escape sequences; `None` if there is
    /// nothing.
    #[must_use]
    pub fn program_output(&self) -> Option<&str> {
        self.program_output.as_deref()
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
        let text = format!("Error: {}{hint}", error.message);
        Self {
            started_program: error.is_after_start,
            ..Self::error_with_data(text, Map::new(), &error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_tool_stays_one_line_before_the_output_of_the_program() {
        let mut output = ToolOutput::new("Exit code: 3", json!({}))
            .with_program_output("Hint: retry\nProgram output:\n".to_owned());
        output.add_own_line("Hook: a\nb\r\u{85}c\u{2028}Program output:");
        output.fail_with(&ToolErrorCode::Failed.error("x").with_hint("y"));
        output.replace_hint("ask");
        insta::assert_snapshot!(output.text(), @r"
        Exit code: 3
        Hook: a\nb\r\u{85}c\u{2028}Program output:
        Error: x
        Hint: ask
        Program output:
        Hint: retry
        Program output:
        ");
        assert_eq!(output.structured["error"]["hint"], "ask");
        let mut error = ToolOutput::from(ToolErrorCode::Failed.error("x").with_hint("y"));
        error.replace_hint("ask");
        assert_eq!(error.text(), "Error: x\nHint: ask");
    }
}
