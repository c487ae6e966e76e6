//! `load_skill`: returns the instructions of a skill.

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::ledger::{ActivatedBy, Activity};
use skills_runtime::manifest::{ContextMode, Extensions, Manifest, ToolPattern, escape_invisible};
use skills_runtime::{Entry, SkillPrograms, TextPart};

use crate::registry::runnable_programs;
use crate::schema;
use crate::skill_text::SkillText;
use crate::tool::{Call, FileCall, GuideStep, Tool, parse_arguments};
use crate::tool_definition::Annotations;
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

/// Maximum number of bytes that one call returns.
const MAX_BYTES: usize = 1 << 20;

/// Number of bytes of the instructions that a call without a limit returns. With the list of files,
/// the result is then short enough for clients that cut results of more than 20 KB.
const DEFAULT_BYTES: usize = 12 << 10;

/// The smallest part, in bytes.
const MIN_BYTES: usize = 1 << 10;

/// Number of bytes of the line that says where the instructions continue, and of changes of the
/// delimiters between two parts.
const CONTINUATION_BYTES: usize = 150;

/// Maximum number of programs that the text names.
const MAX_NAMED: usize = 20;
/// How often a part is made shorter so that the client shows all of it.
const MAX_CUTS: usize = 6;
/// Maximum length of these names, and of the missing requirements, in bytes.
const MAX_NAMES_BYTES: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadArguments {
    name: String,
    max_bytes: Option<usize>,
    #[serde(default)]
    offset: usize,
}

impl LoadArguments {
    fn part(&self, max_text_bytes: Option<usize>) -> TextPart {
        let max = self.max_bytes.unwrap_or(DEFAULT_BYTES);
        let shown = max_text_bytes.unwrap_or(MAX_BYTES).max(MIN_BYTES);
        TextPart {
            offset: self.offset,
            max_bytes: Some(max.min(shown)),
        }
    }
}

pub(crate) const TOOL: Tool = Tool {
    name: "load_skill",
    groups: &[ToolGroup::Core, ToolGroup::Catalog],
    title: "Load a skill",
    description: "Load the instructions of a skill and the list of its files. Follow them for the task, and read the files that they name when needed.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        schema::input_schema(
            json!({
                "name": schema::any_skill_name_schema(),
                "offset": {"type": "integer", "minimum": 0, "description": "Where to continue long instructions."},
                "max_bytes": {"type": "integer", "minimum": MIN_BYTES, "maximum": MAX_BYTES, "default": DEFAULT_BYTES, "description": "Size of a part."},
            }),
            &["name"],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "name": {"type": "string"},
                "path": {"type": "string"},
                "text": {"type": "string"},
                "truncated": {"type": "boolean"},
                "next_offset": {"type": ["integer", "null"]},
                "missing": {"type": "array", "items": {"type": "string"},
                            "description": "Requirements without which the scripts of the skill do not run."},
                "context": {"type": ["string", "null"], "description": "`fork`: start a sub-agent with the text as its prompt, and continue with its final message."},
                "agent": {"type": ["string", "null"], "description": "Kind of agent that a fork requests."},
                "model": {"type": ["string", "null"], "description": "Model that the skill requests."},
                "allowed_tools": {"type": "array", "items": {"type": "string"}},
                "disallowed_tools": {"type": "array", "items": {"type": "string"}},
                "hooks": {"type": ["object", "null"], "description": "Hooks of the skill, as it declares them."},
            }),
            &["name", "path", "text", "truncated", "missing"],
        )
    },
    lists_skills: true,
    guide: &[(GuideStep::ReadInstructions, "`load_skill`")],
    hooks: None,
    call: Call::Files(call),
};

pub(crate) fn call(
    FileCall {
        files,
        session,
        max_text_bytes,
        ..
    }: FileCall<'_>,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let arguments: LoadArguments = parse_arguments(arguments)?;
    let library = files.runtime.library();
    let name = arguments.name.as_str();
    let unavailable = || {
        ToolErrorCode::PermissionDenied.error(format!("skill `{name}` is not available to models"))
    };
    let (entry, is_draft) = files.find_skill(name)?;
    // A draft has the trust of the model that wrote it; its text must not come back with the
    // authority of a skill.
    if is_draft {
        return Err(unavailable().with_hint("read the draft with skills_read"));
    }
    if !library.is_model_invocable(&entry) {
        return Err(unavailable().with_hint("ask your user to invoke it by name"));
    }
    let mut part = arguments.part(max_text_bytes);
    let mut loaded = SkillText::load(&files.runtime, &entry, part)?;
    let missing = library.missing_requirements([&entry]).to_lines();
    let mut notes = notes(
        &arguments,
        &loaded.manifest,
        &missing,
        &entry,
        &files.groups,
    );
    // A shorter part has more text about what it leaves out, up to the length of what it leaves out: so
    // each cut is larger than the one before.
    for cut in 0..MAX_CUTS {
        let Some(bytes) = excess(&loaded, &notes, max_text_bytes) else {
            break;
        };
        part.max_bytes = part
            .max_bytes
            .map(|max| max.saturating_sub(bytes << cut).max(MIN_BYTES));
        loaded = SkillText::load(&files.runtime, &entry, part)?;
    }
    // Where the instructions continue matters more than what can be asked for.
    if excess(&loaded, &notes, max_text_bytes).is_some() {
        notes.clear();
    }
    // Checked again: the file may have changed since the catalog was scanned.
    if !loaded.manifest.model_invocable() {
        return Err(unavailable().with_hint("ask your user to invoke it by name"));
    }
    if arguments.offset == 0 {
        let activated = Activity::Activated(ActivatedBy::Model);
        library.usage().record([&entry], activated, session);
    }
    let SkillText {
        text,
        next_offset,
        manifest,
    } = loaded;
    let extensions = manifest.extensions();
    let texts =
        |tools: &[ToolPattern]| -> Vec<String> { tools.iter().map(ToString::to_string).collect() };
    let data = json!({
        "name": name,
        "path": format!("/skills/{name}"),
        "text": text,
        "truncated": next_offset.is_some(),
        "next_offset": next_offset,
        "missing": missing,
        "context": extensions.context,
        "agent": extensions.agent,
        "model": extensions.model,
        "allowed_tools": texts(manifest.allowed_tools()),
        "disallowed_tools": texts(&extensions.disallowed_tools),
        "hooks": extensions.hooks_raw,
    });
    let more = next_offset.map_or_else(String::new, |next| {
        format!("\nThe instructions continue: call load_skill with `offset` {next}.")
    });
    // A client cuts the end, and the notes have names that the skill chooses.
    let mut output = ToolOutput::new(format!("{text}{more}{notes}"), data);
    output.loaded_skill = Some(name.to_owned());
    Ok(output)
}

/// Returns what is said once, with the first part: what the skill lacks, how it runs, and its
/// programs.
fn notes(
    arguments: &LoadArguments,
    manifest: &Manifest,
    missing: &[String],
    entry: &Entry,
    groups: &[ToolGroup],
) -> String {
    if arguments.offset > 0 {
        return String::new();
    }
    let note = match missing {
        [] => String::new(),
        _ => format!(
            "\nMissing requirements of its scripts: {}",
            joined(missing, "; ")
        ),
    };
    let usage = usage(entry, groups).unwrap_or_default();
    format!("{note}{}{usage}", fork_note(manifest.extensions()))
}

/// Returns by how many bytes a part and its notes are longer than the client shows, `None` if they are
/// not.
fn excess(loaded: &SkillText, notes: &str, max_text_bytes: Option<usize>) -> Option<usize> {
    let length = loaded.text.len() + notes.len() + CONTINUATION_BYTES;
    length
        .checked_sub(max_text_bytes?)
        .filter(|excess| *excess > 0)
}

/// Returns how to run what the skill has, after a line break; `None` if it has nothing to run,
/// or if no tool runs it.
fn usage(entry: &Entry, groups: &[ToolGroup]) -> Option<String> {
    let SkillPrograms {
        mut scripts,
        root_scripts,
        modules,
        ..
    } = runnable_programs(entry);
    scripts.extend(root_scripts);
    let shown = shown_paths(scripts.iter().chain(&modules))?;
    let name = entry.name();
    let has = |group| groups.contains(&group);
    let how = if has(ToolGroup::ScriptExecutor) {
        format!("run_skill_script with `skill_name` `{name}` and the path as `script_name`")
    } else if has(ToolGroup::Workspace) || has(ToolGroup::Core) {
        let command = match (scripts.is_empty(), modules.is_empty()) {
            (_, true) => "the path, with arguments, as `command`",
            (true, false) => "the path as `command` and the input, a JSON object, as `stdin`",
            (false, false) => {
                "the path, with arguments, as `command`; a `.wasm` module reads its input, a JSON object, from `stdin`"
            }
        };
        format!("skills_run with `name` `{name}` and {command}")
    } else if has(ToolGroup::ScriptTools) || has(ToolGroup::LoadedScripts) {
        format!("the tools skill__{name}__*, one for each script")
    } else {
        return None;
    };
    Some(format!(
        "\nPrograms of the skill: {shown}. Run them with {how}."
    ))
}

/// Returns paths as text, or how many there are beyond [`MAX_NAMED`]; `None` without paths.
fn shown_paths<'a>(paths: impl Iterator<Item = &'a String>) -> Option<String> {
    let paths: Vec<String> = paths
        .map(|path| format!("`{}`", escape_invisible(path)))
        .collect();
    (!paths.is_empty()).then(|| joined(&paths, ", "))
}

/// Joins texts, and counts those beyond [`MAX_NAMED`] and [`MAX_NAMES_BYTES`].
fn joined(texts: &[String], separator: &str) -> String {
    let mut rest = MAX_NAMES_BYTES;
    let fits = |text: &&String| {
        let after = rest.checked_sub(text.len());
        rest = after.unwrap_or_default();
        after.is_some()
    };
    let mut shown: Vec<String> = texts
        .iter()
        .take(MAX_NAMED)
        .take_while(fits)
        .cloned()
        .collect();
    if let Some(more @ 1..) = texts.len().checked_sub(shown.len()) {
        shown.push(format!("{more} more"));
    }
    shown.join(separator)
}

/// Says that the skill runs in a sub-agent, after a line break; empty for other skills.
fn fork_note(extensions: &Extensions) -> String {
    if extensions.context != Some(ContextMode::Fork) {
        return String::new();
    }
    let kind = match &extensions.agent {
        // One word of a skill's text, which must not address the model.
        Some(agent) if is_plain_word(agent) => format!(" of type `{agent}`"),
        _ => String::new(),
    };
    format!(
        "\nThis skill runs in a sub-agent: if you can start one{kind}, give it this text and the task as its prompt, and continue with its final message."
    )
}

fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}
