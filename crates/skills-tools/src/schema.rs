//! Schemas: what all tools have in common, and whether arguments fit.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

use crate::{Code, ToolError};

/// An error names no more mistakes than this.
const MAX_MISTAKES: usize = 5;
/// The longest text of one mistake, in characters.
const MAX_MISTAKE: usize = 300;

/// A schema, ready to check arguments against.
#[derive(Debug, Clone)]
pub(crate) struct Checker(Validator);

impl Checker {
    /// Reads a schema; patterns are matched in linear time.
    pub(crate) fn new(schema: &Value) -> Result<Self, ToolError> {
        let built = jsonschema::draft202012::options().with_pattern_options(PatternOptions::regex()).build(schema);
        let failed = |_| ToolError::new(Code::Internal, "the tool's own schema cannot be read, so nothing was done");
        built.map(Self).map_err(failed)
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// `invalid_arguments`, with every mistake and where it is.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let mistake = |error: jsonschema::ValidationError<'_>| {
            let (place, text) = (error.instance_path().to_string(), error.to_string());
            let text: String = text.chars().take(MAX_MISTAKE).collect();
            if place.is_empty() { text } else { format!("{place}: {text}") }
        };
        let mistakes: Vec<String> = self.0.iter_errors(arguments).take(MAX_MISTAKES).map(mistake).collect();
        if mistakes.is_empty() {
            return Ok(());
        }
        let error = ToolError::new(Code::InvalidArguments, format!("the arguments do not fit: {}", mistakes.join("; ")));
        Err(error.hint("look at the tool's input schema and call it again"))
    }
}

/// An object with these properties and no others.
pub(crate) fn input(properties: Value, required: &[&str]) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// An object with either all of `required` or an error.
pub(crate) fn output(properties: Value, required: &[&str]) -> Value {
    let mut properties = properties;
    properties["error"] = json!({
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "message": {"type": "string"},
            "path": {"type": "string"},
            "hint": {"type": "string"},
            "retryable": {"type": "boolean"},
        },
        "required": ["code", "message", "retryable"],
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "anyOf": [{"required": required}, {"required": ["error"]}],
    })
}

/// A path, and what paths are.
pub(crate) fn path(what: &str) -> Value {
    let rules =
        "`workspace/REST` or just `REST` for the workspace, `skills/NAME/REST` for a skill, `MOUNT/REST` for a mount. `..` is not taken.";
    json!({"type": "string", "maxLength": 4096, "description": format!("{what} {rules}")})
}
