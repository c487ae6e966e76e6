//! The checks of the reference validator, in its order and with its messages.

use unicode_normalization::UnicodeNormalization;

use super::python::{is_alphanumeric, repr, strip};
use super::{StrictError, Value};

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
    let field = |key: &str| {
        fields
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    };
    let mut errors = unexpected_fields(fields);
    match field("name") {
        None => errors.push(missing_field("name")),
        Some(value) => check_name(value, directory, &mut errors),
    }
    match field("description") {
        None => errors.push(missing_field("description")),
        Some(value) => check_description(value, &mut errors),
    }
    if let Some(value) = field("compatibility") {
        check_compatibility(value, &mut errors);
    }
    errors
}

fn missing_field(key: &str) -> StrictError {
    StrictError::new(
        "field-missing",
        format!("Missing required field in frontmatter: {key}"),
    )
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

fn check_name(value: &Value, directory: &str, errors: &mut Vec<StrictError>) {
    let text = match value {
        Value::Text(text) if !strip(text).is_empty() => strip(text),
        _ => {
            return errors.push(StrictError::new(
                "field-empty",
                "Field 'name' must be a non-empty string".to_owned(),
            ));
        }
    };
    // All checks of the name, including its length, are on the normalized form.
    let name: String = text.nfkc().collect();
    let mut error = |code, message| errors.push(StrictError::new(code, message));
    let characters = name.chars().count();
    if characters > NAME_MAX_CHARACTERS {
        error(
            "name-long",
            format!(
                "Skill name '{name}' exceeds {NAME_MAX_CHARACTERS} character limit ({characters} chars)"
            ),
        );
    }
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

fn check_description(value: &Value, errors: &mut Vec<StrictError>) {
    let text = match value {
        Value::Text(text) if !strip(text).is_empty() => text,
        _ => {
            return errors.push(StrictError::new(
                "field-empty",
                "Field 'description' must be a non-empty string".to_owned(),
            ));
        }
    };
    let characters = text.chars().count();
    if characters > DESCRIPTION_MAX_CHARACTERS {
        let message = format!(
            "Description exceeds {DESCRIPTION_MAX_CHARACTERS} character limit ({characters} chars)"
        );
        errors.push(StrictError::new("description-long", message));
    }
}

fn check_compatibility(value: &Value, errors: &mut Vec<StrictError>) {
    let Value::Text(text) = value else {
        return errors.push(StrictError::new(
            "compatibility-type",
            "Field 'compatibility' must be a string".to_owned(),
        ));
    };
    let characters = text.chars().count();
    if characters > COMPATIBILITY_MAX_CHARACTERS {
        let message = format!(
            "Compatibility exceeds {COMPATIBILITY_MAX_CHARACTERS} character limit ({characters} chars)"
        );
        errors.push(StrictError::new("compatibility-long", message));
    }
}
