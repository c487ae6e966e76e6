//! What a skill for OpenClaw says it needs.

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, scalar_to_text};
use crate::warning::WarningKind;

/// The keys of `metadata` under which the block stands, oldest last.
const KEYS: [&str; 4] = ["openclaw", "clawdbot", "clawdis", "moltbot"];
/// The most entries of any list of the block.
const MAX_ENTRIES: usize = 100;

/// The OpenClaw block of `metadata`: what the skill needs, where it runs and how to install it.
///
/// It stands under `openclaw`, `clawdbot`, `clawdis` or `moltbot`, as YAML or as JSON5 text. A part
/// that cannot be read is left out.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct OpenClaw {
    /// The key under which it stands.
    pub key: &'static str,
    /// `requires`.
    pub requires: RequiresBlock,
    /// `primaryEnv`: the variable that holds the skill's secret.
    pub primary_env: Option<String>,
    /// `envVars`: variables with what they are for.
    pub env_vars: Vec<EnvVar>,
    /// `always`: offered although something of `requires` is missing. `os` holds nevertheless.
    pub always: bool,
    /// `os`: the systems it runs on (`darwin`, `linux`, `win32`); empty for all.
    pub os: Vec<String>,
    /// `install`: ways to get what it needs. None is ever run by reading.
    pub install: Vec<InstallSpec>,
    /// `emoji`.
    pub emoji: Option<String>,
    /// `homepage`.
    pub homepage: Option<String>,
    /// `skillKey`: the name under which a configuration speaks of the skill.
    pub skill_key: Option<String>,
}

/// What must be there before a skill can work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiresBlock {
    /// Programs, all of them.
    pub bins: Vec<String>,
    /// Programs, at least one of them.
    pub any_bins: Vec<String>,
    /// Environment variables.
    pub env: Vec<String>,
    /// Paths of the client's configuration that must hold something true.
    pub config: Vec<String>,
}

/// A variable and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Whether the skill cannot work without it. Default true.
    pub required: bool,
    /// What it is for.
    pub description: Option<String>,
}

/// One way to get something.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstallSpec {
    /// `kind`: `brew`, `node`, `go`, `uv` or `download`.
    pub kind: String,
    /// What is installed: `formula`, `package`, `module` or `url`.
    pub target: Option<String>,
    /// `label`.
    pub label: Option<String>,
    /// `bins`: the programs that it brings.
    pub bins: Vec<String>,
    /// `os`: the systems it is for; empty for all.
    pub os: Vec<String>,
    /// The whole entry as written.
    pub raw: Map<String, Value>,
}

impl RequiresBlock {
    pub(crate) const EMPTY: Self = Self {
        bins: Vec::new(),
        any_bins: Vec::new(),
        env: Vec::new(),
        config: Vec::new(),
    };

    /// Reads the field `requires` itself, as the OpenSkills flow writes it, and the systems that it
    /// names.
    pub(crate) fn parse_requires_field(fields: &mut FieldReader<'_>) -> (Self, Vec<String>) {
        let Some(value) = fields
            .map
            .get("requires")
            .filter(|value| !value.is_null())
            .cloned()
        else {
            return (Self::EMPTY, Vec::new());
        };
        let Value::Object(map) = value else {
            fields.warn_wrong_type("requires", "a mapping", &value);
            return (Self::EMPTY, Vec::new());
        };
        let list = |key: &str| map.get(key).map(parse_words).unwrap_or_default();
        let systems = ["platforms", "os"]
            .into_iter()
            .flat_map(list)
            .map(|os| normalize_platform(&os))
            .collect();
        (
            Self {
                bins: list("bins"),
                any_bins: list("anyBins"),
                env: list("env"),
                config: list("config"),
            },
            systems,
        )
    }
}

impl OpenClaw {
    pub(crate) fn parse(
        fields: &mut FieldReader<'_>,
        metadata: &Map<String, Value>,
    ) -> Option<Self> {
        let (key, value) = KEYS
            .into_iter()
            .find_map(|key| Some((key, metadata.get(key).filter(|value| !value.is_null())?)))?;
        let read;
        let block = match value {
            Value::Object(map) => map,
            Value::String(text) => {
                read = crate::json5::parse(text);
                let Some(Value::Object(map)) = &read else {
                    fields.warn(
                        "metadata",
                        WarningKind::InvalidMetadataJson {
                            key: key.to_owned(),
                        },
                    );
                    return None;
                };
                map
            }
            _ => {
                fields.warn(
                    "metadata",
                    WarningKind::InvalidMetadataJson {
                        key: key.to_owned(),
                    },
                );
                return None;
            }
        };
        for (field, expected, is_right) in [
            (
                "requires",
                "a mapping",
                Value::is_object as fn(&Value) -> bool,
            ),
            ("always", "true or false", Value::is_boolean),
            ("install", "a list", Value::is_array),
            ("envVars", "a list", Value::is_array),
        ] {
            if let Some(value) = block
                .get(field)
                .filter(|value| !value.is_null() && !is_right(value))
            {
                let found = crate::field_reader::yaml_type_name(value);
                fields.warn(
                    "metadata",
                    WarningKind::MetadataType {
                        key: format!("{key}.{field}"),
                        expected,
                        found,
                    },
                );
            }
        }
        let requires = block.get("requires").and_then(Value::as_object);
        let required = |key: &str| {
            requires
                .and_then(|requires| requires.get(key))
                .map(parse_words)
                .unwrap_or_default()
        };
        let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            key,
            requires: RequiresBlock {
                bins: required("bins"),
                any_bins: required("anyBins"),
                env: required("env"),
                config: required("config"),
            },
            primary_env: text("primaryEnv"),
            env_vars: object_entries(block, "envVars")
                .filter_map(EnvVar::parse)
                .collect(),
            always: block
                .get("always")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            os: block
                .get("os")
                .map(parse_words)
                .unwrap_or_default()
                .iter()
                .map(|os| normalize_platform(os))
                .collect(),
            install: object_entries(block, "install")
                .filter_map(InstallSpec::parse)
                .collect(),
            emoji: text("emoji"),
            homepage: text("homepage"),
            skill_key: text("skillKey"),
        })
    }
}

impl EnvVar {
    fn parse(entry: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            name: entry.get("name")?.as_str()?.to_owned(),
            required: entry
                .get("required")
                .and_then(Value::as_bool)
                .unwrap_or(true),
            description: entry
                .get("description")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }
}

impl InstallSpec {
    fn parse(entry: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            kind: text("kind")?,
            target: ["formula", "package", "module", "url"]
                .into_iter()
                .find_map(text),
            label: text("label"),
            bins: entry.get("bins").map(parse_words).unwrap_or_default(),
            os: entry
                .get("os")
                .map(parse_words)
                .unwrap_or_default()
                .iter()
                .map(|os| normalize_platform(os))
                .collect(),
            raw: entry.clone(),
        })
    }
}

/// One word or a list of words.
fn parse_words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items
            .iter()
            .filter_map(scalar_to_text)
            .take(MAX_ENTRIES)
            .collect(),
        value => scalar_to_text(value).into_iter().collect(),
    }
}

fn object_entries<'a>(
    block: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> {
    block
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .take(MAX_ENTRIES)
}

/// The hub's documentation writes `macos` for what its client calls `darwin`.
fn normalize_platform(os: &str) -> String {
    match os.to_ascii_lowercase().as_str() {
        "macos" | "mac" | "osx" => "darwin".to_owned(),
        "windows" => "win32".to_owned(),
        other => other.to_owned(),
    }
}
