//! Input schemas in the subset that model providers and clients accept.

use serde_json::{Map, Value, json};

use crate::nearest_name::nearest_name;

/// Arguments that clients add to every tool, with the client that does. A tool that does not declare
/// the name never receives it.
const CLIENT_ARGUMENTS: [&str; 1] = [
    "wait_for_previous", // Gemini CLI
];

/// Prefix of keywords that are not part of JSON Schema.
pub(crate) const PRIVATE_PREFIX: &str = "x-";

/// Rewrites an input schema so that providers accept it; the values that it accepts stay the same.
///
/// - `properties` is always present: OpenAI rejects a request with a function that lacks it.
/// - A property with `enum` has a `type`, without which Gemini rejects the request.
/// - Private keywords are removed.
/// - Defaults are repeated in descriptions, since some clients remove the keyword.
pub(crate) fn to_portable(mut schema: Value) -> Value {
    let Some(root) = schema.as_object_mut() else {
        return schema;
    };
    root.retain(|keyword, _| !keyword.starts_with(PRIVATE_PREFIX));
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    let properties = properties.as_object_mut();
    let properties = properties.into_iter().flat_map(Map::values_mut);
    properties
        .filter_map(Value::as_object_mut)
        .for_each(describe_property);
    schema
}

/// Keywords that bound the size of a value. Validation applies them; a model rarely needs them, and
/// each costs as much as a word of a description.
const SIZE_BOUNDS: [&str; 5] = [
    "maxItems",
    "maxLength",
    "maxProperties",
    "minLength",
    "pattern",
];

/// Removes the bounds of sizes from the properties of a schema.
pub(crate) fn remove_size_bounds(mut schema: Value) -> Value {
    let properties = schema["properties"].as_object_mut();
    for property in properties.into_iter().flat_map(Map::values_mut) {
        remove_bounds(property);
        if let Some(values) = property.get_mut("additionalProperties") {
            remove_bounds(values);
        }
    }
    schema
}

fn remove_bounds(schema: &mut Value) {
    if let Some(keywords) = schema.as_object_mut() {
        keywords.retain(|keyword, _| !SIZE_BOUNDS.contains(&keyword.as_str()));
    }
}

/// Removes the arguments that a client added and the tool does not declare.
pub(crate) fn remove_client_arguments(arguments: &mut Value, schema: &Value) {
    let Some(arguments) = arguments.as_object_mut() else {
        return;
    };
    let is_declared = |name: &String| schema["properties"].get(name).is_some();
    arguments.retain(|name, _| is_declared(name) || !CLIENT_ARGUMENTS.contains(&name.as_str()));
}

/// Removes the arguments that a tool does not declare, and returns their names. A name that resembles
/// a declared one stays: it is a mistake, which validation reports.
///
/// Only for tools that change nothing: an ignored `append` or `dry_run` could cost data.
pub(crate) fn remove_unknown_arguments(arguments: &mut Value, schema: &Value) -> Vec<String> {
    let (Some(arguments), Some(declared)) =
        (arguments.as_object_mut(), schema["properties"].as_object())
    else {
        return Vec::new();
    };
    let is_similar = |name: &str| nearest_name(name, declared.keys().map(String::as_str)).is_some();
    let mut removed = Vec::new();
    arguments.retain(|name, _| {
        let is_kept = declared.contains_key(name) || is_similar(name);
        if !is_kept {
            removed.push(name.clone());
        }
        is_kept
    });
    removed
}

fn describe_property(property: &mut Map<String, Value>) {
    property.retain(|keyword, _| !keyword.starts_with(PRIVATE_PREFIX));
    if !property.contains_key("type")
        && let Some(type_name) = property.get("enum").and_then(common_type)
    {
        property.insert("type".to_owned(), type_name.into());
    }
    let default = property.get("default");
    let Some(default) = default.filter(|default| !default.is_null() && *default != "") else {
        return;
    };
    let sentence = match default {
        Value::String(default) => format!("Default: `{default}`."),
        default => format!("Default: {default}."),
    };
    let description = property.get("description").and_then(Value::as_str);
    let description = match description {
        Some(text) if text.to_lowercase().contains("default") => return,
        Some(text) if text.ends_with(['.', '!', '?']) => format!("{text} {sentence}"),
        Some(text) => format!("{text}. {sentence}"),
        None => sentence,
    };
    property.insert("description".to_owned(), description.into());
}

/// Returns the type that all values of an `enum` have, if there is one.
fn common_type(values: &Value) -> Option<&'static str> {
    let mut types = values.as_array()?.iter().map(|value| match value {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
    });
    let first = types.next()?;
    types.all(|next| next == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_accept_the_schema() {
        let schema = json!({
            "type": "object",
            "x-derived": "argparse",
            "properties": {
                "mode": {"enum": ["a", "b"], "default": "a", "description": "How"},
                "level": {"enum": [1, 2]},
                "mixed": {"enum": [1, "two"]},
                "count": {"type": "integer", "default": 3, "description": "Number, 3 by default."},
                "name": {"type": "string", "default": "x"},
            },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "mode": {"enum": ["a", "b"], "type": "string", "default": "a", "description": "How. Default: `a`."},
                "level": {"enum": [1, 2], "type": "integer"},
                "mixed": {"enum": [1, "two"]},
                "count": {"type": "integer", "default": 3, "description": "Number, 3 by default."},
                "name": {"type": "string", "default": "x", "description": "Default: `x`."},
            },
        });
        assert_eq!(to_portable(schema), expected);
        assert_eq!(
            to_portable(json!({"type": "object"})),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn unknown_arguments_are_removed_and_misspelled_ones_stay() {
        let schema = json!({"properties": {"limit": {}}});
        let mut arguments = json!({"other": 1, "limt": 2, "limit": 3});
        let removed = remove_unknown_arguments(&mut arguments, &schema);
        assert_eq!(arguments, json!({"limt": 2, "limit": 3}));
        assert_eq!(removed, ["other"]);
    }

    #[test]
    fn only_undeclared_arguments_of_clients_are_removed() {
        let mut arguments = json!({"wait_for_previous": true, "other": 1});
        remove_client_arguments(&mut arguments, &json!({"properties": {"a": {}}}));
        assert_eq!(arguments, json!({"other": 1}));
        let declared = json!({"properties": {"wait_for_previous": {"type": "boolean"}}});
        let mut arguments = json!({"wait_for_previous": true});
        remove_client_arguments(&mut arguments, &declared);
        assert_eq!(arguments, json!({"wait_for_previous": true}));
    }

    #[test]
    fn only_bounds_of_sizes_are_removed() {
        let schema = json!({"properties": {
            "a": {"type": "string", "maxLength": 3, "pattern": "x"},
            "n": {"type": "integer", "minimum": 1},
            "o": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
        }});
        let expected = json!({"properties": {
            "a": {"type": "string"},
            "n": {"type": "integer", "minimum": 1},
            "o": {"type": "object", "additionalProperties": {"type": "string"}},
        }});
        assert_eq!(remove_size_bounds(schema), expected);
    }
}
