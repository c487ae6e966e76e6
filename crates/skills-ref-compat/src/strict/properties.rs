//! The fields of a skill as the reference validator returns them.

use super::error::StrictError;
use super::python::{decode_surrogate, repr, strip};
use super::validate::{field, required_field, required_text};
use super::value::Value;

/// The optional fields, in the order of the output.
const OPTIONAL_FIELDS: [&str; 4] = ["license", "compatibility", "allowed-tools", "metadata"];

/// The fields of a `SKILL.md` as skills-ref returns them: every scalar is text.
///
/// [`to_json`](Self::to_json) is the output of its `read-properties`, and the prompt getters are
/// the texts of its `to-prompt`. Fields outside of the specification are not part of either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    name: String,
    description: String,
    optional_fields: Vec<(&'static str, Value)>,
}

impl Properties {
    pub(super) fn new(fields: &[(String, Value)]) -> Result<Self, StrictError> {
        // Of two missing fields the name is reported, and a missing field before an empty one.
        let (name, description) = (
            required_field(fields, "name")?,
            required_field(fields, "description")?,
        );
        // The reference validator strips these two fields and no others.
        let name = strip(required_text("name", name)?).to_owned();
        let description = strip(required_text("description", description)?).to_owned();
        let unquoted = fields
            .iter()
            .find(|(key, value)| OPTIONAL_FIELDS.contains(&key.as_str()) && has_indicator(value));
        if let Some((key, _)) = unquoted {
            let message = format!("Field '{key}' holds a plain `=` or `<<`; put it in quotes");
            return Err(StrictError::new("field-type", message));
        }
        let mut optional_fields = Vec::new();
        for key in OPTIONAL_FIELDS {
            match field(fields, key) {
                // The reference validator omits empty `metadata`, but keeps other empty fields.
                Some(value) if key == "metadata" && value.is_empty() => {}
                Some(value) if key == "metadata" => {
                    optional_fields.push((key, stringify_metadata(value)));
                }
                Some(value) => optional_fields.push((key, value.clone())),
                None => {}
            }
        }
        Ok(Self {
            name,
            description,
            optional_fields,
        })
    }

    /// Returns `name` for a prompt; `None` if it contains half of a surrogate pair, which cannot be
    /// encoded as UTF-8.
    #[must_use]
    pub fn prompt_name(&self) -> Option<&str> {
        without_surrogates(&self.name)
    }

    /// Returns `description` for a prompt; `None` if it contains half of a surrogate pair.
    #[must_use]
    pub fn prompt_description(&self) -> Option<&str> {
        without_surrogates(&self.description)
    }

    /// Returns the fields as JSON, byte for byte as Python's `json.dumps(…, indent=2)` writes them:
    /// characters outside of ASCII are escaped.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = serde_json::Map::new();
        object.insert("name".to_owned(), self.name.as_str().into());
        object.insert("description".to_owned(), self.description.as_str().into());
        for (key, value) in &self.optional_fields {
            object.insert((*key).to_owned(), to_json_value(value));
        }
        // `{:#}` indents by two spaces, and leaves characters outside of ASCII as they are.
        escape_non_ascii(&format!("{:#}", serde_json::Value::Object(object)))
    }
}

/// Returns true if a value contains an unquoted `=` or `<<`, on which the reference validator
/// crashes.
fn has_indicator(value: &Value) -> bool {
    match value {
        Value::Text(_) => false,
        Value::Indicator(_) => true,
        Value::List(items) => items.iter().any(has_indicator),
        Value::Map(entries) => entries.iter().any(|(_, value)| has_indicator(value)),
    }
}

fn without_surrogates(text: &str) -> Option<&str> {
    (!text.chars().any(|c| decode_surrogate(c).is_some())).then_some(text)
}

/// Converts the values of `metadata` to text, nested ones as Python's `str` does.
fn stringify_metadata(value: &Value) -> Value {
    match value {
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), Value::Text(python_str(value))))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn python_str(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Indicator(text) => text.clone(),
        other => python_repr(other),
    }
}

fn python_repr(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Indicator(text) => repr(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(python_repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", repr(key), python_repr(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn to_json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) | Value::Indicator(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(to_json_value).collect(),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.as_str(), to_json_value(value)))
            .collect(),
    }
}

/// Escapes characters of JSON as `ensure_ascii` of Python does, in surrogate pairs.
fn escape_non_ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // In valid JSON a line feed is never part of a string.
            '\n' | ' '..='~' => out.push(c),
            c => match decode_surrogate(c) {
                Some(half) => out += &format!("\\u{half:04x}"),
                None => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out += &format!("\\u{unit:04x}");
                    }
                }
            },
        }
    }
    out
}
