//! `skills list`: prints the catalog.

use serde_json::{Value, json};
use skills_runtime::discovery::{InactiveEntry, SkipReason, Skipped};
use skills_runtime::{Catalog, Entry, Scope, SkillRuntime};

use crate::arguments::List;
use crate::exit::Exit;
use crate::output::{Output, line};

pub(crate) fn list(
    runtime: &SkillRuntime,
    arguments: &List,
    output: &Output,
) -> anyhow::Result<Exit> {
    let catalog = runtime.library().catalog();
    if output.is_json() {
        output.print_json(&to_json(runtime, &catalog))?;
        return Ok(Exit::Success);
    }
    output.text(&if arguments.long {
        render_long(runtime, catalog.entries())
    } else {
        render_table(catalog.entries())
    })?;
    for inactive in catalog.inactive() {
        let (entry, reason) = (inactive.entry(), inactive.reason());
        output.status(&format!(
            "inactive: {} ({}): {reason}",
            entry.name(),
            entry.location().display()
        ));
    }
    for skipped in catalog
        .skipped()
        .iter()
        .filter(|skipped| !skipped.reason().is_expected())
    {
        output.status(&format!("skipped {skipped}"));
    }
    if catalog.entries().is_empty() {
        output.status("no skills found");
        output.status(
            "help: pass `--root DIR`, or list the searched directories with `skills roots`",
        );
    }
    let warned = catalog
        .entries()
        .iter()
        .filter(|entry| !entry.warnings().is_empty())
        .count();
    if warned > 0 && !arguments.long {
        output.status(&format!(
            "skills with warnings: {warned}; see `skills list --long`"
        ));
    }
    Ok(Exit::Success)
}

fn to_json(runtime: &SkillRuntime, catalog: &Catalog) -> Value {
    let active_to_json = |entry: &Entry| {
        let mut value = entry_to_json(entry);
        value["missing"] = json!(runtime.library().missing_requirements([entry]).to_lines());
        value
    };
    let skills: Vec<Value> = catalog.entries().iter().map(active_to_json).collect();
    let inactive: Vec<Value> = catalog.inactive().iter().map(inactive_to_json).collect();
    // Missing default roots are reported by `skills roots`. A missing `--root` has failed before.
    let is_reported = |skipped: &&Skipped| !matches!(skipped.reason(), SkipReason::RootNotFound);
    let skipped: Vec<Value> = catalog
        .skipped()
        .iter()
        .filter(is_reported)
        .map(skipped_to_json)
        .collect();
    json!({"skills": skills, "inactive": inactive, "skipped": skipped})
}

/// Returns a skipped entry as JSON, in the same form for all commands.
pub(crate) fn skipped_to_json(skipped: &Skipped) -> Value {
    json!({"path": skipped.path().to_string_lossy(), "code": skipped.reason().code(), "message": skipped.reason().to_string()})
}

/// Returns an inactive skill as JSON, in the same form for all commands.
pub(crate) fn inactive_to_json(inactive: &InactiveEntry) -> Value {
    let (mut value, reason) = (entry_to_json(inactive.entry()), inactive.reason());
    if let Value::Object(map) = &mut value {
        map.insert(
            "reason".to_owned(),
            json!({"code": reason.code(), "message": reason.to_string()}),
        );
    }
    value
}

fn entry_to_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name(),
        "description": entry.manifest().description(),
        "scope": entry.scope().as_str(),
        "root": entry.root().to_string_lossy(),
        "path": entry.location().to_string_lossy(),
        "directory": entry.directory().to_string_lossy(),
        "user_invocable": entry.manifest().user_invocable(),
        "model_invocable": entry.is_model_invocable(),
        "warnings": warnings_to_json(entry),
    })
}

/// Returns the warnings of a skill as JSON, in the same form for all commands.
pub(crate) fn warnings_to_json(entry: &Entry) -> Vec<Value> {
    entry.warnings().iter().map(|warning| json!({"code": warning.code(), "line": warning.line(), "message": warning.to_string()})).collect()
}

/// Renders one line per skill, with the scope if there are several scopes.
fn render_table(entries: &[Entry]) -> String {
    let widest =
        |length: &dyn Fn(&Entry) -> usize| entries.iter().map(length).max().unwrap_or_default();
    let name = widest(&|entry| entry.name().as_str().chars().count());
    let several = entries
        .windows(2)
        .any(|pair| pair[0].scope() != pair[1].scope());
    let scope = if several {
        widest(&|entry| entry.scope().as_str().len())
    } else {
        0
    };
    let row = |entry: &Entry| {
        let middle = if several {
            format!("{:scope$}  ", Scope::as_str(entry.scope()))
        } else {
            String::new()
        };
        format!(
            "{:name$}  {middle}{}\n",
            entry.name().as_str(),
            first_sentence(entry.manifest().description())
        )
    };
    entries.iter().map(row).collect()
}

/// Renders one paragraph per skill: description, path, root, warnings and missing requirements.
fn render_long(runtime: &SkillRuntime, entries: &[Entry]) -> String {
    let paragraph = |entry: &Entry| {
        let (name, description) = (entry.name(), first_sentence(entry.manifest().description()));
        let (path, scope, root) = (entry.location(), entry.scope(), entry.root());
        let offered = if entry.is_model_invocable() {
            ""
        } else {
            "\n  not model-invocable"
        };
        let warnings: String = entry
            .warnings()
            .iter()
            .map(|warning| format!("\n  warning: {}", line(&warning.to_string())))
            .collect();
        let missing: String = runtime
            .library()
            .missing_requirements([entry])
            .to_lines()
            .iter()
            .map(|missing| format!("\n  missing requirement: {}", line(missing)))
            .collect();
        let (path, root) = (line(&path.to_string_lossy()), line(&root.to_string_lossy()));
        format!(
            "{name}\n  {description}\n  {path}\n  {scope} root {root}{offered}{warnings}{missing}\n"
        )
    };
    entries.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

/// Returns the first sentence on one line, truncated to 160 characters.
pub(crate) fn first_sentence(text: &str) -> String {
    const MAX_CHARACTERS: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    match line[..end].char_indices().nth(MAX_CHARACTERS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line[..end].to_owned(),
    }
}
