//! Input schemas in the subset that model providers and clients accept.

use serde_json::{Map, Value, json};

/// Arguments that clients add to every tool, with the client that does. A tool that does not declare
/// the name never receives it.
const CLIENT_ARGUMENTS: [&str; 1] = [
    "wait_for_previous", // Gemini CLI
];

/// Prefix of keywords that are not part of JSON Schema.
const PRIVATE_PREFIX: &str = "x-";

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

/// Removes the arguments that a client added and the tool does not declare.
pub(crate) fn remove_client_arguments(arguments: &mut Value, schema: &Value) {
    let Some(arguments) = arguments.as_object_mut() else {
        return;
    };
    let is_declared = |name: &String| schema["properties"].get(name).is_some();
    arguments.retain(|name, _| is_declared(name) || !CLIENT_ARGUMENTS.contains(&name.as_str()));
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
    fn only_undeclared_arguments_of_clients_are_removed() {
        let mut arguments = json!({"wait_for_previous": true, "other": 1});
        remove_client_arguments(&mut arguments, &json!({"properties": {"a": {}}}));
        assert_eq!(arguments, json!({"other": 1}));
        let declared = json!({"properties": {"wait_for_previous": {"type": "boolean"}}});
        let mut arguments = json!({"wait_for_previous": true});
        remove_client_arguments(&mut arguments, &declared);
        assert_eq!(arguments, json!({"wait_for_previous": true}));
    }
}
