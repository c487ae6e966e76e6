//! `skills roots` and `skills explain`.

use std::path::Path;

use serde_json::{Value, json};
use skills_runtime::discovery::{ExplanationStep, SkillStatus, SkipReason};
use skills_runtime::{Catalog, Root, SkillRuntime};

use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::{Output, line};

/// Lists the roots in search order.
pub(crate) fn roots(runtime: &SkillRuntime, output: &Output) -> anyhow::Result<Exit> {
    let catalog = runtime.library().catalog();
    let roots = runtime.library().discovery().roots();
    if output.is_json() {
        let roots: Vec<Value> = roots.iter().map(|root| to_json(root, &catalog)).collect();
        output.print_json(&json!({"roots": roots}))?;
        return Ok(Exit::Success);
    }
    let scope = roots
        .iter()
        .map(|root| root.scope().as_str().len())
        .max()
        .unwrap_or_default();
    let mut missing = 0;
    let mut text = String::new();
    for root in roots {
        let (used, inactive) = count_entries(root, &catalog);
        // Most of the known client directories do not exist on a given machine.
        if is_missing(root, &catalog) {
            missing += 1;
            continue;
        }
        let inactive = if inactive > 0 {
            format!(", {inactive} inactive")
        } else {
            String::new()
        };
        let trust = if root.is_trusted() {
            ""
        } else {
            ", not trusted"
        };
        let path = line(&root.path().to_string_lossy());
        text.push_str(&format!(
            "{:scope$}  {path}  ({used} skills{inactive}{trust})\n",
            root.scope().as_str()
        ));
    }
    output.text(&text)?;
    if missing > 0 {
        output.status(&format!(
            "{missing} more roots do not exist; `--json` lists them"
        ));
    }
    Ok(Exit::Success)
}

fn to_json(root: &Root, catalog: &Catalog) -> Value {
    let (used, inactive) = count_entries(root, catalog);
    json!({
        "path": root.path().to_string_lossy(),
        "scope": root.scope().as_str(),
        "trusted": root.is_trusted(),
        "exists": !is_missing(root, catalog),
        "skills": used,
        "inactive": inactive,
    })
}

fn count_entries(root: &Root, catalog: &Catalog) -> (usize, usize) {
    let used = catalog
        .entries()
        .iter()
        .filter(|entry| entry.root() == root.path())
        .count();
    let inactive = catalog
        .inactive()
        .iter()
        .filter(|inactive| inactive.entry().root() == root.path())
        .count();
    (used, inactive)
}

fn is_missing(root: &Root, catalog: &Catalog) -> bool {
    let is_root = |path: &Path| path == root.path();
    catalog.skipped().iter().any(|skipped| {
        matches!(skipped.reason(), SkipReason::RootNotFound) && is_root(skipped.path())
    })
}

/// Explains why a skill is or is not available.
pub(crate) fn explain(
    runtime: &SkillRuntime,
    query: &str,
    output: &Output,
) -> anyhow::Result<Exit> {
    let name = input::resolve_skill_name(query);
    let catalog = runtime.library().catalog();
    let explanation = runtime.library().discovery().explain(&catalog, &name);
    let status = explanation.status();
    // Text output is the error that all other commands report; a JSON document has the steps.
    if status == SkillStatus::NotFound
        && !output.is_json()
        && let Err(error) = runtime.get_skill(&name)
    {
        return Err(lookup::explain_error(runtime, &name, error));
    }
    let steps = explanation.steps();
    if output.is_json() {
        let step = |step: &ExplanationStep| json!({"code": step.code(), "path": step.path().map(Path::to_string_lossy), "message": step.to_string()});
        let steps: Vec<Value> = steps.iter().map(step).collect();
        output.print_json(&json!({"status": status.as_str(), "steps": steps}))?;
    } else {
        let is_shown = |step: &&ExplanationStep| {
            !matches!(
                step,
                ExplanationStep::Skipped {
                    code: "root-missing",
                    ..
                }
            )
        };
        let steps = steps
            .iter()
            .filter(is_shown)
            .map(|step| format!("{}\n", line(&step.to_string())));
        output.text(&format!(
            "{}\n{}",
            status.as_str(),
            steps.collect::<String>()
        ))?;
    }
    Ok(
        if matches!(status, SkillStatus::Skipped | SkillStatus::NotFound) {
            Exit::Failed
        } else {
            Exit::Success
        },
    )
}
