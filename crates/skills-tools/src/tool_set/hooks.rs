//! What hooks see of a tool call, and the skills whose hooks apply to it.

use serde_json::{Map, Value, json};
use skills_runtime::Entry;
use skills_script::build_argv;

use super::call::ResolvedCall;
use super::inner::Inner;
use crate::registry::ScriptToolEntry;
use crate::run::hooks::command_text;
use crate::run::{HookMode, HookedCall};

/// Returns the call as hooks see it; `None` if no hook applies. Performs blocking I/O.
pub(super) fn hooked_call(
    inner: &Inner,
    name: &str,
    call: &ResolvedCall,
    session: Option<&str>,
) -> Option<HookedCall> {
    if inner.hooks == HookMode::Disabled {
        return None;
    }
    let (tool, input, own) = match call {
        ResolvedCall::Unknown { .. } => return None,
        ResolvedCall::Builtin(tool, arguments) => {
            let view = tool.hooks.as_ref()?;
            let mut input = arguments.as_object().cloned().unwrap_or_default();
            for (field, value) in (view.fields)(arguments) {
                input.insert(field.to_owned(), value);
            }
            (view.tool, input, (view.skill)(&inner.programs, arguments))
        }
        ResolvedCall::Script(tool, arguments) => (
            "Bash",
            describe_script(tool, arguments),
            Some(tool.entry.clone()),
        ),
    };
    let catalog = inner.runtime().library().catalog();
    let active = session.map(|session| inner.active_skills.of_session(session));
    let active = active.unwrap_or_default();
    let applies = |entry: &&Entry| {
        active.iter().any(|known| known == entry.directory())
            || own.as_ref().map(Entry::directory) == Some(entry.directory())
    };
    let skills: Vec<Entry> = catalog.entries().iter().filter(applies).cloned().collect();
    (!skills.is_empty()).then(|| HookedCall {
        tool,
        aliases: vec![name.to_owned(), format!("mcp__skills__{name}")],
        input,
        skills,
    })
}

fn describe_script(tool: &ScriptToolEntry, arguments: &Map<String, Value>) -> Map<String, Value> {
    // Invalid arguments are the error of the call itself.
    let words = build_argv(arguments, &tool.tool.arguments).map(|argv| argv.args);
    let words = words.unwrap_or_default();
    let script = format!("scripts/{}", tool.tool.file);
    let words: Vec<String> = std::iter::once(script).chain(words).collect();
    let mut input = Map::new();
    input.insert("command".to_owned(), json!(command_text(&words)));
    input.insert("skill".to_owned(), json!(tool.tool.skill));
    input.insert("arguments".to_owned(), Value::Object(arguments.clone()));
    input
}
