//! `search_skills`: ranks skills by a query.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::Entry;

use super::CatalogTools;
use crate::sanitize::short_description;
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{ToolError, ToolOutput};

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 500;

/// Arguments of `search_skills`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArguments {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "search_skills".to_owned(),
        title: "Search skills".to_owned(),
        description: "Search skills by name and description, best match first; an empty query lists all. Read one with load_skill."
            .to_owned(),
        input_schema: schema::input_schema(
            json!({
                "query": {"type": "string", "maxLength": MAX_QUERY_CHARS, "default": "", "description": "The task in a few words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT, "description": "Maximum number of skills to return."},
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Number of skills to skip, for the next page."},
            }),
            &[],
        ),
        output_schema: schema::output_schema(
            json!({
                "skills": {"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "description": {"type": "string"},
                }, "required": ["name", "description"]}},
                "total": {"type": "integer"},
                "next_offset": {"type": ["integer", "null"]},
                "omitted": {"type": "string", "description": "How many skills are not available, and why."},
            }),
            &["skills", "total", "next_offset"],
        ),
        annotations: Annotations::READ_ONLY,
    }
}

impl CatalogTools {
    pub(crate) fn search(&self, arguments: &SearchArguments) -> Result<ToolOutput, ToolError> {
        let catalog = self.runtime.library().current_catalog();
        let candidates: Vec<&Entry> = catalog
            .entries()
            .iter()
            .filter(|entry| self.runtime.library().is_model_invocable(entry))
            .collect();
        let matches = rank(&candidates, &arguments.query);
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
        let page: Vec<(&str, String)> = matches
            .iter()
            .skip(arguments.offset)
            .take(limit)
            .map(|entry| {
                let description = short_description(entry.manifest().description());
                (entry.name().as_str(), description)
            })
            .collect();
        // `None` on the last page, so that a model does not ask for an empty one.
        let next = arguments.offset.saturating_add(page.len());
        let next = (next < matches.len()).then_some(next);
        let lines: Vec<String> = page
            .iter()
            .map(|(name, description)| format!("  {name} - {description}"))
            .collect();
        let body = match matches.len() {
            0 if arguments.query.trim().is_empty() => "No skills found".to_owned(),
            0 => "No skills found for this query; try other words, or an empty query to list all"
                .to_owned(),
            total => format!("Skills ({total}):\n{}", lines.join("\n")),
        };
        let more = next.map_or_else(String::new, |next| {
            format!("\nMore results with offset {next}.")
        });
        let omitted = catalog.summary().omissions();
        let note = match (&omitted, next) {
            (Some(omitted), None) => format!("\nNot available: {omitted}"),
            _ => String::new(),
        };
        let skills: Vec<Value> = page
            .iter()
            .map(|(name, description)| json!({"name": name, "description": description}))
            .collect();
        let mut data = json!({"skills": skills, "total": matches.len(), "next_offset": next});
        if let Some(omitted) = omitted {
            data["omitted"] = json!(omitted);
        }
        Ok(ToolOutput::new(body + &more + &note, data))
    }
}

/// Ranks the skills that match a word of the query: rare words count more than common ones, a word
/// of the name three times as much as a word of the description, and a prefix half as much as a
/// whole word. Skills with equal scores keep the order of the catalog.
fn rank<'a>(entries: &[&'a Entry], query: &str) -> Vec<&'a Entry> {
    let query_words = tokenize(query);
    if query_words.is_empty() {
        return entries.to_vec();
    }
    let documents: Vec<[Vec<String>; 2]> = entries
        .iter()
        .map(|entry| {
            [
                tokenize(entry.name().as_str()),
                tokenize(entry.manifest().description()),
            ]
        })
        .collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for word in &query_words {
        let count = documents
            .iter()
            .filter(|fields| {
                fields
                    .iter()
                    .flatten()
                    .any(|known| match_score(known, word) > 0.0)
            })
            .count();
        frequency.insert(word, count);
    }
    let score = |fields: &[Vec<String>; 2]| -> f64 {
        let of_word = |word: &String| {
            let count = frequency.get(word.as_str()).copied().unwrap_or_default() as f64;
            // Inverse document frequency of BM25. The added 1 keeps it positive for words that
            // every skill has.
            let rarity = (1.0 + (entries.len() as f64 - count + 0.5) / (count + 0.5)).ln();
            let best = |field: &[String]| {
                field
                    .iter()
                    .map(|known| match_score(known, word))
                    .fold(0.0, f64::max)
            };
            rarity * (3.0 * best(&fields[0]) + best(&fields[1]))
        };
        query_words.iter().map(of_word).sum()
    };
    let mut scored: Vec<(f64, &Entry)> = documents
        .iter()
        .map(score)
        .zip(entries.iter().copied())
        .filter(|(score, _)| *score > 0.0)
        .collect();
    // The sort is stable, so equal scores keep the order of the catalog and pages do not overlap.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns how well a word of a skill matches a word of the query: 1 for equality, 0.5 for a prefix
/// of at least three letters.
fn match_score(known: &str, wanted: &str) -> f64 {
    let is_prefix = |long: &str, short: &str| short.chars().count() >= 3 && long.starts_with(short);
    if known == wanted {
        1.0
    } else if is_prefix(known, wanted) || is_prefix(wanted, known) {
        0.5
    } else {
        0.0
    }
}

/// Splits a text into lowercase words of letters and digits. In scripts without spaces, every pair
/// of adjacent characters is a word.
fn tokenize(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let characters: Vec<char> = word.chars().collect();
        if characters.iter().any(|c| is_unspaced_script(*c)) && characters.len() > 2 {
            // Words are not separated there, so pairs are the smallest unit that still
            // distinguishes.
            words.extend(characters.windows(2).map(|pair| pair.iter().collect()));
        } else {
            words.push(word.to_owned());
        }
    }
    words
}

fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
