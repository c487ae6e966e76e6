//! The only module that knows the YAML library; a successor replaces this file.
//!
//! The library bounds nesting (128 levels) and alias expansion, and refuses repeated keys.

use serde_json::{Map, Number, Value};

use crate::error::{ManifestError, Repr};
use crate::fence::Frontmatter;

/// Reads the frontmatter as a mapping from text to JSON values, in the order of the file.
///
/// Tags are dropped and never acted on; keys that are not text are written as text.
pub(crate) fn mapping(frontmatter: &Frontmatter<'_>) -> Result<Map<String, Value>, ManifestError> {
    let value: serde_yaml::Value = serde_yaml::from_str(frontmatter.yaml()).map_err(|error| {
        let location = error.location();
        let line = location.map(|at| frontmatter.first_line() + at.line().saturating_sub(1));
        let message = error.to_string();
        // The library appends its own position, which counts from the fence.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Repr::Yaml { message, line }
    })?;
    match json(value) {
        Value::Object(map) => Ok(map),
        other => Err(Repr::NotMapping { found: type_name(&other), line: frontmatter.first_line() }.into()),
    }
}

/// Names the type of a value in the words of YAML.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn json(value: serde_yaml::Value) -> Value {
    match value {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(flag) => Value::Bool(flag),
        serde_yaml::Value::Number(number) => self::number(&number),
        serde_yaml::Value::String(text) => Value::String(text),
        serde_yaml::Value::Sequence(items) => Value::Array(items.into_iter().map(json).collect()),
        serde_yaml::Value::Mapping(map) => Value::Object(map.into_iter().map(|(name, value)| (key(name), json(value))).collect()),
        serde_yaml::Value::Tagged(tagged) => json(tagged.value),
    }
}

/// Infinities and NaN do not exist in JSON and are kept as text.
fn number(number: &serde_yaml::Number) -> Value {
    let exact = number.as_u64().map(Number::from).or_else(|| number.as_i64().map(Number::from));
    exact.or_else(|| number.as_f64().and_then(Number::from_f64)).map_or_else(|| Value::String(number.to_string()), Value::Number)
}

fn key(value: serde_yaml::Value) -> String {
    match json(value) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
