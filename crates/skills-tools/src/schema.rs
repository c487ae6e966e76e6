//! Schemas: what all tools have in common, and whether arguments fit.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};
use skills_runtime::is_invisible;

use crate::{ToolError, ToolErrorCode};

/// An error names no more mistakes than this.
const MAX_ERRORS: usize = 5;
/// The longest text of one mistake, in characters.
const MAX_ERROR_CHARS: usize = 300;
/// The longest text of the place of a mistake, in characters.
const MAX_LOCATION_CHARS: usize = 100;
/// The longest value that an error shows, in characters; of a longer one only the mistake is told.
const MAX_VALUE_CHARS: usize = 60;

/// A schema, ready to check arguments against.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentValidator(Validator);

impl ArgumentValidator {
    /// Reads a schema; patterns are matched in linear time.
    pub(crate) fn new(schema: &Value) -> Result<Self, ToolError> {
        let built = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex())
            .build(schema);
        let failed = |_| {
            ToolError::new(
                ToolErrorCode::Internal,
                "the tool's own schema cannot be read, so nothing was done",
            )
        };
        built.map(Self).map_err(failed)
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// `invalid_arguments`, with the first mistakes, where they are, and how many more there are.
    pub(crate) fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let mut errors = self.0.iter_errors(arguments);
        let mistakes: Vec<String> = errors
            .by_ref()
            .take(MAX_ERRORS)
            .map(|error| describe_error(&error))
            .collect();
        if mistakes.is_empty() {
            return Ok(());
        }
        let more = match errors.count() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let error = ToolError::new(
            ToolErrorCode::InvalidArguments,
            format!("the arguments do not fit: {}{more}", mistakes.join("; ")),
        );
        Err(error.with_hint("look at the tool's input schema and call it again"))
    }
}

fn describe_error(error: &ValidationError<'_>) -> String {
    let (place, text) = (
        escape_and_truncate(&error.instance_path().to_string(), MAX_LOCATION_CHARS),
        escape_and_truncate(&error_reason(error), MAX_ERROR_CHARS),
    );
    if place.is_empty() {
        text
    } else {
        format!("{place}: {text}")
    }
}

/// The library's text has the value first, however long that is.
fn error_reason(error: &ValidationError<'_>) -> String {
    if let ValidationErrorKind::PropertyNames { error } = error.kind() {
        return error_reason(error);
    }
    let value = error.instance().to_string();
    let value = if value.chars().count() > MAX_VALUE_CHARS {
        "the value"
    } else {
        &value
    };
    error.masked_with(value).to_string()
}

/// Makes a text safe to show, and cuts it. Backslashes stay, as JSON and patterns have them.
fn escape_and_truncate(text: &str, max_characters: usize) -> String {
    let escaped = |c: char| {
        if is_invisible(c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    let mut plain: String = text.chars().take(max_characters).map(escaped).collect();
    if text.chars().nth(max_characters).is_some() {
        plain.push('…');
    }
    plain
}

/// An object with these properties and no others.
pub(crate) fn input_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// An object with either all of `required` or an error.
pub(crate) fn output_schema(properties: Value, required: &[&str]) -> Value {
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
pub(crate) fn path_schema(what: &str) -> Value {
    let rules = "`workspace/REST` or just `REST` for the workspace, `skills/NAME/REST` for a skill, `MOUNT/REST` for a mount. `..` is not taken.";
    json!({"type": "string", "maxLength": 4096, "description": format!("{what} {rules}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(properties: Value, arguments: &Value, expected: &str) {
        let error = ArgumentValidator::new(&input_schema(properties, &[]))
            .unwrap()
            .validate(arguments)
            .unwrap_err();
        assert_eq!(
            error.message,
            format!("the arguments do not fit: {expected}")
        );
    }

    #[test]
    fn the_reason_is_told_however_long_the_value_is() {
        let properties = json!({"a": {"type": "string", "maxLength": 3}, "b": {"type": "object", "propertyNames": {"maxLength": 3}}});
        check(
            properties.clone(),
            &json!({"a": "x".repeat(10_000)}),
            "/a: the value is longer than 3 characters",
        );
        check(
            properties.clone(),
            &json!({"a": "abcd"}),
            "/a: \"abcd\" is longer than 3 characters",
        );
        check(
            properties,
            &json!({"b": {"x".repeat(10_000): 1}}),
            "/b: the value is longer than 3 characters",
        );
    }

    #[test]
    fn long_names_are_cut_and_hidden_characters_are_written_out() {
        let properties = json!({"a": {"additionalProperties": {"type": "string"}}});
        let expected = format!("/a/{}…: 1 is not of type \"string\"", "x".repeat(97));
        check(
            properties.clone(),
            &json!({"a": {"x".repeat(10_000): 1}}),
            &expected,
        );
        check(
            properties.clone(),
            &json!({"a": {"\u{202e}": 1}}),
            "/a/\\u{202e}: 1 is not of type \"string\"",
        );
        let unexpected = "Additional properties are not allowed ('\\u{200b}\\n' was unexpected)";
        check(properties, &json!({"\u{200b}\n": 1}), unexpected);
        let typed = json!({"a": {"type": "integer"}});
        check(
            typed,
            &json!({"a": "\u{202e}\\d"}),
            "/a: \"\\u{202e}\\\\d\" is not of type \"integer\"",
        );
    }

    #[test]
    fn what_is_not_told_is_counted() {
        let properties = json!({"a": {"items": {"type": "string"}}});
        let told = |count: usize| {
            (0..count)
                .map(|at| format!("/a/{at}: 1 is not of type \"string\""))
                .collect::<Vec<_>>()
                .join("; ")
        };
        check(properties.clone(), &json!({"a": [1, 1, 1, 1, 1]}), &told(5));
        check(
            properties,
            &json!({"a": [1, 1, 1, 1, 1, 1, 1]}),
            &format!("{}; and 2 more", told(5)),
        );
    }
}
