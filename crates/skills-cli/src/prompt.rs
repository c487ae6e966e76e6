//! `skills prompt [NAME]`.

use serde_json::json;
use skills_runtime::{Budget, SkillRuntime};

use crate::arguments::Prompt;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;

pub(crate) fn prompt(runtime: &SkillRuntime, arguments: &Prompt, output: &Output) -> anyhow::Result<Exit> {
    match &arguments.name {
        Some(name) => {
            let text = runtime.skill_prompt(&input::skill_name(name))?;
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
            "unit": match budget {
                Budget::Tokens(_) => "tokens",
                Budget::Characters(_) => "characters",
            },
            "shortened": catalogue.shortened(),
            "omitted": catalogue.omitted(),
        }));
    }
    output.text(catalogue.text())?;
    if !catalogue.shortened().is_empty() {
        output.note(&format!("descriptions shortened to fit the budget: {}", names(catalogue.shortened())));
    }
    if !catalogue.omitted().is_empty() {
        output.note(&format!("left out, the budget is too small: {}", names(catalogue.omitted())));
    }
    Ok(())
}

/// Names a few and counts the rest.
fn names(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let some = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some} and {} more", names.len() - SHOWN) } else { some }
}
