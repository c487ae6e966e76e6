//! The fields of a skill as the reference validator returns them.

use std::fmt::Write;

use super::python::{decode_surrogate, repr, strip};
use super::{StrictError, Value};

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
        let field = |key: &str| {
            fields
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value)
        };
        let missing = |key: &str| {
            StrictError::new(
                "field-missing",
                format!("Missing required field in frontmatter: {key}"),
            )
        };
        let (name, description) = match (field("name"), field("description")) {
            (None, _) => return Err(missing("name")),
            (_, None) => return Err(missing("description")),
            (Some(name), Some(description)) => (
                required_text("name", name)?,
                required_text("description", description)?,
            ),
        };
        if let Some((key, _)) = fields
            .iter()
            .find(|(key, value)| OPTIONAL_FIELDS.contains(&key.as_str()) && has_indicator(value))
        {
            return Err(StrictError::new(
                "field-type",
                format!("Field '{key}' holds a plain `=` or `<<`; put it in quotes"),
            ));
        }
        let optional_fields = OPTIONAL_FIELDS
            .into_iter()
            .filter_map(|key| Some((key, field(key)?)))
            .map(|(key, value)| {
                (
                    key,
                    if key == "metadata" {
                        stringify_metadata(value)
                    } else {
                        value.clone()
                    },
                )
            })
            // The reference validator omits empty `metadata`, but keeps other empty fields.
            .filter(|(key, value)| *key != "metadata" || !value.is_empty())
            .collect();
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
        let mut entries = vec![
            ("name", Value::Text(self.name.clone())),
            ("description", Value::Text(self.description.clone())),
        ];
        entries.extend(self.optional_fields.iter().cloned());
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let mut out = String::new();
        write_json(&mut out, &Value::Map(entries), 0);
        out
    }
}

/// Returns whether a value contains an unquoted `=` or `<<`, on which the reference validator
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

fn required_text(key: &str, value: &Value) -> Result<String, StrictError> {
    match value {
        // The reference validator strips these two fields and no others.
        Value::Text(text) if !strip(text).is_empty() => Ok(strip(text).to_owned()),
        _ => Err(StrictError::new(
            "field-empty",
            format!("Field '{key}' must be a non-empty string"),
        )),
    }
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
        Value::List(items) => format!(
            "[{}]",
            items.iter().map(python_repr).collect::<Vec<_>>().join(", ")
        ),
        Value::Map(entries) => {
            let entry =
                |(key, value): &(String, Value)| format!("{}: {}", repr(key), python_repr(value));
            format!(
                "{{{}}}",
                entries.iter().map(entry).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn write_json(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::Text(text) | Value::Indicator(text) => write_json_string(out, text),
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "[\n" } else { ",\n" });
                out.push_str(&indent);
                write_json(out, item, depth + 1);
            }
            close_bracket(out, depth, ']');
        }
        Value::Map(entries) => {
            for (index, (key, item)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "{\n" } else { ",\n" });
                out.push_str(&indent);
                write_json_string(out, key);
                out.push_str(": ");
                write_json(out, item, depth + 1);
            }
            close_bracket(out, depth, '}');
        }
    }
}

fn close_bracket(out: &mut String, depth: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(bracket);
}

fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => {
                if let Some(half) = decode_surrogate(c) {
                    let _ = write!(out, "\\u{half:04x}");
                    continue;
                }
                // `ensure_ascii` of Python writes surrogate pairs.
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
