//! `skills detect -- COMMAND…`: finds implicit uses of skills.

use serde_json::{Value, json};
use skills_runtime::SkillRuntime;
use skills_runtime::prompt::{CommandLine, SkillUse};

use crate::arguments::Detect;
use crate::discovery_config;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, line};

/// Finds the skills that a shell command reads or runs.
pub(crate) fn detect(
    runtime: &SkillRuntime,
    arguments: &Detect,
    output: &Output,
) -> anyhow::Result<Exit> {
    let directory = match &arguments.cwd {
        Some(directory) => input::resolve_directory(directory)?,
        None => discovery_config::current_dir()?,
    };
    let command = match arguments.command.as_slice() {
        [text] => CommandLine::Shell(text),
        words => CommandLine::Argv(words),
    };
    let index = runtime.prompt().implicit_index();
    let uses = index.detect(command, &directory);
    if output.is_json() {
        let uses: Vec<Value> = uses.iter().map(to_json).collect();
        output.print_json(&json!({"uses": uses}))?;
        return Ok(Exit::Success);
    }
    let shown = uses.iter().map(|found| {
        format!(
            "{} {}  {}\n",
            found.kind.as_str(),
            found.entry.name(),
            line(&found.path.to_string_lossy())
        )
    });
    output.text(&shown.collect::<String>())?;
    if uses.is_empty() {
        output.status("the command uses no skill");
    }
    Ok(Exit::Success)
}

fn to_json(found: &SkillUse<'_>) -> Value {
    json!({
        "skill": found.entry.name(),
        "scope": found.entry.scope().as_str(),
        "path": found.entry.location().to_string_lossy(),
        "kind": found.kind.as_str(),
        "file": found.path.to_string_lossy(),
    })
}
