//! `skills list`.

use serde_json::{Value, json};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use crate::exit::Exit;
use crate::output::Output;

pub(crate) fn list(runtime: &SkillRuntime, output: &Output) -> anyhow::Result<Exit> {
    let catalog = runtime.catalog();
    if output.is_json() {
        output.document(&document(&catalog))?;
        return Ok(Exit::Done);
    }
    output.text(&table(catalog.entries()))?;
    let passed_over = catalog.skipped().iter().filter(|skipped| !skipped.reason().is_expected());
    for skipped in passed_over {
        output.note(&format!("skipped {skipped}"));
    }
    if catalog.entries().is_empty() {
        output.note("no skills found; name a directory with --root DIR");
    }
    let warned = catalog.entries().iter().filter(|entry| !entry.warnings().is_empty()).count();
    if warned > 0 {
        output.note(&format!("{warned} with warnings; `skills show NAME` lists them"));
    }
    Ok(Exit::Done)
}

fn document(catalog: &Catalog) -> Value {
    let skills: Vec<Value> = catalog.entries().iter().map(skill).collect();
    let skipped: Vec<Value> = catalog
        .skipped()
        .iter()
        .map(|skipped| json!({"path": skipped.path().to_string_lossy(), "code": skipped.reason().code(), "message": skipped.reason().to_string()}))
        .collect();
    json!({"skills": skills, "skipped": skipped})
}

fn skill(entry: &Entry) -> Value {
    json!({
        "name": entry.name(),
        "description": entry.manifest().description(),
        "scope": entry.scope().as_str(),
        "path": entry.location().to_string_lossy(),
        "directory": entry.directory().to_string_lossy(),
        "user_invocable": entry.manifest().user_invocable(),
        "model_invocable": entry.manifest().model_invocable(),
        "warnings": warnings(entry),
    })
}

/// The warnings of a skill, as every command shows them.
pub(crate) fn warnings(entry: &Entry) -> Vec<Value> {
    entry.warnings().iter().map(|warning| json!({"code": warning.code(), "line": warning.line(), "message": warning.to_string()})).collect()
}

fn table(entries: &[Entry]) -> String {
    let width = entries.iter().map(|entry| entry.name().as_str().chars().count()).max().unwrap_or_default();
    let row = |entry: &Entry| format!("{:width$}  {}\n", entry.name().as_str(), first_sentence(entry.manifest().description()));
    entries.iter().map(row).collect()
}

/// The first sentence on one line, cut when it is very long.
fn first_sentence(text: &str) -> String {
    const MAX_CHARACTERS: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    match line[..end].char_indices().nth(MAX_CHARACTERS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line[..end].to_owned(),
    }
}
