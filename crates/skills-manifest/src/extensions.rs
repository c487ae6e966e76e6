//! The fields that clients added to the specification.

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, Flag};
use crate::warning::WarningKind;
use crate::{Hook, OpenClaw, RequiresBlock, ScriptSpec, ToolPattern};

/// The kind of conversation that a skill runs in (`context`).
///
/// Without it, the skill runs in the conversation of its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContextMode {
    /// A forked conversation, which returns only a summary.
    Fork,
}

/// The fields that clients added to the specification: Claude Code, Copilot, Codex and OpenClaw.
///
/// Parsing acts on none of them; the host application decides which it supports. An absent or
/// invalid field is `None`, empty or false. A restriction that could not be parsed is additionally
/// in [`Manifest::unparsed_restrictions`](crate::Manifest::unparsed_restrictions).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Extensions {
    /// `when_to_use`: when to use the skill, which Claude Code appends to the description.
    pub when_to_use: Option<String>,
    /// `argument-hint`: the arguments to type after the skill's name, such as `[file]`.
    pub argument_hint: Option<String>,
    /// `arguments`: the names of the arguments, in order.
    pub arguments: Vec<String>,
    /// `disallowed-tools`: the tools that must not be used while the skill is active.
    pub disallowed_tools: Vec<ToolPattern>,
    /// `context`: the kind of conversation that the skill runs in.
    pub context: Option<ContextMode>,
    /// `agent`: the kind of agent that runs a forked skill.
    pub agent: Option<String>,
    /// `background`: whether a forked skill runs while the conversation continues.
    pub background: Option<bool>,
    /// `model`: the preferred model, or `inherit`.
    pub model: Option<String>,
    /// `effort`: the reasoning effort of the model.
    pub effort: Option<String>,
    /// `hooks` as written: a mapping from events to commands. Parsing never runs one.
    pub hooks_raw: Option<Value>,
    /// The parsed hooks of the events `PreToolUse`, `PostToolUse` and `Stop`.
    pub hooks: Vec<Hook>,
    /// `requires` (OpenSkills flow): the requirements of the skill's scripts.
    pub requires: RequiresBlock,
    /// `requires.platforms` or `requires.os`: the supported platforms (`darwin`, `linux`, `win32`);
    /// empty for all.
    pub platforms: Vec<String>,
    /// `paths`: globs of the files that the skill applies to.
    pub paths: Vec<String>,
    /// `shell`: the shell for commands in the body.
    pub shell: Option<String>,
    /// `homepage`, as a field or in the OpenClaw block.
    pub homepage: Option<String>,
    /// `version`, as a field or in `metadata`.
    pub version: Option<String>,
    /// `metadata.short-description`: the text of a list in a user interface (Codex).
    pub short_description: Option<String>,
    /// `command-dispatch`, `command-tool` and `command-arg-mode` (OpenClaw): the tool that the
    /// command named after the skill calls.
    pub command_dispatch: Option<CommandDispatch>,
    /// `scripts` or `metadata.scripts`: descriptions, deadlines and arguments of the scripts.
    pub scripts: Vec<ScriptSpec>,
    /// The OpenClaw block of `metadata`: requirements and how to install them.
    pub openclaw: Option<OpenClaw>,
}

/// The tool that the command named after the skill calls (OpenClaw).
///
/// The client calls it directly, without a model. Only dispatch to a tool is supported
/// (`command-dispatch: tool`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandDispatch {
    /// `command-tool`: the name of the tool.
    pub tool: String,
    /// Whether the text after the command is passed on unparsed (`command-arg-mode: raw`, the
    /// default).
    pub raw_arguments: bool,
}

impl Extensions {
    /// Parses the fields; `None` if no extension is present.
    pub(crate) fn parse(
        fields: &mut FieldReader<'_>,
        metadata: &Map<String, Value>,
    ) -> Option<Box<Self>> {
        // Most skills have no extensions; those then cost neither time nor memory.
        if fields.map.is_empty() && metadata.is_empty() {
            return None;
        }
        // First, since `homepage` falls back to its block.
        let openclaw = OpenClaw::parse(fields, metadata);
        let raw_tools = fields.map.get("disallowed-tools").cloned();
        let (requires, platforms) = RequiresBlock::parse_requires_field(fields);
        let extensions = Self {
            when_to_use: fields.parse_text("when_to_use"),
            argument_hint: parse_argument_hint(fields),
            arguments: fields.parse_words("arguments"),
            disallowed_tools: fields.parse_disallowed_tools(),
            context: parse_context(fields),
            agent: fields.parse_text("agent"),
            background: parse_flag(fields, "background"),
            model: fields.parse_text("model"),
            effort: fields.parse_text("effort"),
            hooks_raw: copy_raw_hooks(fields),
            hooks: Hook::parse_all(fields),
            requires,
            platforms,
            paths: fields.parse_words("paths"),
            shell: fields.parse_text("shell"),
            homepage: fields
                .parse_text("homepage")
                .or_else(|| openclaw.as_ref()?.homepage.clone()),
            version: parse_version(fields, metadata),
            short_description: metadata
                .get("short-description")
                .and_then(Value::as_str)
                .map(str::to_owned),
            command_dispatch: parse_command_dispatch(fields),
            scripts: ScriptSpec::parse_all(fields, metadata),
            openclaw,
        };
        // Parsing takes the field out of the mapping, unlike all others; `Manifest::extra` returns
        // it.
        fields
            .map
            .extend(raw_tools.map(|value| ("disallowed-tools".to_owned(), value)));
        (extensions != Self::default()).then(|| Box::new(extensions))
    }
}

/// Parses `argument-hint`. YAML parses unquoted `[file]` as a list, so lists become text again.
fn parse_argument_hint(fields: &mut FieldReader<'_>) -> Option<String> {
    match fields.map.get("argument-hint") {
        Some(Value::Array(items)) => {
            let words: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Value::String(word) => format!("[{word}]"),
                    other => format!("[{other}]"),
                })
                .collect();
            Some(words.join(" "))
        }
        _ => fields.parse_text("argument-hint"),
    }
}

/// Parses `context`. Published skills describe audiences and topics with it, so that only `fork`
/// restricts the skill.
fn parse_context(fields: &mut FieldReader<'_>) -> Option<ContextMode> {
    let value = fields.get_cloned("context")?;
    match value {
        Value::String(text) if text.trim() == "fork" => Some(ContextMode::Fork),
        Value::String(text) => {
            fields.warn("context", WarningKind::UnknownContext(text));
            None
        }
        value => {
            fields.warn_wrong_type("context", "`fork`", &value);
            None
        }
    }
}

/// Returns `hooks` as written if it is a mapping.
///
/// A list of mappings is the notation of another client and only causes a warning: published
/// skills observe events with it. Any other type counts as unparsed.
fn copy_raw_hooks(fields: &mut FieldReader<'_>) -> Option<Value> {
    let hooks = fields.get_cloned("hooks")?;
    if hooks.is_object() {
        return Some(hooks);
    }
    fields.warn_wrong_type("hooks", "a mapping", &hooks);
    let is_list_of_mappings = |items: &Vec<Value>| items.iter().all(Value::is_object);
    if !hooks.as_array().is_some_and(is_list_of_mappings) {
        fields.mark_unparsed("hooks");
    }
    None
}

fn parse_flag(fields: &mut FieldReader<'_>, key: &'static str) -> Option<bool> {
    match fields.parse_flag(key)? {
        Flag::True => Some(true),
        Flag::False => Some(false),
        Flag::Unparsed => None,
    }
}

/// Parses `version`. YAML parses `1.2` as a number, which is accepted without a warning.
fn parse_version(fields: &FieldReader<'_>, metadata: &Map<String, Value>) -> Option<String> {
    fields
        .map
        .get("version")
        .or_else(|| metadata.get("version"))
        .and_then(crate::field_reader::scalar_to_text)
}

fn parse_command_dispatch(fields: &mut FieldReader<'_>) -> Option<CommandDispatch> {
    let dispatch = fields.parse_text("command-dispatch")?;
    // Other kinds of dispatch have no tool that a client could call without a model.
    let tool = fields
        .parse_text("command-tool")
        .filter(|_| dispatch.trim() == "tool")?;
    let raw_arguments = fields
        .parse_text("command-arg-mode")
        .is_none_or(|mode| mode.trim() == "raw");
    Some(CommandDispatch {
        tool,
        raw_arguments,
    })
}
