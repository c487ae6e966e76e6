//! The fields that the Agent Skills specification defines, as readers of published skills validate
//! them.

use serde_json::{Map, Value};

use super::unpublished::UnpublishedReason;
use crate::sanitize::MAX_DESCRIPTION_CHARS;

/// Maximum length of `compatibility`, in characters.
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// Checks the optional fields and the length of the description. A reader of a list rejects the
/// whole list because of one invalid skill, so such a skill must not be in it.
pub(super) fn check_fields(
    description: &str,
    fields: &Map<String, Value>,
) -> Result<(), UnpublishedReason> {
    // Characters and not bytes, as readers count.
    let characters = description.chars().count();
    if characters > MAX_DESCRIPTION_CHARS {
        return Err(UnpublishedReason::LongDescription { characters });
    }
    for (field, expected, is_valid) in RULES {
        if fields.get(field).is_some_and(|value| !is_valid(value)) {
            return Err(UnpublishedReason::InvalidField { field, expected });
        }
    }
    Ok(())
}

/// Replaces values of `metadata` that are not text by their JSON text, and returns whether there were
/// any. Many skills nest settings of one client there, and readers of lists take texts only.
pub(super) fn convert_metadata(fields: &mut Map<String, Value>) -> bool {
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let mut is_converted = false;
    for value in metadata.into_iter().flat_map(Map::values_mut) {
        if !value.is_string() {
            *value = Value::String(value.to_string());
            is_converted = true;
        }
    }
    is_converted
}

/// A field, what it has to be, and the check of a value that is present.
type FieldRule = (&'static str, &'static str, fn(&Value) -> bool);

const RULES: [FieldRule; 4] = [
    (
        "compatibility",
        "text of 1 to 500 characters",
        is_compatibility,
    ),
    ("license", "text", Value::is_string),
    ("metadata", "a mapping", Value::is_object),
    ("allowed-tools", "text or a list of texts", is_text_or_list),
];

fn is_compatibility(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| (1..=MAX_COMPATIBILITY_CHARS).contains(&text.chars().count()))
}

fn is_text_or_list(value: &Value) -> bool {
    value.is_string()
        || value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string))
}
