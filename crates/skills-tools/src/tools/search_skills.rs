//! `search_skills`: ranks skills by a query.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::ledger::Activity;

use crate::sanitize::short_description;
use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, Tool, parse_arguments};
use crate::tool_definition::Annotations;
use crate::waiting_skills::Waiting;
use crate::{ToolError, ToolGroup, ToolOutput};

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 500;
/// Number of results that are recorded as found: a model rarely looks further.
const MAX_RECORDED: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

impl SearchArguments {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }
}

pub(crate) const TOOL: Tool = Tool {
    name: "search_skills",
    groups: &[ToolGroup::Core, ToolGroup::Catalog],
    title: "Search skills",
    description: "Find skills: instructions, files and programs for one kind of task. Search before you do specialized work by other means. Best match first; an empty query lists all.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        schema::input_schema(
            json!({
                "query": {"type": "string", "maxLength": MAX_QUERY_CHARS, "description": "The task in a few words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT, "description": "Number of results."},
                "offset": {"type": "integer", "minimum": 0, "description": "Results to skip."},
            }),
            &[],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "skills": {"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "description": {"type": "string"},
                }, "required": ["name", "description"]}},
                "total": {"type": "integer"},
                "next_offset": {"type": ["integer", "null"]},
                "waiting_for_trust": {"type": "integer", "description": "How many skills of the project wait for its trust."},
                "omitted": {"type": "string", "description": "How many skills are not available, and why."},
            }),
            &["skills", "total", "next_offset"],
        )
    },
    lists_skills: false,
    guide: &[(GuideStep::Find, "`search_skills` with a few words")],
    hooks: None,
    call: Call::Files(call),
};

fn call(
    FileCall { files, session, .. }: FileCall<'_>,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let arguments: SearchArguments = parse_arguments(arguments)?;
    let library = files.runtime.library();
    // The index has the current catalog, which is not scanned twice.
    let index = (!arguments.query.trim().is_empty()).then(|| library.search_index());
    let catalog = match &index {
        Some(index) => Arc::clone(index.catalog()),
        None => library.current_catalog(),
    };
    // A model may search for one of these in vain: it can tell its user.
    let waiting = Waiting::new(&catalog);
    let unavailable = Unavailable {
        omitted: catalog.summary().omissions(),
        waiting: waiting.sentence_with_names(),
        waiting_count: waiting.count(),
    };
    let Some(index) = index else {
        let entries = catalog.entries().iter();
        let all: Vec<&Entry> = entries
            .filter(|entry| library.is_model_invocable(entry))
            .collect();
        let shown = all.iter().skip(arguments.offset).take(arguments.limit());
        library
            .usage()
            .record(shown.copied(), Activity::Offered, session);
        let nothing = || "No skills found".to_owned();
        return Ok(page(&all, &arguments, nothing, unavailable));
    };
    let found = index.search(&arguments.query, |entry| library.is_model_invocable(entry));
    if arguments.offset == 0 {
        let first = found
            .skills
            .iter()
            .take(arguments.limit().min(MAX_RECORDED));
        library
            .usage()
            .record(first.copied(), Activity::Searched, session);
    }
    let nothing = || {
        let advice = index.advice();
        format!("No skill fits this query. {advice} An empty query lists all.")
    };
    Ok(page(&found.skills, &arguments, nothing, unavailable))
}

/// Skills that a model cannot load: those that were not read, and those that wait for trust.
struct Unavailable {
    omitted: Option<String>,
    waiting: Option<String>,
    waiting_count: usize,
}

/// Returns one page of the skills that were found.
fn page(
    found: &[&Entry],
    arguments: &SearchArguments,
    nothing: impl FnOnce() -> String,
    unavailable: Unavailable,
) -> ToolOutput {
    let page: Vec<(&str, String)> = found
        .iter()
        .skip(arguments.offset)
        .take(arguments.limit())
        .map(|entry| {
            let description = short_description(entry.manifest().description());
            (entry.name().as_str(), description)
        })
        .collect();
    // `None` on the last page, so that a model does not ask for an empty one.
    let next = arguments.offset.saturating_add(page.len());
    let next = (next < found.len()).then_some(next);
    let lines: Vec<String> = page
        .iter()
        .map(|(name, description)| format!("  {name} - {description}"))
        .collect();
    let body = match found.len() {
        0 => nothing(),
        total => format!("Skills ({total}):\n{}", lines.join("\n")),
    };
    let more = next.map_or_else(String::new, |next| {
        format!("\nMore results with offset {next}.")
    });
    let skills: Vec<Value> = page
        .iter()
        .map(|(name, description)| json!({"name": name, "description": description}))
        .collect();
    let omitted = unavailable.omitted;
    let omitted_note = omitted
        .as_ref()
        .map(|omitted| format!("Not available: {omitted}"));
    let notes = [omitted_note, unavailable.waiting].into_iter().flatten();
    let notes = notes
        .filter(|_| next.is_none())
        .map(|note| format!("\n{note}"));
    let notes: String = notes.collect();
    let mut data = json!({"skills": skills, "total": found.len(), "next_offset": next});
    if let Some(omitted) = omitted {
        data["omitted"] = json!(omitted);
    }
    if unavailable.waiting_count > 0 {
        data["waiting_for_trust"] = json!(unavailable.waiting_count);
    }
    ToolOutput::new(body + &more + &notes, data)
}
