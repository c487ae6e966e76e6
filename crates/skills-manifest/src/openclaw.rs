//! The OpenClaw block of `metadata`: requirements of a skill and how to install them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, scalar_to_text};
use crate::spelled_list;
use crate::warning::WarningKind;
use crate::yaml;

/// The keys of `metadata` that can hold the block, in order of preference.
///
/// OpenClaw was renamed several times, and published skills have all of its names.
const KEYS: [&str; 4] = ["openclaw", "clawdbot", "clawdis", "moltbot"];
/// The keys of `requires` that list packages for Python. Only the first is documented; authors write
/// the others, too.
const PYTHON_PACKAGES: [&str; 4] = [
    "python-packages",
    "python_packages",
    "pythonPackages",
    "pip",
];
/// The keys that list packages for Node.
const NODE_PACKAGES: [&str; 3] = ["node-packages", "nodePackages", "npm"];
/// Maximum number of entries of a list in the block; more are ignored.
const MAX_ENTRIES: usize = 100;

/// The OpenClaw block of `metadata`: requirements, supported platforms and how to install programs.
///
/// It is the value of `openclaw`, `clawdbot`, `clawdis` or `moltbot`, as YAML or as JSON5 text. An
/// invalid part is dropped, with a warning if it is `requires`, `always`, `install` or `envVars`.
/// Lists have at most 100 entries.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct OpenClaw {
    /// The key of the block in `metadata`.
    pub key: &'static str,
    /// `requires`: what the skill needs.
    pub requires: RequiresBlock,
    /// `primaryEnv`: the environment variable that holds the skill's secret.
    pub primary_env: Option<String>,
    /// `envVars`: environment variables with descriptions.
    pub env_vars: Vec<EnvVar>,
    /// `always`: whether the skill is listed even if `requires` is not met. It does not override
    /// `os`.
    pub always: bool,
    /// `os`: the supported platforms (`darwin`, `linux`, `win32`); empty for all.
    pub os: Vec<String>,
    /// `install`: how to install required programs. Parsing never runs an installer.
    pub install: Vec<InstallSpec>,
    /// `emoji`: an icon for lists.
    pub emoji: Option<String>,
    /// `homepage`: a URL.
    pub homepage: Option<String>,
    /// `skillKey`: the key of the skill in a client's configuration, if it is not the name.
    pub skill_key: Option<String>,
}

/// The requirements of a skill: programs, environment variables and settings.
///
/// They are only parsed here; whether they are met depends on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiresBlock {
    /// Programs that must all be installed.
    pub bins: Vec<String>,
    /// Programs of which at least one must be installed.
    pub any_bins: Vec<String>,
    /// Environment variables that must all be set.
    pub env: Vec<String>,
    /// Settings of the client, as paths with dots, that must all be true.
    pub config: Vec<String>,
    /// `python-packages`: packages for Python, each with its version.
    pub python_packages: Vec<String>,
    /// `node-packages`: packages for Node.
    pub node_packages: Vec<String>,
}

/// An environment variable that a skill uses.
///
/// It only names the variable: the value comes from the host application, if a policy grants it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvVar {
    /// The name of the variable.
    pub name: String,
    /// Whether the skill requires it. Default true.
    pub required: bool,
    /// What the variable is for.
    pub description: Option<String>,
}

/// One way to install required programs.
///
/// It is data for a user interface or an approved installer; nothing in these crates runs it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstallSpec {
    /// `kind`: `brew`, `node`, `go`, `uv` or `download`.
    pub kind: String,
    /// What is installed: `formula`, `package`, `module` or `url`.
    pub target: Option<String>,
    /// `label`: the text of a button or menu entry.
    pub label: Option<String>,
    /// `bins`: the programs that it installs.
    pub bins: Vec<String>,
    /// `os`: the platforms that it supports; empty for all.
    pub os: Vec<String>,
    /// The whole entry as written.
    pub raw: Map<String, Value>,
}

impl RequiresBlock {
    /// Parses the top-level field `requires` of the OpenSkills flow.
    ///
    /// Returns the requirements and the supported platforms, empty for all.
    pub(crate) fn parse_requires_field(fields: &mut FieldReader<'_>) -> (Self, Vec<String>) {
        let map = match fields.get_cloned("requires") {
            None => return Default::default(),
            Some(Value::Object(map)) => map,
            Some(value) => {
                // An empty list, also one in quotes, requires nothing.
                let value = read_spelled_list(value);
                if value != Value::Array(Vec::new()) {
                    fields.warn_wrong_type("requires", "a mapping", &value);
                }
                return Default::default();
            }
        };
        let mut platforms = get_platforms(&map, "platforms");
        platforms.extend(get_platforms(&map, "os"));
        (Self::parse(&map), platforms)
    }

    fn parse(map: &Map<String, Value>) -> Self {
        Self {
            bins: get_words(map, "bins"),
            any_bins: get_words(map, "anyBins"),
            env: get_words(map, "env"),
            config: get_words(map, "config"),
            python_packages: PYTHON_PACKAGES
                .iter()
                .flat_map(|key| get_words(map, key))
                .collect(),
            node_packages: NODE_PACKAGES
                .iter()
                .flat_map(|key| get_words(map, key))
                .collect(),
        }
    }
}

impl OpenClaw {
    /// Parses the block; `None` if there is none, or with a warning if it is not a mapping.
    pub(crate) fn parse(
        fields: &mut FieldReader<'_>,
        metadata: &Map<String, Value>,
    ) -> Option<Self> {
        let (key, value) = KEYS
            .into_iter()
            .find_map(|key| Some((key, metadata.get(key).filter(|value| !value.is_null())?)))?;
        // The requirements are unknown then; `Manifest::metadata` still has the value.
        let Some(block) = parse_block(value) else {
            let key = key.to_owned();
            fields.warn("metadata", WarningKind::InvalidMetadataJson { key });
            return None;
        };
        warn_wrong_types(fields, key, &block);
        let requires = block.get("requires").and_then(Value::as_object);
        Some(Self {
            key,
            requires: requires.map(RequiresBlock::parse).unwrap_or_default(),
            primary_env: get_text(&block, "primaryEnv"),
            env_vars: object_entries(&block, "envVars")
                .filter_map(EnvVar::parse)
                .collect(),
            always: block
                .get("always")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            os: get_platforms(&block, "os"),
            install: object_entries(&block, "install")
                .filter_map(InstallSpec::parse)
                .collect(),
            emoji: get_text(&block, "emoji"),
            homepage: get_text(&block, "homepage"),
            skill_key: get_text(&block, "skillKey"),
        })
    }
}

/// Returns the block as a mapping, which hubs write as YAML or as JSON5 text.
fn parse_block(value: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    match value {
        Value::Object(map) => Some(Cow::Borrowed(map)),
        Value::String(text) => match crate::json5::parse(text)? {
            Value::Object(map) => Some(Cow::Owned(map)),
            _ => None,
        },
        _ => None,
    }
}

/// Warns of fields with a wrong type that would silently change what the skill requires.
fn warn_wrong_types(fields: &mut FieldReader<'_>, key: &str, block: &Map<String, Value>) {
    let is_object: fn(&Value) -> bool = Value::is_object;
    for (field, expected, has_type) in [
        ("requires", "a mapping", is_object),
        ("always", "true or false", Value::is_boolean),
        ("install", "a list", Value::is_array),
        ("envVars", "a list", Value::is_array),
    ] {
        let value = block.get(field).unwrap_or(&Value::Null);
        if !value.is_null() && !has_type(value) {
            fields.warn(
                "metadata",
                WarningKind::MetadataType {
                    key: format!("{key}.{field}"),
                    expected,
                    found: yaml::type_name(value),
                },
            );
        }
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
            description: get_text(entry, "description"),
        })
    }
}

impl InstallSpec {
    fn parse(entry: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            kind: get_text(entry, "kind")?,
            target: ["formula", "package", "module", "url"]
                .into_iter()
                .find_map(|key| get_text(entry, key)),
            label: get_text(entry, "label"),
            bins: get_words(entry, "bins"),
            os: get_platforms(entry, "os"),
            raw: entry.clone(),
        })
    }
}

fn get_text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns one word, a list of words or those of a text that spells one, empty if the key is
/// missing.
fn get_words(map: &Map<String, Value>, key: &str) -> Vec<String> {
    match map.get(key).cloned().map(read_spelled_list) {
        None => Vec::new(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(scalar_to_text)
            .take(MAX_ENTRIES)
            .collect(),
        Some(value) => scalar_to_text(&value).into_iter().collect(),
    }
}

/// Replaces a text that spells a list by the list.
fn read_spelled_list(value: Value) -> Value {
    match value.as_str().and_then(spelled_list::parse) {
        Some(items) => Value::from(items),
        None => value,
    }
}

fn get_platforms(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let words = get_words(map, key);
    words.iter().map(|os| normalize_platform(os)).collect()
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

/// Returns the name of a platform as the client compares it.
///
/// The documentation of the hub has `macos` where its client has `darwin`.
fn normalize_platform(os: &str) -> String {
    match os.to_ascii_lowercase().as_str() {
        "macos" | "mac" | "osx" => "darwin".to_owned(),
        "windows" => "win32".to_owned(),
        other => other.to_owned(),
    }
}
