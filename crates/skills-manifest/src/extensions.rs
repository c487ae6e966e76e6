//! The fields that clients added to the specification's.

use serde_json::{Map, Value};

use crate::field_reader::{FieldReader, Flag};
use crate::warning::WarningKind;
use crate::{Hook, OpenClaw, RequiresBlock, ScriptSpec, ToolPattern};

/// Where a skill wants to run (`context`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContextMode {
    /// In a forked conversation that returns only a summary.
    Fork,
}

/// The fields that clients added to the specification's: Claude Code, Copilot, Codex, OpenClaw.
///
/// Reading a skill acts on none of them; what a host does about them is its own affair.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Extensions {
    /// `when_to_use`: more on when the skill is right, which Claude Code shows behind the
    /// description.
    pub when_to_use: Option<String>,
    /// `argument-hint`: what to type behind the skill's name.
    pub argument_hint: Option<String>,
    /// `arguments`: the names of the arguments, in order.
    pub arguments: Vec<String>,
    /// `disallowed-tools`: the tools that must not be used while the skill is.
    pub disallowed_tools: Vec<ToolPattern>,
    /// `context`.
    pub context: Option<ContextMode>,
    /// `agent`: the kind of agent that a forked skill wants.
    pub agent: Option<String>,
    /// `background`: whether a forked skill runs while the conversation goes on.
    pub background: Option<bool>,
    /// `model`: the model that the skill wants, or `inherit`.
    pub model: Option<String>,
    /// `effort`: how hard the model should think.
    pub effort: Option<String>,
    /// `hooks`, as written: a mapping from events to commands. Reading a skill never runs one.
    pub hooks_raw: Option<Value>,
    /// The hooks of the events `PreToolUse`, `PostToolUse` and `Stop`, taken apart.
    pub hooks: Vec<Hook>,
    /// `requires` (OpenSkills flow): what must be there before a program of the skill can work.
    pub requires: RequiresBlock,
    /// `requires.platforms` or `requires.os`: the systems it runs on (`darwin`, `linux`, `win32`);
    /// empty for all.
    pub platforms: Vec<String>,
    /// `paths`: globs of the files that the skill is about.
    pub paths: Vec<String>,
    /// `shell`: the shell that commands of the body want.
    pub shell: Option<String>,
    /// `homepage`, here or in the OpenClaw block.
    pub homepage: Option<String>,
    /// `version`, here or in `metadata`.
    pub version: Option<String>,
    /// `metadata.short-description`: what a list in a user interface shows (Codex).
    pub short_description: Option<String>,
    /// `command-dispatch`, `command-tool` and `command-arg-mode` (OpenClaw): the tool that a
    /// command of the skill's name calls.
    pub command_dispatch: Option<CommandDispatch>,
    /// `scripts` or `metadata.scripts`: what is said of the skill's scripts as tools.
    pub scripts: Vec<ScriptSpec>,
    /// The OpenClaw block of `metadata`: what the skill needs and how to get it.
    pub openclaw: Option<OpenClaw>,
}

/// The tool that a command of the skill's name calls (OpenClaw).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandDispatch {
    /// `command-tool`.
    pub tool: String,
    /// Whether the words behind the command are passed on as they are (`command-arg-mode: raw`).
    pub raw_arguments: bool,
}

impl Extensions {
    /// No extension at all.
    pub const EMPTY: Self = Self {
        when_to_use: None,
        argument_hint: None,
        arguments: Vec::new(),
        disallowed_tools: Vec::new(),
        context: None,
        agent: None,
        background: None,
        model: None,
        effort: None,
        hooks_raw: None,
        hooks: Vec::new(),
        requires: RequiresBlock::EMPTY,
        platforms: Vec::new(),
        paths: Vec::new(),
        shell: None,
        homepage: None,
        version: None,
        short_description: None,
        command_dispatch: None,
        scripts: Vec::new(),
        openclaw: None,
    };

    /// Reads what there is; nothing when there is nothing.
    pub(crate) fn parse(
        fields: &mut FieldReader<'_>,
        metadata: &Map<String, Value>,
    ) -> Option<Box<Self>> {
        if fields.map.is_empty() && metadata.is_empty() {
            return None;
        }
        let openclaw = OpenClaw::parse(fields, metadata);
        let written_tools = fields.map.get("disallowed-tools").cloned();
        let (requires, systems) = RequiresBlock::parse_requires_field(fields);
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
            hooks_raw: take_raw_hooks(fields),
            hooks: Hook::parse_all(fields),
            requires,
            platforms: systems,
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
        // Rules are taken out while they are read; all other fields stay.
        fields
            .map
            .extend(written_tools.map(|value| ("disallowed-tools".to_owned(), value)));
        (extensions != Self::EMPTY).then(|| Box::new(extensions))
    }
}

/// Unquoted `[file]` is a list to YAML and is put back together.
fn parse_argument_hint(fields: &mut FieldReader<'_>) -> Option<String> {
    match fields.map.get("argument-hint") {
        Some(Value::Array(items)) => {
            let words = items.iter().map(|item| {
                item.as_str()
                    .map_or_else(|| item.to_string(), str::to_owned)
            });
            Some(
                words
                    .map(|word| format!("[{word}]"))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        }
        _ => fields.parse_text("argument-hint"),
    }
}

/// A `context` that no client knows may mean any restriction.
fn parse_context(fields: &mut FieldReader<'_>) -> Option<ContextMode> {
    fields.map.get("context").filter(|value| !value.is_null())?;
    match fields.parse_text("context") {
        Some(text) if text.trim() == "fork" => return Some(ContextMode::Fork),
        Some(text) => fields.warn("context", WarningKind::UnknownContext(text)),
        None => {}
    }
    fields.mark_unparsed("context");
    None
}

fn take_raw_hooks(fields: &mut FieldReader<'_>) -> Option<Value> {
    let hooks = fields
        .map
        .get("hooks")
        .filter(|value| !value.is_null())?
        .clone();
    if hooks.is_object() {
        return Some(hooks);
    }
    fields.warn_wrong_type("hooks", "a mapping", &hooks);
    fields.mark_unparsed("hooks");
    None
}

fn parse_flag(fields: &mut FieldReader<'_>, key: &'static str) -> Option<bool> {
    match fields.parse_flag(key)? {
        Flag::True => Some(true),
        Flag::False => Some(false),
        Flag::Unparsed => None,
    }
}

/// Versions are often numbers to YAML, and that is nobody's mistake.
fn parse_version(fields: &FieldReader<'_>, metadata: &Map<String, Value>) -> Option<String> {
    fields
        .map
        .get("version")
        .or_else(|| metadata.get("version"))
        .and_then(crate::field_reader::scalar_to_text)
}

fn parse_command_dispatch(fields: &mut FieldReader<'_>) -> Option<CommandDispatch> {
    let dispatch = fields.parse_text("command-dispatch")?;
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
