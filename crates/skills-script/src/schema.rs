//! Argument schemas of scripts, as JSON Schema 2020-12.

use jsonschema::PatternOptions;
use serde_json::{Map, Value, json};

use super::argument::{Argument, ArgumentStyle, Arguments, JsonType};
use super::{ScriptWarning, text};

/// Maximum length of the description of an argument, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Maximum length of a value or pattern, in characters.
const MAX_VALUE_CHARS: usize = 300;
/// Maximum number of values of an `enum`.
const MAX_VALUES: usize = 100;

/// Returns the input schema of a script.
///
/// Known arguments are the only properties. If they are unknown, any object is valid. Inferred
/// schemas are marked with `x-derived`.
pub(crate) fn input_schema(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Unknown => json!({"type": "object", "additionalProperties": true}),
        Arguments::Declared(arguments) => Value::Object(closed_object(arguments)),
        Arguments::Inferred(arguments) => {
            let mut schema = closed_object(arguments);
            schema.insert("x-derived".to_owned(), "argparse".into());
            Value::Object(schema)
        }
    }
}

/// Sanitizes a description. Returns `None` if nothing is left.
pub(super) fn clean_description(text: &str) -> Option<String> {
    Some(text::one_line(text, MAX_DESCRIPTION_CHARS)).filter(|line| !line.is_empty())
}

/// Extracts the keywords that apply to the type of an argument, under their names in JSON Schema.
///
/// Unusable keywords cause a warning: kept, they would make the schema invalid or show invisible
/// text to the model.
pub(super) fn parse_keywords(
    argument: &str,
    kind: JsonType,
    declared: &Map<String, Value>,
    warnings: &mut Vec<ScriptWarning>,
) -> Map<String, Value> {
    let mut found = Map::new();
    for keyword in KEYWORDS
        .iter()
        .filter(|keyword| keyword.types.is_empty() || keyword.types.contains(&kind))
    {
        let Some(value) = keyword
            .aliases
            .iter()
            // The name of JSON Schema comes first in the list and wins over aliases.
            .find_map(|name| declared.get(*name))
            .filter(|value| !value.is_null())
        else {
            continue;
        };
        match (keyword.parse)(value) {
            Some(value) => {
                found.insert(keyword.name.to_owned(), value);
            }
            None => warnings.push(ScriptWarning::InvalidKeyword {
                argument: argument.to_owned(),
                keyword: keyword.name,
            }),
        }
    }
    if kind == JsonType::Array {
        found
            .entry("items")
            .or_insert_with(|| json!({"type": "string"}));
    }
    found
}

/// A keyword of JSON Schema that an argument can have.
struct Keyword {
    /// The name in JSON Schema.
    name: &'static str,
    /// The spellings in skills.
    aliases: &'static [&'static str],
    /// The types that it applies to; empty for all.
    types: &'static [JsonType],
    /// Parses its value, if it is valid.
    parse: fn(&Value) -> Option<Value>,
}

const fn keyword(
    name: &'static str,
    aliases: &'static [&'static str],
    types: &'static [JsonType],
    parse: fn(&Value) -> Option<Value>,
) -> Keyword {
    Keyword {
        name,
        aliases,
        types,
        parse,
    }
}

const NUMBER_TYPES: &[JsonType] = &[JsonType::Integer, JsonType::Number];
const STRING_TYPES: &[JsonType] = &[JsonType::String];
const ARRAY_TYPES: &[JsonType] = &[JsonType::Array];

static KEYWORDS: &[Keyword] = &[
    keyword("default", &["default"], &[], plain_value),
    keyword("enum", &["enum", "choices"], &[], enum_values),
    keyword("minimum", &["minimum", "min"], NUMBER_TYPES, finite_number),
    keyword("maximum", &["maximum", "max"], NUMBER_TYPES, finite_number),
    keyword(
        "exclusiveMinimum",
        &["exclusiveMinimum", "exclusive_minimum"],
        NUMBER_TYPES,
        finite_number,
    ),
    keyword(
        "exclusiveMaximum",
        &["exclusiveMaximum", "exclusive_maximum"],
        NUMBER_TYPES,
        finite_number,
    ),
    keyword(
        "multipleOf",
        &["multipleOf", "multiple_of"],
        NUMBER_TYPES,
        multiple_of,
    ),
    keyword(
        "minLength",
        &["minLength", "min_length"],
        STRING_TYPES,
        length_limit,
    ),
    keyword(
        "maxLength",
        &["maxLength", "max_length"],
        STRING_TYPES,
        length_limit,
    ),
    keyword("pattern", &["pattern"], STRING_TYPES, linear_pattern),
    keyword("format", &["format"], STRING_TYPES, format_name),
    keyword("items", &["items"], ARRAY_TYPES, item_schema),
    keyword(
        "minItems",
        &["minItems", "min_items"],
        ARRAY_TYPES,
        length_limit,
    ),
    keyword(
        "maxItems",
        &["maxItems", "max_items"],
        ARRAY_TYPES,
        length_limit,
    ),
    keyword(
        "uniqueItems",
        &["uniqueItems", "unique_items"],
        ARRAY_TYPES,
        boolean,
    ),
];

fn closed_object(arguments: &[Argument]) -> Map<String, Value> {
    let required: Vec<_> = arguments
        .iter()
        .filter(|argument| argument.required)
        .map(|argument| argument.name.as_str())
        .collect();
    let properties: Map<_, _> = arguments
        .iter()
        .map(|argument| (argument.name.clone(), property_schema(argument)))
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn property_schema(argument: &Argument) -> Value {
    let mut property = Map::new();
    property.insert("type".to_owned(), argument.json_type.as_str().into());
    if let Some(description) = &argument.description {
        property.insert("description".to_owned(), description.as_str().into());
    }
    property.extend(argument.keywords.clone());
    // An array that the script accepts only if it is not empty.
    if let (
        JsonType::Array,
        ArgumentStyle::ManyValues { min, .. } | ArgumentStyle::Positional { min, .. },
    ) = (argument.json_type, &argument.style)
        && *min > 0
    {
        property.entry("minItems").or_insert_with(|| (*min).into());
    }
    Value::Object(property)
}

/// Returns the value if all texts in it are displayable and within the length limit.
fn plain_value(value: &Value) -> Option<Value> {
    let is_plain = match value {
        Value::String(value) => text::is_displayable(value, MAX_VALUE_CHARS),
        Value::Array(values) => {
            values.len() <= MAX_VALUES
                && values
                    .iter()
                    .all(|value| !value.is_array() && plain_value(value).is_some())
        }
        Value::Object(_) => text::is_displayable(&value.to_string(), MAX_VALUE_CHARS),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    };
    is_plain.then(|| value.clone())
}

fn enum_values(value: &Value) -> Option<Value> {
    let values = value
        .as_array()
        .filter(|values| !values.is_empty() && values.len() <= MAX_VALUES)?;
    let is_scalar =
        |value: &Value| !value.is_array() && !value.is_object() && plain_value(value).is_some();
    values.iter().all(is_scalar).then(|| value.clone())
}

fn finite_number(value: &Value) -> Option<Value> {
    value.is_number().then(|| value.clone())
}

fn multiple_of(value: &Value) -> Option<Value> {
    value
        .as_f64()
        .filter(|step| *step > 0.0)
        .map(|_| value.clone())
}

fn length_limit(value: &Value) -> Option<Value> {
    value.as_u64().map(Value::from)
}

fn boolean(value: &Value) -> Option<Value> {
    value.as_bool().map(Value::from)
}

/// A pattern for the regular expression engine with linear time.
fn linear_pattern(value: &Value) -> Option<Value> {
    plain_value(value).filter(Value::is_string)?;
    // Compiled with the engine that validates calls, so that a pattern that is accepted here cannot
    // fail there.
    let schema = json!({ "pattern": value });
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .ok()
        .map(|_| value.clone())
}

fn format_name(value: &Value) -> Option<Value> {
    let name = value.as_str().filter(|name| name.len() <= 32)?;
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        .then(|| name.into())
}

/// `string`, or `{type: string, enum: […]}`. Deeper schemas are not supported.
fn item_schema(value: &Value) -> Option<Value> {
    let declared = value.as_object();
    let kind = value
        .as_str()
        .or_else(|| declared?.get("type")?.as_str())
        .and_then(JsonType::parse)?;
    let mut items = Map::from_iter([("type".to_owned(), kind.as_str().into())]);
    if let Some(value) =
        declared.and_then(|declared| declared.get("enum").or_else(|| declared.get("choices")))
    {
        items.insert("enum".to_owned(), enum_values(value)?);
    }
    Some(items.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::spec_match::tests::specs;

    /// Parses the arguments of one script, in YAML, and returns the schema and the warnings.
    fn read(args: &str) -> (Value, Vec<String>) {
        let indented: String = args.lines().map(|line| format!("      {line}\n")).collect();
        let specs = specs(&format!("  a:\n    args:\n{indented}"));
        let (arguments, warnings) = Arguments::from_script(specs.first(), "", Language::Shell);
        let schema = input_schema(&arguments);
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .unwrap();
        (schema, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn arguments_become_a_closed_schema() {
        let (schema, warnings) = read(
            "- {name: city, type: string, required: true, description: \"Name\\n of the\\u200b city\", pattern: '^[A-Z]', min_length: 2}
- {name: days, type: int, default: 3, min: 1, max: 3}
- {name: unit, enum: [metric, imperial], min: 3}
- {name: cities, type: array, items: {type: string, enum: [a, b]}, maxItems: 2}
- {name: verbose, type: boolean}
- {name: more, type: object}",
        );
        assert_eq!(warnings, [""; 0]);
        insta::assert_json_snapshot!("arguments", schema);
    }

    #[test]
    fn invalid_keywords_are_omitted_with_a_warning() {
        let (schema, warnings) = read(
            "- {name: \"a=b\", type: string}
- {name: \"a b\"}
- {name: one, type: color, pattern: '(', enum: [], default: \"x\\u202ey\"}
- {name: one}
- {name: two, type: number, minimum: low, multipleOf: 0}
- {name: three, type: array, items: {type: {}}}
- {name: four, pattern: '(?=a)a'}",
        );
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        argument `a=b` ignored: expected a name of a letter or `_`, then at most 63 letters, digits, `_` and `-`
        argument `a b` ignored: expected a name of a letter or `_`, then at most 63 letters, digits, `_` and `-`
        unknown type `color` of argument `one`; using `string`
        invalid `default` of argument `one`; ignored
        invalid `enum` of argument `one`; ignored
        invalid `pattern` of argument `one`; ignored
        duplicate argument `one`; using the first
        invalid `minimum` of argument `two`; ignored
        invalid `multipleOf` of argument `two`; ignored
        invalid `items` of argument `three`; ignored
        invalid `pattern` of argument `four`; ignored
        "#);
        insta::assert_json_snapshot!(schema["properties"], @r#"
        {
          "one": {
            "type": "string"
          },
          "two": {
            "type": "number"
          },
          "three": {
            "type": "array",
            "items": {
              "type": "string"
            }
          },
          "four": {
            "type": "string"
          }
        }
        "#);
    }

    #[test]
    fn unknown_arguments_are_open_and_empty_ones_closed() {
        assert_eq!(
            input_schema(&Arguments::Unknown),
            json!({"type": "object", "additionalProperties": true})
        );
        assert_eq!(
            read("[]").0,
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }

    #[test]
    fn descriptions_are_truncated() {
        let (schema, _) = read(&format!(
            "- {{name: a, description: {}}}",
            "word ".repeat(1000)
        ));
        assert_eq!(
            schema["properties"]["a"]["description"]
                .as_str()
                .unwrap()
                .chars()
                .count(),
            MAX_DESCRIPTION_CHARS
        );
    }
}
