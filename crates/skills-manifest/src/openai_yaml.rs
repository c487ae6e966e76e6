//! `agents/openai.yaml`: what Codex and its like read beside the `SKILL.md`.

mod icon;

use serde_json::{Map, Value};

use crate::field_reader::{is_spelling_of, yaml_type_name};
use crate::yaml;

/// The most characters of a name of any kind.
const NAME_MAX_CHARACTERS: usize = 64;
/// The most characters of a text of any kind.
const TEXT_MAX_CHARACTERS: usize = 1024;
/// The most tools that are read.
const MAX_TOOLS: usize = 100;

/// What `agents/openai.yaml` says to the host of a skill; the model never sees it.
///
/// Every part is optional and fails alone: what cannot be read is dropped with a note, and the
/// skill loads without it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenAiMetadata {
    /// `interface`: how a user interface shows the skill.
    pub interface: Interface,
    /// `dependencies.tools`: the tools that the skill needs.
    pub tools: Vec<ToolDependency>,
    /// `policy`.
    pub policy: InvocationPolicy,
}

/// How a user interface shows a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// At most 64 characters, on one line.
    pub display_name: Option<String>,
    /// At most 1,024 characters, on one line.
    pub short_description: Option<String>,
    /// At most 1,024 characters, on one line.
    pub default_prompt: Option<String>,
    /// `#RRGGBB`.
    pub brand_color: Option<String>,
    /// A path below the skill's `assets/`, or below the plugin's `assets/` with `..` before it.
    pub icon_small: Option<String>,
    /// As [`icon_small`](Self::icon_small).
    pub icon_large: Option<String>,
}

/// A tool that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDependency {
    /// `type`: `mcp`, `env_var` or `cli`; at most 64 characters.
    pub kind: String,
    /// What it is: the name of a server, variable or program.
    pub value: String,
    /// What it is for.
    pub description: Option<String>,
    /// `streamable_http` or `stdio`; at most 64 characters.
    pub transport: Option<String>,
    /// How to start it.
    pub command: Option<String>,
    /// Where it is.
    pub url: Option<String>,
}

/// Who may use a skill, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvocationPolicy {
    /// `allow_implicit_invocation`; missing means yes. When no, the model is not offered the skill.
    pub allow_implicit_invocation: Option<bool>,
    /// `products`, in lower case: the products that the skill is for; empty for all.
    pub products: Vec<String>,
    /// Whether `policy` was there and could not be read: the skill is then not offered to the
    /// model.
    pub unparsed: bool,
}

/// Something that was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAiWarning {
    /// The field, as `interface.brand_color`; empty for the whole file.
    pub field: String,
    /// Why, in one lower-case sentence.
    pub reason: String,
}

impl InvocationPolicy {
    /// Says whether the model may choose the skill by itself.
    #[must_use]
    pub fn allows_implicit_invocation(&self) -> bool {
        !self.unparsed && self.allow_implicit_invocation != Some(false)
    }

    /// Says whether the skill is for this product; the case of letters does not matter.
    #[must_use]
    pub fn allows_product(&self, product: &str) -> bool {
        self.products.is_empty()
            || self
                .products
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(product))
    }
}

impl OpenAiMetadata {
    /// Reads the file; JSON is YAML too.
    ///
    /// `below_plugin` is the skill's directory relative to the plugin that brings it
    /// (`skills/deploy`); icons may then lie in the plugin's `assets/` as well. Never fails: what
    /// cannot be read is in the notes.
    #[must_use]
    pub fn parse(bytes: &[u8], below_plugin: Option<&str>) -> (Self, Vec<OpenAiWarning>) {
        let mut reader = OpenAiParser {
            below_plugin,
            warnings: Vec::new(),
        };
        let metadata = reader.parse(bytes);
        (metadata, reader.warnings)
    }
}

/// The fields of `policy`.
const POLICY_FIELDS: [&str; 2] = ["allow_implicit_invocation", "products"];

/// Whether a key is `policy` or one of its fields, in whatever spelling.
fn is_policy_field(key: &str) -> bool {
    POLICY_FIELDS
        .iter()
        .chain(&["policy"])
        .any(|field| is_spelling_of(key, field))
}

struct OpenAiParser<'a> {
    below_plugin: Option<&'a str>,
    warnings: Vec<OpenAiWarning>,
}

impl OpenAiParser<'_> {
    fn warn(&mut self, field: &str, reason: impl Into<String>) {
        self.warnings.push(OpenAiWarning {
            field: field.to_owned(),
            reason: reason.into(),
        });
    }

    fn parse(&mut self, bytes: &[u8]) -> OpenAiMetadata {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.warn("", "it is not UTF-8");
            return OpenAiMetadata::unreadable(bytes);
        };
        let read = yaml::parse(text);
        let repeats_policy = |read: &yaml::Parsed| {
            read.duplicate_keys
                .iter()
                .any(|repeated| is_policy_field(&repeated.key))
        };
        let is_repeated = read.as_ref().is_ok_and(repeats_policy);
        let map = match read.map(|read| read.value) {
            Ok(Value::Object(map)) => map,
            Ok(Value::Null) => return OpenAiMetadata::default(),
            Ok(other) => {
                self.warn(
                    "",
                    format!("expected a mapping, found {}", yaml_type_name(&other)),
                );
                return OpenAiMetadata::unreadable(bytes);
            }
            Err(
                yaml::ParseError::Syntax { message, line, .. }
                | yaml::ParseError::BudgetExceeded { message, line },
            ) => {
                self.warn("", format!("line {line}: it is not valid YAML: {message}"));
                return OpenAiMetadata::unreadable(bytes);
            }
            Err(yaml::ParseError::KeyNotScalar { found, line, .. }) => {
                self.warn(
                    "",
                    format!("line {line}: a key is {found}; write keys as text"),
                );
                return OpenAiMetadata::unreadable(bytes);
            }
        };
        let section = |reader: &mut Self, key: &str| match map.get(key) {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(section)) => Some(section.clone()),
            Some(other) => {
                reader.warn(
                    key,
                    format!("expected a mapping, found {}", yaml_type_name(other)),
                );
                None
            }
        };
        let interface = section(self, "interface").unwrap_or_default();
        let dependencies = section(self, "dependencies").unwrap_or_default();
        let policy = section(self, "policy");
        let mut policy = policy.map_or(
            InvocationPolicy {
                unparsed: true,
                ..InvocationPolicy::default()
            },
            |policy| self.parse_policy(&policy),
        );
        if is_repeated {
            self.warn("policy", "a key stands twice");
            policy.unparsed = true;
        }
        OpenAiMetadata {
            interface: self.parse_interface(&interface),
            tools: self.parse_tools(&dependencies),
            policy,
        }
    }

    fn parse_interface(&mut self, map: &Map<String, Value>) -> Interface {
        Interface {
            display_name: self.parse_text(map, "interface", "display_name", NAME_MAX_CHARACTERS),
            short_description: self.parse_text(
                map,
                "interface",
                "short_description",
                TEXT_MAX_CHARACTERS,
            ),
            default_prompt: self.parse_text(
                map,
                "interface",
                "default_prompt",
                TEXT_MAX_CHARACTERS,
            ),
            brand_color: self.parse_color(map),
            icon_small: self.parse_icon(map, "icon_small"),
            icon_large: self.parse_icon(map, "icon_large"),
        }
    }

    fn parse_text(
        &mut self,
        map: &Map<String, Value>,
        section: &str,
        key: &str,
        limit: usize,
    ) -> Option<String> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let field = format!("{section}.{key}");
        let Value::String(text) = value else {
            self.warn(
                &field,
                format!("expected text, found {}", yaml_type_name(value)),
            );
            return None;
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            self.warn(&field, "it is empty");
            return None;
        }
        let characters = line.chars().count();
        if characters > limit {
            self.warn(
                &field,
                format!("it has {characters} characters, at most {limit} are read"),
            );
            return None;
        }
        Some(line)
    }

    fn parse_color(&mut self, map: &Map<String, Value>) -> Option<String> {
        let text = self.parse_text(map, "interface", "brand_color", NAME_MAX_CHARACTERS)?;
        let is_color = text.len() == 7
            && text.starts_with('#')
            && text[1..].bytes().all(|b| b.is_ascii_hexdigit());
        if !is_color {
            self.warn("interface.brand_color", "expected `#RRGGBB`");
        }
        is_color.then_some(text)
    }

    fn parse_icon(&mut self, map: &Map<String, Value>, key: &str) -> Option<String> {
        let text = self.parse_text(map, "interface", key, TEXT_MAX_CHARACTERS)?;
        let path = icon::resolve_icon_path(&text, self.below_plugin);
        if path.is_none() {
            self.warn(&format!("interface.{key}"), "an icon lies below `assets/`");
        }
        path
    }

    fn parse_tools(&mut self, map: &Map<String, Value>) -> Vec<ToolDependency> {
        match map.get("tools") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .take(MAX_TOOLS)
                .filter_map(|item| self.parse_tool(item))
                .collect(),
            Some(other) => {
                self.warn(
                    "dependencies.tools",
                    format!("expected a list, found {}", yaml_type_name(other)),
                );
                Vec::new()
            }
        }
    }

    fn parse_tool(&mut self, item: &Value) -> Option<ToolDependency> {
        const SECTION: &str = "dependencies.tools";
        let Value::Object(map) = item else {
            self.warn(
                SECTION,
                format!("expected a mapping, found {}", yaml_type_name(item)),
            );
            return None;
        };
        let kind = self.parse_text(map, SECTION, "type", NAME_MAX_CHARACTERS);
        let value = self.parse_text(map, SECTION, "value", TEXT_MAX_CHARACTERS);
        let (Some(kind), Some(value)) = (kind, value) else {
            self.warn(SECTION, "an entry without `type` or `value`");
            return None;
        };
        Some(ToolDependency {
            kind,
            value,
            description: self.parse_text(map, SECTION, "description", TEXT_MAX_CHARACTERS),
            transport: self.parse_text(map, SECTION, "transport", NAME_MAX_CHARACTERS),
            command: self.parse_text(map, SECTION, "command", TEXT_MAX_CHARACTERS),
            url: self.parse_text(map, SECTION, "url", TEXT_MAX_CHARACTERS),
        })
    }

    /// A restriction that is there and cannot be read restricts.
    fn parse_policy(&mut self, map: &Map<String, Value>) -> InvocationPolicy {
        let mut policy = InvocationPolicy::default();
        for key in map
            .keys()
            .filter(|key| !POLICY_FIELDS.contains(&key.as_str()))
        {
            self.warn(&format!("policy.{key}"), "no such field is known");
            // Another spelling, or what a merge key would bring, may mean a restriction.
            policy.unparsed |= is_policy_field(key) || key == "<<";
        }
        match map.get("allow_implicit_invocation") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(flag)) => policy.allow_implicit_invocation = Some(*flag),
            Some(other) => {
                self.warn(
                    "policy.allow_implicit_invocation",
                    format!("expected true or false, found {}", yaml_type_name(other)),
                );
                policy.unparsed = true;
            }
        }
        match map.get("products") {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                policy.products = items
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|product| product.trim().to_ascii_lowercase())
                    .collect();
            }
            Some(other) => {
                self.warn(
                    "policy.products",
                    format!("expected a list of names, found {}", yaml_type_name(other)),
                );
                policy.unparsed = true;
            }
        }
        policy
    }
}

impl OpenAiMetadata {
    /// Nothing could be read. The skill loads without it, but a policy that stands there restricts
    /// although nobody knows how.
    fn unreadable(bytes: &[u8]) -> Self {
        let holds = |word: &str| {
            bytes
                .windows(word.len())
                .any(|window| window == word.as_bytes())
        };
        let unread = std::str::from_utf8(bytes).is_err() || holds("implicit") || holds("products");
        Self {
            policy: InvocationPolicy {
                unparsed: unread,
                ..InvocationPolicy::default()
            },
            ..Self::default()
        }
    }
}
