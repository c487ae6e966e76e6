//! The typed frontmatter.

use serde_json::{Map, Value};

use crate::error::{ManifestError, Repr};
use crate::fence::Frontmatter;
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, type_name};
use crate::{SkillName, ToolRule, is_hidden};

/// The most characters the specification allows in `description`.
const DESCRIPTION_MAX_CHARACTERS: usize = 1024;
/// The most characters the specification allows in `compatibility`.
const COMPATIBILITY_MAX_CHARACTERS: usize = 500;

/// The typed frontmatter of a skill.
///
/// Fields of the Agent Skills specification (`name`, `description`, `license`, `compatibility`, `metadata`, `allowed-tools`) and those
/// that clients added (`context`, `agent`, `model`, `argument-hint`, `user-invocable`, `disable-model-invocation`, `hooks`);
/// everything else is kept in [`extra`](Self::extra).
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    name: Option<SkillName>,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: Map<String, Value>,
    allowed_tools: Vec<ToolRule>,
    context: Option<Context>,
    agent: Option<String>,
    model: Option<String>,
    argument_hint: Option<String>,
    user_invocable: bool,
    model_invocable: bool,
    hooks: Option<Value>,
    extra: Map<String, Value>,
}

/// Where a skill wants to run (`context`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Context {
    /// In a forked conversation that returns only a summary.
    Fork,
}

impl Manifest {
    /// Reads the fields; a field that cannot be read is dropped with a warning and never grants anything.
    ///
    /// # Errors
    /// When the YAML is broken or no mapping, or when `description` is missing or blank.
    pub fn from_frontmatter(frontmatter: &Frontmatter<'_>) -> Result<(Self, Vec<Warning>), ManifestError> {
        let map = yaml::mapping(frontmatter)?;
        let mut fields = Fields { map, frontmatter, warnings: frontmatter.warnings().to_vec() };
        let manifest = Self {
            name: fields.name(),
            description: fields.description()?,
            license: fields.text("license"),
            compatibility: fields.bounded("compatibility", COMPATIBILITY_MAX_CHARACTERS),
            metadata: fields.metadata(),
            allowed_tools: fields.allowed_tools(),
            context: fields.context(),
            agent: fields.text("agent"),
            model: fields.text("model"),
            argument_hint: fields.argument_hint(),
            user_invocable: fields.flag("user-invocable", true),
            model_invocable: !fields.flag("disable-model-invocation", false),
            hooks: fields.take("hooks"),
            extra: std::mem::take(&mut fields.map),
        };
        Ok((manifest, fields.warnings))
    }

    /// Returns `name`, or nothing when it is missing or unusable; the directory's name then serves.
    #[must_use]
    pub fn name(&self) -> Option<&SkillName> {
        self.name.as_ref()
    }

    /// Returns `description`: never blank, perhaps of several lines, as written.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns `license`.
    #[must_use]
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Returns `compatibility`.
    #[must_use]
    pub fn compatibility(&self) -> Option<&str> {
        self.compatibility.as_deref()
    }

    /// Returns `metadata`; the specification wants text values, many skills nest, so values are kept as they are.
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns `allowed-tools`: what the skill asks for. Empty when missing, empty or unreadable.
    #[must_use]
    pub fn allowed_tools(&self) -> &[ToolRule] {
        &self.allowed_tools
    }

    /// Returns `context`.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        self.context
    }

    /// Returns `agent`: the kind of agent a forked skill wants.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns `model`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns `argument-hint`.
    #[must_use]
    pub fn argument_hint(&self) -> Option<&str> {
        self.argument_hint.as_deref()
    }

    /// Returns `user-invocable`; true when missing.
    #[must_use]
    pub fn user_invocable(&self) -> bool {
        self.user_invocable
    }

    /// Says whether the model may choose the skill by itself: `disable-model-invocation` is not true.
    #[must_use]
    pub fn model_invocable(&self) -> bool {
        self.model_invocable
    }

    /// Returns `hooks` as written. Reading a skill never runs one.
    #[must_use]
    pub fn hooks(&self) -> Option<&Value> {
        self.hooks.as_ref()
    }

    /// Returns all other fields, in the order of the file.
    #[must_use]
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }
}

/// Takes fields out of the mapping one by one and notes what is wrong with them.
struct Fields<'a> {
    map: Map<String, Value>,
    frontmatter: &'a Frontmatter<'a>,
    warnings: Vec<Warning>,
}

impl Fields<'_> {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    fn warn(&mut self, key: &str, kind: WarningKind) {
        let line = self.frontmatter.line_of(key);
        self.warnings.push(Warning::new(kind, line));
    }

    fn wrong_type(&mut self, field: &'static str, expected: &'static str, value: &Value) {
        self.warn(field, WarningKind::WrongType { field, expected, found: type_name(value) });
    }

    /// Takes a text field; other scalars are read as text with a warning, since YAML makes `true` and `1.0` of unquoted words.
    fn text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text),
            value @ (Value::Bool(_) | Value::Number(_)) => {
                self.warn(field, WarningKind::NotText { field });
                Some(value.to_string())
            }
            value => {
                self.wrong_type(field, "text", &value);
                None
            }
        }
    }

    fn bounded(&mut self, field: &'static str, limit: usize) -> Option<String> {
        let text = self.text(field)?;
        let characters = text.chars().count();
        if characters > limit {
            self.warn(field, WarningKind::TooLong { field, characters, limit });
        }
        Some(text)
    }

    fn name(&mut self) -> Option<SkillName> {
        let text = self.text("name")?;
        match SkillName::new(&text) {
            Ok(name) => {
                for problem in name.problems() {
                    self.warn("name", WarningKind::NameRule(problem));
                }
                Some(name)
            }
            Err(error) => {
                self.warn("name", WarningKind::NameUnusable(error));
                None
            }
        }
    }

    fn description(&mut self) -> Result<String, ManifestError> {
        let line = self.frontmatter.line_of("description").unwrap_or(self.frontmatter.first_line());
        self.bounded("description", DESCRIPTION_MAX_CHARACTERS)
            .filter(|text| text.chars().any(|c| !c.is_whitespace() && !is_hidden(c)))
            .ok_or_else(|| Repr::Description { line }.into())
    }

    fn metadata(&mut self) -> Map<String, Value> {
        match self.take("metadata") {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(value) => {
                self.wrong_type("metadata", "a mapping", &value);
                Map::new()
            }
        }
    }

    /// Takes `allowed-tools` as one string or as a list of strings.
    fn allowed_tools(&mut self) -> Vec<ToolRule> {
        let texts = match self.take("allowed-tools") {
            None => return Vec::new(),
            Some(Value::String(text)) => vec![Value::String(text)],
            Some(Value::Array(items)) => items,
            Some(value) => {
                self.wrong_type("allowed-tools", "text or a list", &value);
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        for text in texts {
            let (read, bad) = match &text {
                Value::String(text) => ToolRule::parse_list(text),
                other => (Vec::new(), vec![other.to_string()]),
            };
            rules.extend(read);
            for piece in bad {
                self.warn("allowed-tools", WarningKind::ToolUnreadable(piece));
            }
        }
        rules
    }

    fn context(&mut self) -> Option<Context> {
        let text = self.text("context")?;
        if text.trim() == "fork" {
            return Some(Context::Fork);
        }
        self.warn("context", WarningKind::UnknownContext(text));
        None
    }

    /// Takes `argument-hint`; unquoted `[file]` is a list to YAML and is put back together.
    fn argument_hint(&mut self) -> Option<String> {
        match self.map.get("argument-hint") {
            Some(Value::Array(items)) => {
                let words = items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
                let hint = words.map(|word| format!("[{word}]")).collect::<Vec<_>>().join(" ");
                self.map.shift_remove("argument-hint");
                Some(hint)
            }
            _ => self.text("argument-hint"),
        }
    }

    /// Takes a boolean, also in the spellings of YAML 1.1 that clients accept.
    ///
    /// An unreadable value counts as the opposite of the default, which is the restriction its author meant to declare.
    fn flag(&mut self, key: &'static str, default: bool) -> bool {
        let Some(value) = self.take(key) else { return default };
        let word = match &value {
            Value::Bool(flag) => return *flag,
            Value::String(text) => text.trim().to_ascii_lowercase(),
            other => other.to_string(),
        };
        match word.as_str() {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" => false,
            _ => {
                self.wrong_type(key, "true or false", &value);
                !default
            }
        }
    }
}
