//! `search_references`: finds sections of the files of skills.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::ReferenceSearch;
use skills_runtime::is_invisible;
use skills_runtime::ledger::Activity;
use skills_runtime::manifest::escape_characters;

use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, Tool, parse_arguments};
use crate::tool_definition::Annotations;
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

const DEFAULT_LIMIT: usize = 3;
/// Each section has at most 2,000 bytes, so a result has at most 20 KB of text.
const MAX_LIMIT: usize = 10;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceArguments {
    query: String,
    name: Option<String>,
    limit: Option<usize>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "search_references",
    groups: &[ToolGroup::Catalog],
    title: "Search references",
    description: "Search the sections of the instructions and references of a skill, best match first. Read more of a file with read_skill_resource.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        let mut name = schema::any_skill_name_schema();
        name["description"] = json!("Name of the skill to search; all skills if omitted.");
        schema::input_schema(
            json!({
                "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "description": "What to find, in a few words."},
                "name": name,
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT, "description": "Maximum number of sections to return."},
            }),
            &["query"],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "sections": {"type": "array", "items": {"type": "object", "properties": {
                    "skill": {"type": "string"},
                    "path": {"type": "string"},
                    "headings": {"type": "array", "items": {"type": "string"}},
                    "first_line": {"type": "integer"},
                    "last_line": {"type": "integer"},
                    "text": {"type": "string"},
                }, "required": ["skill", "path", "headings", "first_line", "last_line", "text"]}},
            }),
            &["sections"],
        )
    },
    lists_skills: false,
    guide: &[(
        GuideStep::ReadFiles,
        "`search_references` to find the right section",
    )],
    hooks: None,
    call: Call::Files(call),
};

fn call(context: FileCall<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
    let arguments: ReferenceArguments = parse_arguments(arguments)?;
    let library = context.files.runtime.library();
    let entry = match &arguments.name {
        Some(name) => {
            let (entry, is_draft) = context.files.find_skill(name)?;
            if is_draft || !library.is_model_invocable(&entry) {
                return Err(ToolErrorCode::PermissionDenied
                    .error(format!("skill `{name}` is not available to models")));
            }
            Some(entry)
        }
        None => None,
    };
    let found = library.search_references(ReferenceSearch {
        query: &arguments.query,
        skill: entry.as_ref(),
        limit: arguments.limit.unwrap_or(DEFAULT_LIMIT),
    });
    record_reads(context, found.iter().map(|(skill, _)| skill.as_str()));
    let mut texts = Vec::new();
    let mut sections = Vec::new();
    for (skill, span) in found {
        let headings: Vec<String> = span.trail.iter().map(|text| visible(text)).collect();
        let (path, text) = (visible(&span.path), visible(&span.text));
        let trail = headings.join(" > ");
        texts.push(format!(
            "{skill}/{path}:{}-{} {trail}\n{text}",
            span.first_line, span.last_line
        ));
        sections.push(json!({
            "skill": skill,
            "path": path,
            "headings": headings,
            "first_line": span.first_line,
            "last_line": span.last_line,
            "text": text,
        }));
    }
    let text = if texts.is_empty() {
        "No section fits this query; try other words.".to_owned()
    } else {
        texts.join("\n")
    };
    Ok(ToolOutput::new(
        text,
        json!({"sections": Value::Array(sections)}),
    ))
}

/// Records each of these skills once as one of which a file was read.
fn record_reads<'n>(
    FileCall { files, session, .. }: FileCall<'_>,
    skills: impl Iterator<Item = &'n str>,
) {
    let usage = files.runtime.library().usage();
    if !usage.is_enabled() {
        return;
    }
    let skills: BTreeSet<&str> = skills.collect();
    for name in skills {
        if let Some(entry) = files.find_active(name) {
            usage.record([&entry], Activity::ReferenceRead, session);
        }
    }
}

/// Escapes invisible characters, which could hide text from a user who watches.
fn visible(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(|line| escape_characters(line, |c| c != '\t' && is_invisible(c)))
        .collect();
    lines.join("\n")
}
