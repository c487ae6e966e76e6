//! Schemas of tools: common parts, and validation of arguments.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};
use skills_runtime::is_invisible;

use crate::virtual_path::escape_and_truncate;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of mistakes in one error message.
const MAX_ERRORS: usize = 5;
/// Maximum length of the text of one mistake, in characters.
const MAX_ERROR_CHARS: usize = 300;
/// Maximum length of the location of a mistake, in characters.
const MAX_LOCATION_CHARS: usize = 100;
/// Maximum length of a value in an error message, in characters; longer values are replaced.
const MAX_VALUE_CHARS: usize = 60;

/// A compiled schema that validates arguments.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentValidator(Validator);

impl ArgumentValidator {
    /// Compiles a schema. Patterns are matched in linear time.
    pub(crate) fn new(schema: &Value) -> Result<Self, ToolError> {
        let built = jsonschema::draft202012::options()
            // Patterns come from skills; backtracking could take exponential time.
            .with_pattern_options(PatternOptions::regex())
            .build(schema);
        let failed = |_| {
            ToolErrorCode::Internal
                .error("cannot compile the input schema of the tool; nothing was done")
        };
        built.map(Self).map_err(failed)
    }

    /// Validates arguments.
    ///
    /// # Errors
    /// `invalid_arguments`, with the first mistakes, their locations, and the number of further
    /// mistakes.
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
        // Counted and not listed: arguments can have as many mistakes as values.
        let more = match errors.count() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let error = ToolErrorCode::InvalidArguments
            .error(format!("invalid arguments: {}{more}", mistakes.join("; ")));
        Err(error.with_hint("check the input schema of the tool, then retry"))
    }
}

fn describe_error(error: &ValidationError<'_>) -> String {
    // The text contains parts of the arguments and goes into logs and terminals. Backslashes stay,
    // since JSON and patterns contain them.
    let escape = |text: &str, max| escape_and_truncate(text, max, is_invisible);
    let location = escape(&error.instance_path().to_string(), MAX_LOCATION_CHARS);
    let text = escape(&error_reason(error), MAX_ERROR_CHARS);
    if location.is_empty() {
        text
    } else {
        format!("{location}: {text}")
    }
}

/// Replaces the value in the message of `jsonschema`, which begins with the value, however long it
/// is.
fn error_reason(error: &ValidationError<'_>) -> String {
    // Its message repeats that of the inner error, and with it the value.
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

/// Returns the schema of an object with exactly these properties.
pub(crate) fn input_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the schema of an object that has either all of `required` or an error.
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
        // Clients validate results against the schema, and failed calls have results, too.
        "anyOf": [{"required": required}, {"required": ["error"]}],
    })
}

/// Returns the schema of a virtual path.
pub(crate) fn path_schema() -> Value {
    json!({"type": "string", "maxLength": 4096})
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
        assert_eq!(error.message, format!("invalid arguments: {expected}"));
    }

    #[test]
    fn long_values_do_not_hide_the_reason() {
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
    fn long_names_are_truncated_and_invisible_characters_escaped() {
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
    fn further_mistakes_are_counted() {
        let properties = json!({"a": {"items": {"type": "string"}}});
        let expected = |count: usize| {
            (0..count)
                .map(|at| format!("/a/{at}: 1 is not of type \"string\""))
                .collect::<Vec<_>>()
                .join("; ")
        };
        check(
            properties.clone(),
            &json!({"a": [1, 1, 1, 1, 1]}),
            &expected(5),
        );
        check(
            properties,
            &json!({"a": [1, 1, 1, 1, 1, 1, 1]}),
            &format!("{}; and 2 more", expected(5)),
        );
    }
}
