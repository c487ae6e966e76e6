//! Schemas of tools: common parts.

use serde_json::{Value, json};
use skills_runtime::{Catalog, SkillRuntime};

/// Maximum number of names that a schema lists.
const MAX_ENUM_NAMES: usize = 100;
/// Maximum number of bytes of all names in a schema together.
const MAX_ENUM_BYTES: usize = 4 * 1024;

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

/// Returns the schema of a skill name, without listing names.
pub(crate) fn any_skill_name_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill; find it with search_skills."})
}

/// Returns the schema of a skill name as an `enum` of the available skills, unless there are too
/// many to list.
pub(crate) fn skill_name_schema(runtime: &SkillRuntime, catalog: &Catalog) -> Value {
    let mut names: Vec<&str> = catalog
        .entries()
        .iter()
        .filter(|entry| runtime.library().is_model_invocable(entry))
        .map(|entry| entry.name().as_str())
        .collect();
    // Ambiguous names occur several times, next to each other, and the values of an `enum` should
    // be unique.
    names.dedup();
    let bytes: usize = names.iter().map(|name| name.len()).sum();
    if names.is_empty() || names.len() > MAX_ENUM_NAMES || bytes > MAX_ENUM_BYTES {
        return any_skill_name_schema();
    }
    json!({"type": "string", "enum": names, "description": "Name of the skill."})
}
