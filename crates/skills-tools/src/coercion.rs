//! Arguments as some clients send them, converted to the types of the input schema.
//!
//! A value is converted only if it does not have a type of the schema, and if nothing is lost: its text
//! or its value stays the same. All others are mistakes, which validation reports.

use serde_json::{Map, Value};

/// Number of significant digits that a 64-bit float keeps of every decimal number.
const EXACT_DIGITS: usize = 15;

/// Converts the values of arguments for the properties of a schema.
///
/// - Text that is a number, `true`, `false`, a list or an object in JSON becomes that value.
/// - An integer becomes text where text is expected.
/// - `null` of an optional property counts as absent.
pub(crate) fn coerce(value: &mut Value, schema: &Value) {
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
        let converted = match value {
            Value::String(text) => parse(text).filter(|parsed| {
                let mut types = types.iter();
                types.any(|name| has_type(parsed, name))
            }),
            // A fraction has no spelling of its own any more: `1.50` was read as 1.5.
            Value::Number(number) if !number.is_f64() && types.contains(&"string") => {
                Some(Value::String(number.to_string()))
            }
            _ => None,
        };
        if let Some(converted) = converted {
            *value = converted;
        }
    }
    match value {
        Value::Object(given) => coerce_properties(given, schema),
        Value::Array(items) => {
            if let Some(of_items) = schema.get("items") {
                items.iter_mut().for_each(|item| coerce(item, of_items));
            }
        }
        _ => {}
    }
}

fn coerce_properties(given: &mut Map<String, Value>, schema: &Value) {
    let declared = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|one| one == name)
    };
    given.retain(|name, value| {
        let property = declared.and_then(|declared| declared.get(name));
        let types = property.map(types).unwrap_or_default();
        let is_absent = value.is_null() && !types.is_empty() && !types.contains(&"null");
        !is_absent || is_required(name)
    });
    let others = schema.get("additionalProperties");
    for (name, value) in given {
        let property = declared.and_then(|declared| declared.get(name));
        if let Some(property) = property.or(others) {
            coerce(value, property);
        }
    }
}

/// Returns what a value that has no type of the schema was probably meant to be, as JSON; `None` if that
/// is not clear.
pub(crate) fn near_form(value: &Value, schema: &Map<String, Value>) -> Option<String> {
    let schema = Value::Object(schema.clone());
    let types = types(&schema);
    let accepts = |form: &Value| types.iter().any(|name| has_type(form, name));
    let form = match value {
        Value::String(text) => {
            let text = text.trim();
            let lower = || parse(&text.to_ascii_lowercase()).filter(Value::is_boolean);
            parse(text).or_else(lower)?
        }
        // An integer has been converted.
        Value::Number(number) if !number.is_f64() => return None,
        Value::Number(_) | Value::Bool(_) if types.contains(&"string") => value.to_string().into(),
        _ => return None,
    };
    accepts(&form).then(|| form.to_string())
}

/// Returns the types that a schema accepts: those of `type`, else those of the values of `enum`. Empty if
/// it accepts all.
fn types(schema: &Value) -> Vec<&str> {
    match (schema.get("type"), schema.get("enum")) {
        (Some(Value::String(name)), _) => vec![name],
        (Some(Value::Array(names)), _) => names.iter().filter_map(Value::as_str).collect(),
        (None, Some(Value::Array(values))) => values.iter().map(type_name).collect(),
        _ => Vec::new(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns true if a value has the type of this name. `1.0` is an integer.
pub(crate) fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        name => type_name(value) == name,
    }
}

/// Parses JSON that is not text and has no space around it. `None` for a number that would be rounded.
fn parse(text: &str) -> Option<Value> {
    if text.trim() != text {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Value::String(_) => None,
        // Of a key that is given twice, the parser keeps one value.
        value if count_keys(&value) != count_written_keys(text) => None,
        Value::Number(number) if number.is_f64() && !is_exact(text) => None,
        value => Some(value),
    }
}

fn count_keys(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_keys).sum(),
        Value::Object(object) => object.len() + object.values().map(count_keys).sum::<usize>(),
        _ => 0,
    }
}

/// Returns the number of keys in a valid JSON text: that of the colons outside of strings.
fn count_written_keys(text: &str) -> usize {
    let (mut keys, mut in_string) = (0, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => in_string = !in_string,
            b':' if !in_string => keys += 1,
            _ => {}
        }
    }
    keys
}

/// Returns true if a float has the value of its text.
fn is_exact(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.trim_start_matches(['-', '0', '.']);
    let digits = digits.chars().filter(char::is_ascii_digit).count();
    // Without an exponent it can be neither too small nor too large for so few digits.
    digits <= EXACT_DIGITS && mantissa.len() == text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, given: Value, expected: Value) {
        let schema = json!({"properties": {"a": schema}, "type": "object"});
        let mut arguments = json!({"a": given});
        coerce(&mut arguments, &schema);
        assert_eq!(arguments, json!({"a": expected}), "{given} for {schema}");
        let before = arguments.clone();
        coerce(&mut arguments, &schema);
        assert_eq!(arguments, before, "a second time");
    }

    #[test]
    fn text_becomes_the_value_that_the_schema_wants() {
        for (kind, text, expected) in [
            ("integer", "5", json!(5)),
            ("integer", "-5", json!(-5)),
            ("integer", "18446744073709551615", json!(u64::MAX)),
            ("number", "0.1", json!(0.1)),
            ("number", "12.50", json!(12.5)),
            ("boolean", "true", json!(true)),
            ("boolean", "false", json!(false)),
            ("array", "[1, \"x\"]", json!([1, "x"])),
            ("object", "{\"k\": [null]}", json!({"k": [null]})),
        ] {
            check(json!({"type": kind}), json!(text), expected);
        }
        check(
            json!({"type": ["integer", "null"]}),
            json!("null"),
            json!(null),
        );
        check(json!({"enum": [1, 2]}), json!("2"), json!(2));
        check(json!({"enum": ["1", "2"]}), json!(2), json!("2"));
        check(json!({"type": "string"}), json!(7), json!("7"));
        check(
            json!({"type": "string"}),
            json!(u64::MAX),
            json!(u64::MAX.to_string()),
        );
    }

    #[test]
    fn text_stays_where_the_schema_accepts_it() {
        for text in ["5", "true", "null", "[1]", "{}", " 5"] {
            check(json!({"type": "string"}), json!(text), json!(text));
            check(
                json!({"type": ["array", "string"]}),
                json!(text),
                json!(text),
            );
            check(json!({}), json!(text), json!(text));
        }
        check(json!({"enum": [1, "two"]}), json!("1"), json!("1"));
    }

    #[test]
    fn what_could_be_lost_or_mean_something_else_stays() {
        for (kind, given) in [
            ("integer", json!(" 5")),
            ("integer", json!("5\n")),
            ("integer", json!("05")),
            ("integer", json!("+5")),
            ("integer", json!("0x10")),
            ("integer", json!("1_000")),
            ("integer", json!("5.5")),
            ("integer", json!("1e3")),
            ("integer", json!("12345678901234567890123")),
            ("integer", json!("\u{ff15}")),
            ("integer", json!("")),
            ("integer", json!(true)),
            ("number", json!("0.12345678901234567890")),
            ("number", json!("1e-400")),
            ("number", json!("NaN")),
            ("boolean", json!("True")),
            ("boolean", json!("yes")),
            ("boolean", json!(1)),
            ("boolean", json!("1")),
            ("array", json!("a")),
            ("array", json!("a,b")),
            ("array", json!("{}")),
            ("object", json!("[]")),
            ("object", json!("{'a': 1}")),
            ("object", json!("{\"a\":1,\"a\":2}")),
            ("array", json!("[{\"b\":{\"a\":1,\"\\u0061\":2}}]")),
            // The text `1.50` is a number that the parser has shortened already.
            ("string", json!(1.5)),
            ("string", json!(true)),
            ("string", json!([1])),
            ("string", json!({"a": 1})),
        ] {
            check(json!({"type": kind}), given.clone(), given);
        }
    }

    #[test]
    fn nested_values_are_converted_as_deep_as_the_schema() {
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        check(numbers.clone(), json!("[\"1\", 2]"), json!([1, 2]));
        check(numbers, json!(["1", "x"]), json!([1, "x"]));
        let variables = json!({"type": "object", "additionalProperties": {"type": "string"}});
        check(
            variables,
            json!({"N": 5, "M": null}),
            json!({"N": "5", "M": null}),
        );
        // What the schema does not describe is data.
        let data = json!({"type": "object"});
        check(data.clone(), json!({"n": "5"}), json!({"n": "5"}));
        check(data.clone(), json!("{\"n\": \"5\"}"), json!({"n": "5"}));
        let keys = json!({"a\":": ":\\\":", "b": [{"a": {}}]});
        check(data, json!(keys.to_string()), keys);
    }

    #[test]
    fn null_is_absent_only_for_an_optional_property_without_it() {
        let schema = json!({"required": ["r"], "properties": {
            "r": {"type": "string"}, "o": {"type": "string"}, "n": {"type": ["string", "null"]}, "any": {}}});
        let mut arguments = json!({"r": null, "o": null, "n": null, "any": null, "x": null});
        coerce(&mut arguments, &schema);
        assert_eq!(
            arguments,
            json!({"r": null, "n": null, "any": null, "x": null})
        );
    }

    #[test]
    fn a_near_form_is_named_for_what_is_not_converted() {
        let near = |kind: &str, value: Value| {
            let schema = json!({"type": kind});
            near_form(&value, schema.as_object().unwrap())
        };
        assert_eq!(near("boolean", json!("True")).as_deref(), Some("true"));
        assert_eq!(near("integer", json!(" 5 ")).as_deref(), Some("5"));
        assert_eq!(near("string", json!(1.5)).as_deref(), Some("\"1.5\""));
        assert_eq!(near("string", json!(true)).as_deref(), Some("\"true\""));
        let list = near("array", json!(" [\"A\"]"));
        assert_eq!(list.as_deref(), Some("[\"A\"]"));
        assert_eq!(near("integer", json!("five")), None);
        assert_eq!(near("boolean", json!("1")), None);
    }
}
