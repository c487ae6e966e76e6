//! `agents/openai.yaml`: metadata of a skill for Codex, in a file next to `SKILL.md`.

mod icon;

use serde_json::{Map, Value};

use crate::field_names::is_spelling_of;
use crate::yaml;

/// Maximum length of names and identifiers, in characters.
const NAME_MAX_CHARACTERS: usize = 64;
/// Maximum length of other texts, in characters.
const TEXT_MAX_CHARACTERS: usize = 1024;
/// Maximum number of tools; more are ignored.
const MAX_TOOLS: usize = 100;

/// The contents of `agents/openai.yaml`: metadata for the host application, which the model never
/// sees.
///
/// Every field is optional, and an invalid one is dropped with an [`OpenAiWarning`]; the skill
/// loads without it. Only an invalid `policy` restricts the skill, since it may have been written
/// to keep the model from choosing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenAiMetadata {
    /// `interface`: how a user interface shows the skill.
    pub interface: Interface,
    /// `dependencies.tools`: the tools that the skill needs.
    pub tools: Vec<ToolDependency>,
    /// `policy`: who may invoke the skill.
    pub policy: InvocationPolicy,
}

/// `interface`: how a user interface shows a skill.
///
/// Texts are on one line: line breaks and repeated white space became single spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The name for people, at most 64 characters.
    pub display_name: Option<String>,
    /// The description for a list, at most 1,024 characters.
    pub short_description: Option<String>,
    /// A prompt that a user interface offers to try the skill, at most 1,024 characters.
    pub default_prompt: Option<String>,
    /// The color of the skill, as `#RRGGBB`.
    pub brand_color: Option<String>,
    /// The small icon: a path below the skill's `assets/`, or with `..` below its plugin's
    /// `assets/`.
    pub icon_small: Option<String>,
    /// The large icon, as [`icon_small`](Self::icon_small).
    pub icon_large: Option<String>,
}

/// A tool that a skill requires (`dependencies.tools`).
///
/// An entry without `type` or `value` is dropped. Commands are data only: parsing starts nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDependency {
    /// `type`: `mcp`, `env_var` or `cli`; at most 64 characters.
    pub kind: String,
    /// The name of the server, environment variable or program.
    pub value: String,
    /// What the tool is for.
    pub description: Option<String>,
    /// `streamable_http` or `stdio`; at most 64 characters.
    pub transport: Option<String>,
    /// The command that starts the server.
    pub command: Option<String>,
    /// The URL of the server.
    pub url: Option<String>,
}

/// `policy`: whether the model may choose a skill, and in which products.
///
/// The default allows both. A policy that is present but invalid is [`unparsed`](Self::unparsed)
/// and denies implicit invocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvocationPolicy {
    /// `allow_implicit_invocation`: whether the skill is model-invocable; `None` counts as true.
    pub allow_implicit_invocation: Option<bool>,
    /// `products`: the products that may use the skill, in lowercase; empty for all.
    pub products: Vec<String>,
    /// Whether `policy` is present but could not be parsed; the skill is then not model-invocable.
    pub unparsed: bool,
}

/// A field of `agents/openai.yaml` that was dropped, with the reason.
///
/// The skill loads without the field. For an unknown or duplicate field, nothing but the field
/// itself is affected, except in `policy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAiWarning {
    /// The path of the field, such as `interface.brand_color`; empty for the whole file.
    pub field: String,
    /// Why it was dropped: one line in lowercase, without a full stop.
    pub reason: String,
}

impl InvocationPolicy {
    /// A policy that is present but could not be parsed.
    const UNPARSED: Self = Self {
        allow_implicit_invocation: None,
        products: Vec::new(),
        unparsed: true,
    };

    /// Returns true if the model may choose the skill by itself.
    #[must_use]
    pub fn allows_implicit_invocation(&self) -> bool {
        !self.unparsed && self.allow_implicit_invocation != Some(false)
    }

    /// Returns true if the product may use the skill; ASCII case is ignored.
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
    /// Parses the file, which is YAML or JSON. It never fails: invalid fields become warnings.
    ///
    /// `below_plugin` is the skill's directory relative to its plugin, such as `skills/deploy`;
    /// icons may then be in the plugin's `assets/` too. Callers limit the size of `bytes`.
    ///
    /// ```
    /// use skills_manifest::OpenAiMetadata;
    ///
    /// let file = b"interface: {display_name: Deploy, brand_color: red}";
    /// let (metadata, warnings) = OpenAiMetadata::parse(file, None);
    /// assert_eq!(metadata.interface.display_name.as_deref(), Some("Deploy"));
    /// assert_eq!(warnings[0].field, "interface.brand_color");
    /// assert!(metadata.policy.allows_implicit_invocation());
    /// ```
    #[must_use]
    pub fn parse(bytes: &[u8], below_plugin: Option<&str>) -> (Self, Vec<OpenAiWarning>) {
        let mut parser = OpenAiParser {
            below_plugin,
            warnings: Vec::new(),
        };
        let metadata = parser.parse(bytes);
        (metadata, parser.warnings)
    }
}

const POLICY_FIELDS: [&str; 2] = ["allow_implicit_invocation", "products"];

/// Returns true if a key is a spelling of `policy` or of one of its fields.
fn is_policy_field(key: &str) -> bool {
    POLICY_FIELDS
        .iter()
        .chain(&["policy"])
        .any(|field| is_spelling_of(key, field))
}

/// The file as a mapping.
#[derive(Default)]
struct ParsedFile {
    map: Map<String, Value>,
    /// Whether `policy` or one of its fields occurs twice.
    has_duplicate_policy: bool,
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

    fn warn_wrong_type(&mut self, field: &str, expected: &str, found: &Value) {
        let found = yaml::type_name(found);
        self.warn(field, format!("expected {expected}, found {found}"));
    }

    fn parse(&mut self, bytes: &[u8]) -> OpenAiMetadata {
        match self.parse_mapping(bytes) {
            Some(parsed) => self.parse_sections(&parsed),
            // Without a parse, only a search of the bytes can tell whether there is a policy.
            None => OpenAiMetadata::unreadable(bytes),
        }
    }

    /// Parses the file into a mapping, empty for an empty file; `None` with a warning on failure.
    fn parse_mapping(&mut self, bytes: &[u8]) -> Option<ParsedFile> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.warn("", "invalid UTF-8");
            return None;
        };
        let reason = match yaml::parse(text) {
            Ok(parsed) => {
                let has_duplicate_policy = parsed
                    .duplicate_keys
                    .iter()
                    .any(|duplicate| is_policy_field(&duplicate.key));
                match parsed.value {
                    Value::Object(map) => {
                        return Some(ParsedFile {
                            map,
                            has_duplicate_policy,
                        });
                    }
                    Value::Null => return Some(ParsedFile::default()),
                    other => format!("expected a mapping, found {}", yaml::type_name(&other)),
                }
            }
            Err(error) => match error.kind {
                yaml::ParseErrorKind::KeyNotScalar { found } => {
                    format!(
                        "line {}: invalid key: expected text, found {found}",
                        error.line
                    )
                }
                _ => format!("line {}: invalid YAML: {}", error.line, error.message),
            },
        };
        self.warn("", reason);
        None
    }

    fn parse_sections(&mut self, file: &ParsedFile) -> OpenAiMetadata {
        // Sections in the order in which their warnings are reported: wrong types first.
        let interface = self.get_section(&file.map, "interface").unwrap_or_default();
        let dependencies = self
            .get_section(&file.map, "dependencies")
            .unwrap_or_default();
        let mut policy = match self.get_section(&file.map, "policy") {
            Some(section) => self.parse_policy(&section),
            None => InvocationPolicy::UNPARSED,
        };
        // Parsers keep the first or the last of duplicate keys, so either could be the restriction.
        if file.has_duplicate_policy {
            self.warn("policy", "duplicate key");
            policy.unparsed = true;
        }
        OpenAiMetadata {
            interface: self.parse_interface(&interface),
            tools: self.parse_tools(&dependencies),
            policy,
        }
    }

    /// Returns a section, empty if it is missing; `None` with a warning if it is not a mapping.
    fn get_section(&mut self, map: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
        match map.get(key) {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(section)) => Some(section.clone()),
            Some(other) => {
                self.warn_wrong_type(key, "a mapping", other);
                None
            }
        }
    }

    fn parse_interface(&mut self, map: &Map<String, Value>) -> Interface {
        const SECTION: &str = "interface";
        let max = TEXT_MAX_CHARACTERS;
        Interface {
            display_name: self.parse_text(map, SECTION, "display_name", NAME_MAX_CHARACTERS),
            short_description: self.parse_text(map, SECTION, "short_description", max),
            default_prompt: self.parse_text(map, SECTION, "default_prompt", max),
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
            self.warn_wrong_type(&field, "text", value);
            return None;
        };
        // Lists in user interfaces have one line per text; newlines could forge another entry.
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            self.warn(&field, "expected text, found empty text");
            return None;
        }
        let characters = line.chars().count();
        if characters > limit {
            self.warn(&field, format!("{characters} characters, limit {limit}"));
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
            self.warn(
                &format!("interface.{key}"),
                "expected a path below `assets/`",
            );
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
                self.warn_wrong_type("dependencies.tools", "a list", other);
                Vec::new()
            }
        }
    }

    fn parse_tool(&mut self, item: &Value) -> Option<ToolDependency> {
        const SECTION: &str = "dependencies.tools";
        let Value::Object(map) = item else {
            self.warn_wrong_type(SECTION, "a mapping", item);
            return None;
        };
        let kind = self.parse_text(map, SECTION, "type", NAME_MAX_CHARACTERS);
        let value = self.parse_text(map, SECTION, "value", TEXT_MAX_CHARACTERS);
        let (Some(kind), Some(value)) = (kind, value) else {
            self.warn(SECTION, "an entry has no `type` or no `value`");
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

    /// Parses `policy`; an invalid or misspelled field makes all of it count as unparsed.
    fn parse_policy(&mut self, map: &Map<String, Value>) -> InvocationPolicy {
        let mut policy = InvocationPolicy::default();
        for key in map
            .keys()
            .filter(|key| !POLICY_FIELDS.contains(&key.as_str()))
        {
            self.warn(&format!("policy.{key}"), "unknown field");
            // A misspelled field, or one that a merge key would bring, may be the restriction.
            policy.unparsed |= is_policy_field(key) || key == "<<";
        }
        match map.get("allow_implicit_invocation") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(flag)) => policy.allow_implicit_invocation = Some(*flag),
            Some(other) => {
                self.warn_wrong_type("policy.allow_implicit_invocation", "true or false", other);
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
                self.warn_wrong_type("policy.products", "a list of names", other);
                policy.unparsed = true;
            }
        }
        policy
    }
}

impl OpenAiMetadata {
    /// Returns the metadata of a file that cannot be parsed.
    ///
    /// The skill loads without it, but if the bytes may contain a policy, implicit invocation is
    /// off.
    fn unreadable(bytes: &[u8]) -> Self {
        // Text that is not UTF-8 may be UTF-16, in which no search for ASCII words succeeds.
        let may_have_policy = std::str::from_utf8(bytes).map_or(true, |text| {
            text.contains("implicit") || text.contains("products")
        });
        Self {
            policy: InvocationPolicy {
                unparsed: may_have_policy,
                ..InvocationPolicy::default()
            },
            ..Self::default()
        }
    }
}
