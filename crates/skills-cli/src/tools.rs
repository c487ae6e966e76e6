//! `skills tools`.

use serde_json::json;
use skills_runtime::Builder;
use skills_tools::{Flavour, Override, ToolSet};

use crate::arguments::{Tools, ToolsCommand};
use crate::exit::Exit;
use crate::host;
use crate::input::InputError;
use crate::output::{Output, line};

pub(crate) fn tools(builder: Builder, arguments: &Tools, output: &Output) -> anyhow::Result<Exit> {
    let set = host::to_look_at(builder, &arguments.host)?;
    if let Some(ToolsCommand::Change(change)) = &arguments.command {
        if change.reset {
            if !set.reset_script_tool(&change.tool)? {
                output.note(&format!("nothing of {} was changed", change.tool));
            }
            return told(&set, &change.tool, output);
        }
        let mut wanted = Override::default();
        wanted.enabled = (change.on || change.off).then_some(change.on);
        wanted.description.clone_from(&change.description);
        wanted.timeout_ms = change.timeout;
        if wanted == Override::default() {
            let message =
                "nothing to change: name --off, --on, --description, --timeout or --reset";
            return Err(InputError::new(message.to_owned()).into());
        }
        set.change_script_tool(&change.tool, wanted)?;
        return told(&set, &change.tool, output);
    }
    for note in set.notes()? {
        output.note(&format!("note: {note}"));
    }
    if let Some(flavour) = arguments.flavour {
        output.document(&set.render(flavour.into())?)?;
    } else if output.is_json() {
        output.document(&json!({"tools": set.render(Flavour::Mcp)?}))?;
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
    Ok(Exit::Done)
}

fn told(set: &ToolSet, tool: &str, output: &Output) -> anyhow::Result<Exit> {
    let is_offered = set
        .definitions()?
        .iter()
        .any(|definition| definition.name == tool);
    if output.is_json() {
        output.document(&json!({"tool": tool, "offered": is_offered}))?;
    } else {
        output.note(&format!(
            "{tool} is {}, and stays so when the skill changes",
            if is_offered { "offered" } else { "not offered" }
        ));
    }
    Ok(Exit::Done)
}
