//! What the commands of a line print.

use skills_runtime::CapturedOutput;

use super::usage::MAX_PASSED_BYTES;
use crate::{ToolError, ToolErrorCode};

/// What commands printed, byte by byte and as a model sees it.
#[derive(Default)]
pub(super) struct Printed {
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
}

impl Printed {
    pub(super) fn is_empty(&self) -> bool {
        self.stdout.bytes.is_empty() && self.stderr.bytes.is_empty()
    }
}

#[derive(Default, Clone)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
}

impl Stream {
    pub(super) fn new(captured: &CapturedOutput, text: &str) -> Self {
        Self {
            bytes: captured.head().to_vec(),
            text: text.to_owned(),
        }
    }

    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { bytes, text }
    }

    pub(super) fn append(&mut self, other: &Self) -> Result<(), ToolError> {
        self.bytes.extend_from_slice(&other.bytes);
        self.text.push_str(&other.text);
        if self.bytes.len().max(self.text.len()) > MAX_PASSED_BYTES {
            return Err(too_much_output());
        }
        Ok(())
    }
}

/// Returns what was printed as a text. As it was printed: it is for programs, which do not know what a model
/// sees.
pub(super) fn text_of_output(bytes: Vec<u8>) -> Result<String, ToolError> {
    let text = String::from_utf8(bytes).ok();
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        ToolErrorCode::InvalidArguments
            .error("the output of a command in a word is not UTF-8, or contains a NUL character")
    })
}

pub(super) fn too_much_output() -> ToolError {
    ToolErrorCode::TooLarge
        .error(format!(
            "a command of the line printed more than {} MiB",
            MAX_PASSED_BYTES >> 20
        ))
        .with_hint("limit its output, or write it to a file with a script")
}
