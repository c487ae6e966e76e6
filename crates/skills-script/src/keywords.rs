//! Keywords of JSON Schema that an argument can have.

use serde_json::{Map, Value, json};

use crate::argument::{Argument, JsonType};
use crate::{Pattern, ScriptWarning, text};

/// Maximum length of a value or pattern, in characters.
const MAX_VALUE_CHARS: usize = 300;
/// Maximum number of values of an `enum`.
const MAX_VALUES: usize = 100;

/// Extracts the keywords that apply to the type of an argument, under their names in JSON Schema.
///
/// Unusable keywords cause a warning: kept, they would make the schema invalid or show invisible
/// text to the model.
pub(crate) fn parse_keywords(
    argument: &str,
    kind: JsonType,
    declared: &Map<String, Value>,
    warnings: &mut Vec<ScriptWarning>,
) -> Map<String, Value> {
    let mut found = Map::new();
    for keyword in KEYWORDS.iter().filter(|keyword| keyword.applies_to(kind)) {
        let Some(value) = keyword.declared_value(declared) else {
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

/// Sets the default of an argument, if it is a valid value of its type.
pub(crate) fn set_default(argument: &mut Argument, default: Option<Value>) {
    let json_type = argument.json_type;
    if let Some(default) = default.filter(|default| json_type.accepts(default)) {
        set_keyword(argument, "default", default);
    }
}

/// Sets a keyword of an argument, if its value is valid.
pub(crate) fn set_keyword(argument: &mut Argument, keyword: &str, value: Value) {
    let declared = Map::from_iter([(keyword.to_owned(), value)]);
    let (name, json_type) = (&argument.name, argument.json_type);
    for (keyword, value) in parse_keywords(name, json_type, &declared, &mut Vec::new()) {
        argument.keywords.entry(keyword).or_insert(value);
    }
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

impl Keyword {
    fn applies_to(&self, json_type: JsonType) -> bool {
        self.types.is_empty() || self.types.contains(&json_type)
    }

    fn declared_value<'a>(&self, declared: &'a Map<String, Value>) -> Option<&'a Value> {
        self.aliases
            .iter()
            // The name of JSON Schema comes first in the list and wins over aliases.
            .find_map(|name| declared.get(*name))
            .filter(|value| !value.is_null())
    }
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

/// Returns the value if all texts in it are displayable and within the length limit.
fn plain_value(value: &Value) -> Option<Value> {
    let is_plain = match value {
        Value::Array(values) => values.len() <= MAX_VALUES && values.iter().all(is_plain_item),
        value => is_plain_item(value),
    };
    is_plain.then(|| value.clone())
}

/// Returns true if a value is not a list, and can be displayed.
fn is_plain_item(value: &Value) -> bool {
    match value {
        Value::String(value) => text::is_displayable(value, MAX_VALUE_CHARS),
        Value::Array(_) => false,
        Value::Object(_) => text::is_displayable(&value.to_string(), MAX_VALUE_CHARS),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn enum_values(value: &Value) -> Option<Value> {
    let values = value.as_array()?;
    let is_scalar = |value: &Value| !value.is_object() && is_plain_item(value);
    let is_valid = (1..=MAX_VALUES).contains(&values.len()) && values.iter().all(is_scalar);
    is_valid.then(|| value.clone())
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
    Pattern::new(value.as_str()?).map(|_| value.clone())
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
    let mut items = Map::from_iter([("type".to_owned(), kind.name().into())]);
    if let Some(value) =
        declared.and_then(|declared| declared.get("enum").or_else(|| declared.get("choices")))
    {
        items.insert("enum".to_owned(), enum_values(value)?);
    }
    Some(items.into())
}
