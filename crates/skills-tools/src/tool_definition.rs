//! What a model is told of a tool.

use serde::Serialize;
use serde_json::{Value, json};

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Its name: at most 64 letters, digits, `_` and `-`, which every model API takes.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does and when to use it.
    pub description: String,
    /// The arguments, as JSON Schema 2020-12.
    pub input_schema: Value,
    /// The result's data, as JSON Schema 2020-12.
    pub output_schema: Value,
    /// What it does to the world.
    pub annotations: Annotations,
}

/// What a tool does to the world. Hints for a host; they decide nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may change or remove what is there.
    pub destructive_hint: bool,
    /// Calling it twice does no more than calling it once.
    pub idempotent_hint: bool,
    /// It may reach what lies beyond this machine.
    pub open_world_hint: bool,
}

/// How definitions are written for different hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolFormat {
    /// As `tools/list` of the Model Context Protocol has them.
    Mcp,
    /// `{"type": "function", "function": {…}}`, as OpenAI's chat completions and most other APIs
    /// have them.
    OpenAi,
    /// `{"name", "description", "input_schema"}`, as Anthropic's messages have them.
    Anthropic,
}

impl ToolDefinition {
    /// Writes the definition for a host.
    #[must_use]
    pub fn render(&self, flavour: ToolFormat) -> Value {
        let Self {
            name,
            description,
            input_schema,
            ..
        } = self;
        match flavour {
            ToolFormat::Mcp => json!(self),
            ToolFormat::OpenAi => {
                json!({"type": "function", "function": {"name": name, "description": description, "parameters": input_schema}})
            }
            ToolFormat::Anthropic => {
                json!({"name": name, "description": description, "input_schema": input_schema})
            }
        }
    }
}

impl Annotations {
    /// It looks and changes nothing.
    pub(crate) const READ_ONLY: Self = Self {
        read_only_hint: true,
        destructive_hint: false,
        idempotent_hint: true,
        open_world_hint: false,
    };
    /// It makes something new.
    pub(crate) const ADDITIVE: Self = Self {
        read_only_hint: false,
        destructive_hint: false,
        idempotent_hint: false,
        open_world_hint: false,
    };
    /// It puts something in the place of what was there, or adds to it.
    pub(crate) const DESTRUCTIVE: Self = Self {
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: false,
    };
    /// It runs a program.
    pub(crate) const EXECUTES: Self = Self {
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: true,
    };
}
