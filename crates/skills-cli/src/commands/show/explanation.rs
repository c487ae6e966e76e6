//! `skills show --why`: explains why a skill is or is not available.

use std::path::Path;

use serde_json::{Value, json};
use skills_runtime::discovery::{ExplanationStep, Lookup, SkillStatus};

use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::line;

/// Explains why a skill is or is not available.
pub(crate) fn explain(query: &str, context: &Context) -> anyhow::Result<Exit> {
    let (runtime, output) = (context.runtime()?, context.output);
    let name = input::resolve_skill_name(query);
    let catalog = runtime.library().catalog();
    let explanation = runtime.library().discovery().explain(&catalog, &name);
    let status = explanation.status();
    // Text output is the error that all other commands report; a JSON document has the steps.
    if status == SkillStatus::NotFound
        && !output.is_json()
        && let Err(error) = runtime.get_skill(&name)
    {
        return Err(lookup::explain_error(&runtime, &name, error));
    }
    let steps = explanation.steps().iter();
    if output.is_json() {
        let step = |step: &ExplanationStep| json!({"code": step.code(), "path": step.path().map(Path::to_string_lossy), "message": step.to_string()});
        let steps: Vec<Value> = steps.map(step).collect();
        output.print_json(&json!({"status": status.as_str(), "steps": steps}))?;
    } else {
        let shown = steps.filter(|step| step.code() != "root-missing");
        let lines = shown.map(|step| line(&step.to_string()));
        output.lines(std::iter::once(status.as_str().to_owned()).chain(lines))?;
        match catalog.find(&name) {
            Lookup::Inactive(inactive) if inactive.is_of_untrusted_project() => {
                output.status(&format!("help: {}", lookup::TRUST_PROJECT_HINT));
            }
            Lookup::Inactive(inactive) if let Some(cause) = lookup::unfinished_change(inactive) => {
                output.status(&cause);
                output.status(&format!("help: {}", lookup::UNFINISHED_HINT));
            }
            _ if status == SkillStatus::Skipped => {
                let hint = lookup::option_for_skipped(&runtime, &name);
                if let Some(hint) = hint {
                    output.status(&format!("help: {hint}"));
                }
            }
            _ => {}
        }
    }
    Ok(match status {
        SkillStatus::Skipped | SkillStatus::NotFound => Exit::Failed,
        _ => Exit::Success,
    })
}
