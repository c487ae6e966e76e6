//! Declarations of scripts: description, deadline and arguments.

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, scalar_to_text};

/// Maximum number of scripts, and of arguments of one script; more are ignored.
const MAX_ENTRIES: usize = 100;

/// The declaration of one script in `scripts`.
///
/// All parts but the name are optional. A part that cannot be parsed is dropped without a warning:
/// it only describes the script and restricts nothing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScriptSpec {
    /// The file name of the script, with or without its extension.
    pub name: String,
    /// What the script does.
    pub description: Option<String>,
    /// The deadline in seconds, finite and greater than 0.
    pub timeout_seconds: Option<f64>,
    /// The declared arguments; `None` if they are not declared, which differs from an empty list.
    pub args: Option<Vec<ScriptArg>>,
}

/// The declaration of one argument of a script.
///
/// Together, the arguments of a script become the JSON schema of its tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScriptArg {
    /// The name, without leading hyphens.
    pub name: String,
    /// `type`: `string`, `integer`, `number`, `boolean`, `array` or `object`. Default `string`.
    pub kind: String,
    /// Whether the argument is required. Default false.
    pub required: bool,
    /// What the argument means.
    pub description: Option<String>,
    /// `default`: the value of an argument that is not passed.
    pub default: Option<Value>,
    /// The whole entry as written, with `enum`, bounds and all other keys of a JSON schema.
    pub raw: Map<String, Value>,
}

impl ScriptSpec {
    /// Parses `scripts`, else `metadata.scripts`: a mapping from names to declarations, or a list
    /// of declarations with a name.
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
        // `deploy.sh: Deploys it` has no keys, only a description.
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
    /// Parses a list of arguments, or a mapping from names to arguments.
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
        let raw = value.as_object().cloned().unwrap_or_default();
        let text = |key: &str| raw.get(key).and_then(scalar_to_text);
        Self {
            name: name.trim_start_matches('-').to_owned(),
            // `city: string` declares a type, `city: The city` a description.
            kind: text("type")
                .or_else(|| {
                    value
                        .as_str()
                        .filter(|text| is_json_schema_type(text))
                        .map(str::to_owned)
                })
                .unwrap_or_else(|| "string".to_owned()),
            required: raw
                .get("required")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            description: text("description").or_else(|| {
                value
                    .as_str()
                    .filter(|text| !is_json_schema_type(text))
                    .map(str::to_owned)
            }),
            default: raw.get("default").cloned(),
            raw,
        }
    }
}

fn is_json_schema_type(text: &str) -> bool {
    matches!(
        text,
        "string" | "integer" | "number" | "boolean" | "array" | "object"
    )
}

/// Parses a duration in seconds: `30`, `1.5`, `"30"` or `30s`.
fn parse_seconds(value: &Value) -> Option<f64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('s').parse().ok(),
        _ => None,
    };
    // An infinite or negative deadline would disable the limit of the host application.
    seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}
