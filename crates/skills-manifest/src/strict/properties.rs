//! The fields of a skill as the reference tool reads them.

use std::fmt::Write;

use super::python::{kept_surrogate, repr, strip};
use super::{StrictError, Value};

/// The fields after name and description, in the order of the output.
const OTHERS: [&str; 4] = ["license", "compatibility", "allowed-tools", "metadata"];

/// The fields of a `SKILL.md` as skills-ref reads them: every scalar is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    name: String,
    description: String,
    others: Vec<(&'static str, Value)>,
}

impl Properties {
    pub(super) fn new(fields: &[(String, Value)]) -> Result<Self, StrictError> {
        let field = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        let missing = |key: &str| StrictError::new("field-missing", format!("Missing required field in frontmatter: {key}"));
        let (name, description) = match (field("name"), field("description")) {
            (None, _) => return Err(missing("name")),
            (_, None) => return Err(missing("description")),
            (Some(name), Some(description)) => (text("name", name)?, text("description", description)?),
        };
        if let Some((key, _)) = fields.iter().find(|(key, value)| OTHERS.contains(&key.as_str()) && holds_sign(value)) {
            return Err(StrictError::new("field-type", format!("Field '{key}' holds a plain `=` or `<<`; put it in quotes")));
        }
        let others = OTHERS
            .into_iter()
            .filter_map(|key| Some((key, field(key)?)))
            .map(|(key, value)| (key, if key == "metadata" { flattened(value) } else { value.clone() }))
            // Only what is nothing is left out, and `metadata` also when it is empty.
            .filter(|(key, value)| *key != "metadata" || !value.is_empty())
            .collect();
        Ok(Self { name, description, others })
    }

    /// Returns `name` for a prompt; nothing when it holds half a surrogate pair, which cannot be printed.
    #[must_use]
    pub fn prompt_name(&self) -> Option<&str> {
        whole(&self.name)
    }

    /// Returns `description` for a prompt; nothing when it holds half a surrogate pair.
    #[must_use]
    pub fn prompt_description(&self) -> Option<&str> {
        whole(&self.description)
    }

    /// Writes the fields as JSON, byte for byte as Python's `json.dumps(…, indent=2)` does: characters outside ASCII are escaped.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut entries = vec![("name", Value::Text(self.name.clone())), ("description", Value::Text(self.description.clone()))];
        entries.extend(self.others.iter().cloned());
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut out = String::new();
        write_json(&mut out, &Value::Map(entries), 0);
        out
    }
}

/// The reference tool crashes on these.
fn holds_sign(value: &Value) -> bool {
    match value {
        Value::Text(_) => false,
        Value::Sign(_) => true,
        Value::List(items) => items.iter().any(holds_sign),
        Value::Map(entries) => entries.iter().any(|(_, value)| holds_sign(value)),
    }
}

fn whole(text: &str) -> Option<&str> {
    (!text.chars().any(|c| kept_surrogate(c).is_some())).then_some(text)
}

fn text(key: &str, value: &Value) -> Result<String, StrictError> {
    match value {
        Value::Text(text) if !strip(text).is_empty() => Ok(strip(text).to_owned()),
        _ => Err(StrictError::new("field-empty", format!("Field '{key}' must be a non-empty string"))),
    }
}

/// The values of `metadata` become text, nested ones as Python would print them.
fn flattened(value: &Value) -> Value {
    match value {
        Value::Map(entries) => Value::Map(entries.iter().map(|(key, value)| (key.clone(), Value::Text(python_text(value)))).collect()),
        other => other.clone(),
    }
}

fn python_text(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Sign(text) => text.clone(),
        other => python_repr(other),
    }
}

fn python_repr(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Sign(text) => repr(text),
        Value::List(items) => format!("[{}]", items.iter().map(python_repr).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entry = |(key, value): &(String, Value)| format!("{}: {}", repr(key), python_repr(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn write_json(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::Text(text) | Value::Sign(text) => write_string(out, text),
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "[\n" } else { ",\n" });
                out.push_str(&indent);
                write_json(out, item, depth + 1);
            }
            close(out, depth, ']');
        }
        Value::Map(entries) => {
            for (index, (key, item)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "{\n" } else { ",\n" });
                out.push_str(&indent);
                write_string(out, key);
                out.push_str(": ");
                write_json(out, item, depth + 1);
            }
            close(out, depth, '}');
        }
    }
}

fn close(out: &mut String, depth: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(bracket);
}

fn write_string(out: &mut String, text: &str) {
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
                if let Some(half) = kept_surrogate(c) {
                    let _ = write!(out, "\\u{half:04x}");
                    continue;
                }
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
