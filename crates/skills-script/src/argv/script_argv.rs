//! The arguments and the input of a call of a script.

use serde_json::{Map, Value};

use super::error::ArgvError;
use crate::argument::STDIN_TEXT;

/// The command line and the standard input of one call of a script.
///
/// Made by [`build_argv`](crate::build_argv). Words are passed to the program as they are: no shell splits or expands
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptArgv {
    /// The words after the script's name.
    pub args: Vec<String>,
    /// Standard input of the script.
    pub stdin: Option<String>,
}

/// Returns the text for standard input, if there is one.
pub(super) fn stdin_text(given: &Map<String, Value>) -> Result<Option<String>, ArgvError> {
    match given.get(STDIN_TEXT) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ArgvError::Unexpected {
            argument: STDIN_TEXT.to_owned(),
            expected: "a text",
        }),
    }
}
