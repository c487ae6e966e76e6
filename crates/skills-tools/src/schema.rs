//! Schemas of tools: common parts.

use serde_json::{Value, json};

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
