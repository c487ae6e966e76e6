//! What a skill says of its scripts as tools.

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, scalar_to_text};

/// The most scripts, and the most arguments of one, that are read.
const MAX_ENTRIES: usize = 100;

/// What `scripts` says of one script.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScriptSpec {
    /// The script: its file's name, with or without the ending.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// Its deadline in seconds.
    pub timeout_seconds: Option<f64>,
    /// Its arguments; nothing when the skill says nothing of them, which is not the same as none.
    pub args: Option<Vec<ScriptArg>>,
}

/// One argument of a script.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScriptArg {
    /// Its name, without hyphens before it.
    pub name: String,
    /// `type`: `string`, `integer`, `number`, `boolean`, `array` or `object`. Default `string`.
    pub kind: String,
    /// Whether it must be given. Default false.
    pub required: bool,
    /// What it means.
    pub description: Option<String>,
    /// `default`.
    pub default: Option<Value>,
    /// The whole entry as written, with `enum`, bounds and whatever else it says.
    pub raw: Map<String, Value>,
}

impl ScriptSpec {
    /// Reads `scripts`, else `metadata.scripts`: a mapping from scripts to what is said of them, or
    /// a list of entries with a name.
    pub(crate) fn parse_all(
        fields: &mut FieldReader<'_>,
        metadata: &Map<String, Value>,
    ) -> Vec<Self> {
        let Some(value) = fields
            .map
            .get("scripts")
            .or_else(|| metadata.get("scripts"))
            .filter(|value| !value.is_null())
            .cloned()
        else {
            return Vec::new();
        };
        match &value {
            Value::Object(map) => map
                .iter()
                .take(MAX_ENTRIES)
                .map(|(name, value)| Self::parse(name, value))
                .collect(),
            Value::Array(items) => items
                .iter()
                .take(MAX_ENTRIES)
                .filter_map(Self::parse_item)
                .collect(),
            value => {
                fields.warn_wrong_type("scripts", "a mapping or a list", value);
                Vec::new()
            }
        }
    }

    fn parse(name: &str, value: &Value) -> Self {
        let get = |key: &str| value.as_object().and_then(|map| map.get(key));
        // `deploy.sh: Deploys it` is a description alone.
        let description = get("description")
            .or(Some(value))
            .and_then(Value::as_str)
            .map(str::to_owned);
        let timeout_seconds = get("timeout").and_then(parse_seconds);
        Self {
            name: name.to_owned(),
            description,
            timeout_seconds,
            args: get("args").and_then(ScriptArg::parse_all),
        }
    }

    fn parse_item(item: &Value) -> Option<Self> {
        match item {
            Value::String(name) => Some(Self {
                name: name.clone(),
                description: None,
                timeout_seconds: None,
                args: None,
            }),
            Value::Object(map) => {
                let name = ["name", "file", "path", "script"]
                    .iter()
                    .find_map(|key| map.get(*key)?.as_str())?;
                Some(Self::parse(name, item))
            }
            _ => None,
        }
    }
}

impl ScriptArg {
    /// Reads a list of entries, or a mapping from names to entries.
    fn parse_all(value: &Value) -> Option<Vec<Self>> {
        match value {
            Value::Array(items) => Some(
                items
                    .iter()
                    .take(MAX_ENTRIES)
                    .filter_map(Self::parse_item)
                    .collect(),
            ),
            Value::Object(map) => Some(
                map.iter()
                    .take(MAX_ENTRIES)
                    .map(|(name, value)| Self::parse(name, value))
                    .collect(),
            ),
            _ => None,
        }
    }

    fn parse_item(item: &Value) -> Option<Self> {
        match item {
            Value::String(name) => Some(Self::parse(name, &Value::Null)),
            Value::Object(map) => Some(Self::parse(map.get("name")?.as_str()?, item)),
            _ => None,
        }
    }

    fn parse(name: &str, value: &Value) -> Self {
        let written = value.as_object().cloned().unwrap_or_default();
        let text = |key: &str| written.get(key).and_then(scalar_to_text);
        Self {
            name: name.trim_start_matches('-').to_owned(),
            // `city: string` is a type, `city: The city` a description.
            kind: text("type")
                .or_else(|| {
                    value
                        .as_str()
                        .filter(|text| is_json_schema_type(text))
                        .map(str::to_owned)
                })
                .unwrap_or_else(|| "string".to_owned()),
            required: written
                .get("required")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            description: text("description").or_else(|| {
                value
                    .as_str()
                    .filter(|text| !is_json_schema_type(text))
                    .map(str::to_owned)
            }),
            default: written.get("default").cloned(),
            raw: written,
        }
    }
}

fn is_json_schema_type(text: &str) -> bool {
    matches!(
        text,
        "string" | "integer" | "number" | "boolean" | "array" | "object"
    )
}

/// Reads `30`, `1.5`, `"30"` or `30s`.
fn parse_seconds(value: &Value) -> Option<f64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('s').parse().ok(),
        _ => None,
    };
    seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}
