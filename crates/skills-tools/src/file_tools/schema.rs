//! Parts of the schemas of the tools for files.

use serde_json::{Value, json};

/// An object with these properties and no others.
pub(super) fn input(properties: Value, required: &[&str]) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// An object with either all of `required` or an error.
pub(super) fn output(properties: Value, required: &[&str]) -> Value {
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
pub(super) fn path(what: &str) -> Value {
    let rules =
        "`workspace/REST` or just `REST` for the workspace, `skills/NAME/REST` for a skill, `MOUNT/REST` for a mount. `..` is not taken.";
    json!({"type": "string", "maxLength": 4096, "description": format!("{what} {rules}")})
}
