//! `skills tools`: lists and configures the tools offered to a model.

use serde_json::json;
use skills_runtime::Builder;
use skills_tools::{ToolFormat, ToolOverride, ToolSet};

use crate::arguments::{Tools, ToolsCommand};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, line};
use crate::tool_host;

pub(crate) fn tools(builder: Builder, arguments: &Tools, output: &Output) -> anyhow::Result<Exit> {
    let set = tool_host::inspection_tools(builder, &arguments.host)?;
    if let Some(ToolsCommand::Change(change)) = &arguments.command {
        if change.reset {
            if !set.clear_override(&change.tool)? {
                output.status(&format!("`{}` has no overrides", change.tool));
            }
            return print_override(&set, &change.tool, output);
        }
        let mut changes = ToolOverride::default();
        // `None` keeps the current state; clap has rejected both options together.
        changes.enabled = (change.on || change.off).then_some(change.on);
        changes.description.clone_from(&change.description);
        changes.timeout_ms = change.timeout;
        if changes == ToolOverride::default() {
            return Err(InputError::new("nothing to change")
                .with_help("pass `--off`, `--on`, `--description`, `--timeout` or `--reset`")
                .into());
        }
        set.set_override(&change.tool, changes)?;
        return print_override(&set, &change.tool, output);
    }
    for note in set.warnings()? {
        output.status(&format!("note: {note}"));
    }
    if let Some(flavour) = arguments.flavour {
        output.print_json(&set.render(flavour.into())?)?;
    } else if output.is_json() {
        output.print_json(&json!({"tools": set.render(ToolFormat::Mcp)?}))?;
    } else {
        let definitions = set.definitions()?;
        let width = definitions
            .iter()
            .map(|definition| definition.name.len())
            .max()
            .unwrap_or_default();
        let rows = definitions.iter().map(|definition| {
            format!(
                "{:width$}  {}\n",
                definition.name,
                line(&definition.description)
            )
        });
        output.text(&rows.collect::<String>())?;
    }
    Ok(Exit::Success)
}

fn print_override(set: &ToolSet, tool: &str, output: &Output) -> anyhow::Result<Exit> {
    let is_offered = set
        .definitions()?
        .iter()
        .any(|definition| definition.name == tool);
    if output.is_json() {
        output.print_json(&json!({"tool": tool, "enabled": is_offered}))?;
    } else {
        output.status(&format!(
            "{tool} is {}, also after changes of the skill",
            if is_offered { "enabled" } else { "disabled" }
        ));
    }
    Ok(Exit::Success)
}
