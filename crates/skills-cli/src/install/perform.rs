//! Performs a plan: shows it, asks, changes the directory and reports what was done.

use std::path::Path;

use serde_json::{Value, json};
use skills_install::{Action, Plan, Store};

use super::arguments::InstallArgs;
use super::consent::{Consent, ask};
use super::error::{describe, failed, help};
use super::findings::PlanFindings;
use super::memory::SourceMemory;
use super::plan_text::{change_json, plan_lines};
use crate::context::Context;
use crate::exit::Exit;
use crate::lint::DenyArgs;
use crate::output::{Output, line};

/// What became of the plan for one directory.
pub(crate) struct Performed {
    /// The plan as JSON, and whether it was applied; null if the output is text.
    pub(crate) document: Value,
    pub(crate) exit: Exit,
    /// Whether the plan was applied, which it is also if it leaves out skills with failures.
    pub(crate) is_applied: bool,
}

/// Shows a plan, asks for consent and applies it. Prints the result as text unless the output is
/// JSON.
pub(crate) fn perform(
    mut store: Store,
    plan: Plan,
    directory: &Path,
    arguments: &InstallArgs,
    context: &Context,
) -> anyhow::Result<Performed> {
    let output = context.output;
    report_failures(&plan, output);
    let findings = PlanFindings::new(&plan)?;
    let lines = plan_lines(&plan, &findings);
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(|text| line(text)).collect();
        output.status_lines(&lines.join("\n"));
    }
    let mut document = match output.is_json() {
        true => plan_json(&plan, &findings, directory),
        false => Value::Null,
    };
    if let Some(exit) = findings.check_denied(&plan, &arguments.deny, output) {
        return Ok(Performed {
            document,
            exit,
            is_applied: false,
        });
    }
    if ask(&plan, &findings, directory, arguments.yes, output) == Consent::Denied {
        return Ok(Performed {
            document,
            exit: Exit::Denied,
            is_applied: false,
        });
    }
    let exit = Exit::success_if(plan.failures().is_empty());
    let done = done_lines(&plan, directory);
    // First, so that no skill is installed whose source is unknown later.
    SourceMemory::new(context).change(|known| store.remember_plan(&plan, known))?;
    store.apply(plan).map_err(failed)?;
    if output.is_json() {
        document["applied"] = true.into();
    } else {
        output.lines(done)?;
    }
    Ok(Performed {
        document,
        exit,
        is_applied: true,
    })
}

/// Prints what a plan would change, and then `rest` if the output is text.
pub(crate) fn preview(
    plan: &Plan,
    directory: &Path,
    deny: &DenyArgs,
    rest: impl FnOnce(),
    output: Output,
) -> anyhow::Result<Performed> {
    report_failures(plan, output);
    let findings = PlanFindings::new(plan)?;
    if !output.is_json() {
        output.lines(plan_lines(plan, &findings))?;
        rest();
    }
    let denied = findings.check_denied(plan, deny, output);
    Ok(Performed {
        document: plan_json(plan, &findings, directory),
        exit: denied.unwrap_or_else(|| Exit::success_if(plan.failures().is_empty())),
        is_applied: false,
    })
}

/// Returns a plan as JSON, not applied.
fn plan_json(plan: &Plan, findings: &PlanFindings, directory: &Path) -> Value {
    let changes = plan.changes().iter().enumerate();
    let changes = changes.map(|(index, change)| change_json(change, findings.of_change(index)));
    json!({
        "directory": directory,
        "applied": false,
        "changes": changes.collect::<Vec<_>>(),
        "failures": failures_json(plan),
    })
}

/// Returns the skills that a plan does not contain because of errors.
pub(crate) fn failures_json(plan: &Plan) -> Vec<Value> {
    let failures = plan.failures().iter();
    failures
        .map(|failure| json!({"skills": failure.names(), "error": failure.error().to_string()}))
        .collect()
}

/// Reports the skills that a plan does not contain because of errors.
pub(crate) fn report_failures(plan: &Plan, output: Output) {
    for failure in plan.failures() {
        let names = line(&failure.names().join(", "));
        output.status(&format!("error: {names}: {}", describe(failure.error())));
        if let Some(help) = help(failure.error()) {
            output.status(&format!("help: {help}"));
        }
    }
}

fn done_lines(plan: &Plan, directory: &Path) -> Vec<String> {
    let shown = line(&directory.to_string_lossy());
    let changes = plan.changes().iter();
    changes
        .map(|change| {
            let name = line(change.name());
            match change.action() {
                Action::Add => format!("added `{name}` to {shown}"),
                Action::Update => format!("updated `{name}` in {shown}"),
                Action::Restore => format!("restored `{name}` in {shown}"),
                Action::KeepEdited => format!("kept `{name}`, which was edited, in {shown}"),
                _ => format!("`{name}` is up to date in {shown}"),
            }
        })
        .collect()
}
