//! The list of skills.

use serde_json::{Value, json};
use skills_runtime::discovery::Inactive;
use skills_runtime::{Entry, is_hidden};

use super::bad_cursor;
use crate::file_tools::FileTools;
use crate::{Outcome, ToolError};

/// The most characters of a description that are shown.
const MAX_DESCRIPTION: usize = 1024;

impl FileTools {
    pub(super) fn catalogue(&self, cursor: Option<&str>, limit: usize) -> Result<Outcome, ToolError> {
        let catalog = self.looks.catalog();
        let used = catalog.entries().iter().map(|entry| (line(entry), data(entry)));
        let unused = catalog.inactive().iter().map(|inactive| self.unused(inactive));
        let all: Vec<(String, Value)> = used.chain(unused).collect();
        let start = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>().map_err(|_| bad_cursor()))?;
        let page = all.get(start..).unwrap_or_default();
        let page = &page[..page.len().min(limit)];
        let next = Some(start + page.len()).filter(|next| *next < all.len() && !page.is_empty()).map(|next| next.to_string());
        let mut text = if all.is_empty() { "No skills found".to_owned() } else { format!("Skills ({}):", all.len()) };
        text.extend(page.iter().map(|(line, _)| line.as_str()));
        if let Some(next) = &next {
            text.push_str(&format!("\n... more: pass cursor \"{next}\""));
        }
        let entries: Vec<&Value> = page.iter().map(|(_, data)| data).collect();
        Ok(Outcome::new(text, json!({"path": "skills", "entries": entries, "total": all.len(), "next_cursor": next, "truncated": false})))
    }

    /// What an untrusted skill says of itself is nothing for a model, unless the model wrote it.
    fn unused(&self, inactive: &Inactive) -> (String, Value) {
        let (entry, reason) = (inactive.entry(), inactive.reason());
        let is_draft = self.is_draft(entry, reason);
        let mut data = data(entry);
        data["enabled"] = json!(false);
        data["reason"] = json!(reason.code());
        data["draft"] = json!(is_draft);
        if is_draft {
            return (format!("{}  [draft, not adopted]", line(entry)), data);
        }
        data["description"] = json!("");
        (format!("\n  {}/  [not used: {}]", entry.name(), reason.code()), data)
    }
}

fn line(entry: &Entry) -> String {
    format!("\n  {}/  - {}", entry.name(), description(entry))
}

fn data(entry: &Entry) -> Value {
    // Their texts may name paths of this machine.
    let warnings: Vec<&str> = entry.warnings().iter().map(|warning| warning.code()).collect();
    json!({
        "name": entry.name().as_str(),
        "path": format!("skills/{}", entry.name()),
        "type": "directory",
        "description": description(entry),
        "source": entry.scope().as_str(),
        "enabled": true,
        "warnings": warnings,
    })
}

/// A description on one line, without what nobody sees.
fn description(entry: &Entry) -> String {
    let words: Vec<&str> = entry.manifest().description().split_whitespace().collect();
    words.join(" ").chars().filter(|c| !is_hidden(*c)).take(MAX_DESCRIPTION).collect()
}
