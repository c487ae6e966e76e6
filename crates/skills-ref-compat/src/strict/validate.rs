//! The checks of the reference validator, in its order and with its messages.

use unicode_normalization::UnicodeNormalization;

use super::error::StrictError;
use super::python::{is_alphanumeric, repr, strip};
use super::value::Value;

const NAME_MAX_CHARACTERS: usize = 64;
const DESCRIPTION_MAX_CHARACTERS: usize = 1024;
const COMPATIBILITY_MAX_CHARACTERS: usize = 500;
/// The fields of the specification, in the order of the message that lists them.
const FIELDS: [&str; 6] = [
    "allowed-tools",
    "compatibility",
    "description",
    "license",
    "metadata",
    "name",
];

/// Returns all errors in the fields of a skill in a directory called `directory`.
pub(super) fn validate(fields: &[(String, Value)], directory: &str) -> Vec<StrictError> {
    let mut errors = unexpected_fields(fields);
    match required_field(fields, "name").and_then(|value| required_text("name", value)) {
        Ok(name) => check_name(strip(name), directory, &mut errors),
        Err(error) => errors.push(error),
    }
    let description = required_field(fields, "description");
    match description.and_then(|value| required_text("description", value)) {
        Ok(text) => {
            let (code, max) = ("description-long", DESCRIPTION_MAX_CHARACTERS);
            errors.extend(check_length(code, "Description", text, max));
        }
        Err(error) => errors.push(error),
    }
    match field(fields, "compatibility") {
        None => {}
        Some(Value::Text(text)) => {
            let (code, max) = ("compatibility-long", COMPATIBILITY_MAX_CHARACTERS);
            errors.extend(check_length(code, "Compatibility", text, max));
        }
        Some(_) => errors.push(StrictError::new(
            "compatibility-type",
            "Field 'compatibility' must be a string".to_owned(),
        )),
    }
    errors
}

pub(super) fn field<'a>(fields: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    let found = fields.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value)
}

pub(super) fn required_field<'a>(
    fields: &'a [(String, Value)],
    key: &str,
) -> Result<&'a Value, StrictError> {
    field(fields, key).ok_or_else(|| {
        let message = format!("Missing required field in frontmatter: {key}");
        StrictError::new("field-missing", message)
    })
}

pub(super) fn required_text<'a>(key: &str, value: &'a Value) -> Result<&'a str, StrictError> {
    match value {
        Value::Text(text) if !strip(text).is_empty() => Ok(text),
        _ => Err(StrictError::new(
            "field-empty",
            format!("Field '{key}' must be a non-empty string"),
        )),
    }
}

fn check_length(code: &'static str, what: &str, text: &str, max: usize) -> Option<StrictError> {
    let characters = text.chars().count();
    let message = format!("{what} exceeds {max} character limit ({characters} chars)");
    (characters > max).then(|| StrictError::new(code, message))
}

fn unexpected_fields(fields: &[(String, Value)]) -> Vec<StrictError> {
    let mut unknown: Vec<&str> = fields
        .iter()
        .map(|(key, _)| key.as_str())
        .filter(|key| !FIELDS.contains(key))
        .collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    unknown.sort_unstable();
    let allowed = FIELDS.map(repr).join(", ");
    let message = format!(
        "Unexpected fields in frontmatter: {}. Only [{allowed}] are allowed.",
        unknown.join(", ")
    );
    vec![StrictError::new("field-unknown", message)]
}

fn check_name(text: &str, directory: &str, errors: &mut Vec<StrictError>) {
    // All checks of the name, including its length, are on the normalized form.
    let name: String = text.nfkc().collect();
    let what = format!("Skill name '{name}'");
    errors.extend(check_length("name-long", &what, &name, NAME_MAX_CHARACTERS));
    let mut error = |code, message| errors.push(StrictError::new(code, message));
    if name != name.to_lowercase() {
        error(
            "name-case",
            format!("Skill name '{name}' must be lowercase"),
        );
    }
    if name.starts_with('-') || name.ends_with('-') {
        error(
            "name-hyphen",
            "Skill name cannot start or end with a hyphen".to_owned(),
        );
    }
    if name.contains("--") {
        error(
            "name-hyphen",
            "Skill name cannot contain consecutive hyphens".to_owned(),
        );
    }
    if !name.chars().all(|c| c == '-' || is_alphanumeric(c)) {
        let message = format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        );
        error("name-characters", message);
    }
    // File systems normalize names differently; both sides are compared under NFKC.
    if directory.nfkc().collect::<String>() != name {
        error(
            "name-directory",
            format!("Directory name '{directory}' must match skill name '{name}'"),
        );
    }
}
