//! `skills prompt [NAME]`.

use serde_json::json;
use skills_runtime::{Budget, SkillRuntime};

use crate::arguments::Prompt;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) fn prompt(runtime: &SkillRuntime, arguments: &Prompt, output: &Output) -> anyhow::Result<Exit> {
    match &arguments.name {
        Some(name) => {
            let text = runtime.skill_prompt(name)?;
            if output.is_json() { output.document(&json!({"text": text}))? } else { output.text(&text)? }
        }
        None => catalogue(runtime, arguments, output)?,
    }
    Ok(Exit::Done)
}

fn catalogue(runtime: &SkillRuntime, arguments: &Prompt, output: &Output) -> anyhow::Result<()> {
    let budget = arguments.budget.map_or_else(|| Budget::for_context_window(arguments.context_window), Budget::Characters);
    let catalogue = runtime.catalogue(budget);
    if output.is_json() {
        return output.document(&json!({
            "text": catalogue.text(),
            "cost": catalogue.cost(),
            "budget": budget.limit(),
            "shortened": catalogue.shortened(),
            "omitted": catalogue.omitted(),
        }));
    }
    output.text(catalogue.text())?;
    if !catalogue.shortened().is_empty() {
        output.note(&format!("descriptions shortened to fit the budget: {}", catalogue.shortened().join(", ")));
    }
    if !catalogue.omitted().is_empty() {
        output.note(&format!("left out, the budget is too small: {}", catalogue.omitted().join(", ")));
    }
    Ok(())
}
