//! The definition of a tool, and its rendering for model APIs.

use serde::Serialize;
use serde_json::{Value, json};

/// Describes a tool to a model: name, text, schemas and annotations.
///
/// [`ToolSet::definitions`](crate::ToolSet::definitions) returns one for each enabled tool. The
/// definition is independent of the API that carries it; [`render`](Self::render) writes it in the
/// format of a particular one. Text that comes from a skill is sanitized and limited, but remains
/// untrusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name: at most 64 letters, digits, `_` and `-`, which every model API accepts.
    pub name: String,
    /// The display name.
    pub title: String,
    /// What the tool does and when to use it.
    pub description: String,
    /// The schema of the arguments, as JSON Schema 2020-12.
    pub input_schema: Value,
    /// The schema of [`ToolOutput::structured`](crate::ToolOutput::structured), as JSON Schema
    /// 2020-12.
    pub output_schema: Value,
    /// Effects of a call.
    pub annotations: Annotations,
}

/// The effects of a tool, as hints for host applications.
///
/// The fields are the annotations of the Model Context Protocol. Clients may use them to decide
/// when to ask a user; nothing in this crate depends on them, since permissions are decided by
/// policy alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The tool changes nothing.
    pub read_only_hint: bool,
    /// The tool may change or remove existing data.
    pub destructive_hint: bool,
    /// Repeating a call has no further effect.
    pub idempotent_hint: bool,
    /// The tool may interact with systems other than the host.
    pub open_world_hint: bool,
}

/// The format in which a definition is rendered.
///
/// Names, descriptions and schemas are the same in all formats. Only [`Mcp`](Self::Mcp) has a
/// title, an output schema and annotations, since the other APIs have no fields for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolFormat {
    /// As in `tools/list` of the Model Context Protocol.
    Mcp,
    /// `{"type": "function", "function": {…}}`, as in OpenAI's chat completions and most compatible
    /// APIs.
    OpenAi,
    /// `{"name", "description", "input_schema"}`, as in Anthropic's messages API.
    Anthropic,
}

impl ToolDefinition {
    /// Renders the definition in a format.
    #[must_use]
    pub fn render(&self, format: ToolFormat) -> Value {
        let Self {
            name,
            description,
            input_schema,
            ..
        } = self;
        match format {
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
    /// Reads and changes nothing.
    pub(crate) const READ_ONLY: Self = Self {
        read_only_hint: true,
        destructive_hint: false,
        idempotent_hint: true,
        open_world_hint: false,
    };
    /// Creates something new.
    pub(crate) const ADDITIVE: Self = Self {
        read_only_hint: false,
        destructive_hint: false,
        idempotent_hint: false,
        open_world_hint: false,
    };
    /// Replaces, extends or removes existing data.
    pub(crate) const DESTRUCTIVE: Self = Self {
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: false,
    };
    /// Runs a program.
    pub(crate) const EXECUTES: Self = Self {
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: true,
    };
}
