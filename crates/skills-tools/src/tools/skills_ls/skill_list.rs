//! `skills_ls` of `skills`: lists the skills.

use std::sync::Arc;

use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::discovery::InactiveEntry;
use skills_runtime::ledger::Activity;

use super::{LsArguments, invalid_cursor};
use crate::sanitize::whole_description;
use crate::tool::FileCall;
use crate::virtual_files::VirtualFiles;
use crate::waiting_skills::Waiting;
use crate::{ToolError, ToolOutput};

pub(super) fn list(
    FileCall { files, session, .. }: FileCall<'_>,
    arguments: &LsArguments,
    limit: usize,
) -> Result<ToolOutput, ToolError> {
    let library = files.runtime.library();
    let (catalog, order) = match arguments.task.as_deref() {
        Some(task) => {
            let index = library.search_index();
            (Arc::clone(index.catalog()), Some(index.rank(task)))
        }
        None => (library.current_catalog(), None),
    };
    let entries: Vec<&Entry> = match order {
        Some(order) => order
            .into_iter()
            .map(|place| &catalog.entries()[place])
            .collect(),
        None => catalog.entries().iter().collect(),
    };
    let total = catalog.entries().len() + catalog.inactive().len();
    let start = arguments.cursor.as_ref().map_or(Ok(0), |cursor| {
        cursor.parse::<usize>().map_err(|_| invalid_cursor())
    })?;
    let active = entries.iter().copied().skip(start);
    let offered = active.clone().take(limit);
    library.usage().record(offered, Activity::Offered, session);
    let active_rows = active.map(active_row);
    let inactive_rows = catalog
        .inactive()
        .iter()
        // Active skills come first; the offset counts both lists as one.
        .skip(start.saturating_sub(catalog.entries().len()))
        .map(|inactive| inactive_row(files, inactive));
    let (lines, entries): (Vec<String>, Vec<Value>) =
        active_rows.chain(inactive_rows).take(limit).unzip();
    let next = Some(start.saturating_add(entries.len()))
        .filter(|next| *next < total && !entries.is_empty())
        .map(|next| next.to_string());
    let mut text = if total == 0 {
        "No skills found".to_owned()
    } else {
        format!("Skills ({total}):")
    };
    text.extend(lines);
    if let Some(next) = &next {
        text.push_str(&format!("\n... more: pass cursor \"{next}\""));
    }
    // Counts only: names and paths of skills that were not read are not shown to a model.
    let omitted = catalog.summary().omissions();
    if let (Some(omitted), None) = (&omitted, &next) {
        text.push_str(&format!("\nNot available: {omitted}"));
    }
    if let (Some(waiting), None) = (Waiting::new(&catalog).sentence_with_names(), &next) {
        text.push_str(&format!("\n{waiting}"));
    }
    let mut data = json!({"path": "/skills", "entries": [], "total": total, "next_cursor": next, "truncated": false});
    if let Some(omitted) = omitted {
        data["omitted"] = json!(omitted);
    }
    data["entries"] = Value::Array(entries);
    Ok(ToolOutput::new(text, data))
}

/// The text of an untrusted skill is not shown to a model, unless the model wrote it.
fn inactive_row(files: &VirtualFiles, inactive: &InactiveEntry) -> (String, Value) {
    let (entry, reason) = (inactive.entry(), inactive.reason());
    let is_draft = files.is_draft(entry, reason);
    let description = if is_draft {
        whole_description(entry.manifest().description())
    } else {
        String::new()
    };
    // The reason by its code, since its text can contain host paths.
    let line = match is_draft {
        true => format!("{}  [draft, not accepted]", skill_line(entry, &description)),
        false => format!("\n  {}/  [inactive: {}]", entry.name(), reason.code()),
    };
    let mut data = skill_json(entry, description);
    data["enabled"] = json!(false);
    data["reason"] = json!(reason.code());
    data["draft"] = json!(is_draft);
    (line, data)
}

fn active_row(entry: &Entry) -> (String, Value) {
    let description = whole_description(entry.manifest().description());
    (
        skill_line(entry, &description),
        skill_json(entry, description),
    )
}

fn skill_line(entry: &Entry, description: &str) -> String {
    format!("\n  {}/  - {description}", entry.name())
}

fn skill_json(entry: &Entry, description: String) -> Value {
    // Codes only: the texts of warnings may contain host paths.
    let warnings: Vec<&str> = entry
        .warnings()
        .iter()
        .map(|warning| warning.code())
        .collect();
    json!({
        "name": entry.name().as_str(),
        "path": format!("/skills/{}", entry.name()),
        "type": "directory",
        "description": description,
        "source": entry.scope().as_str(),
        "enabled": true,
        "warnings": warnings,
    })
}
