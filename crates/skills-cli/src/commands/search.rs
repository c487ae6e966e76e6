//! `skills search QUERY`: finds skills, or sections of their references, for a request.

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::search::{Confidence, Span, TermExplanation};
use skills_runtime::{Entry, ReferenceSearch, SkillIndex, SkillRuntime};

use super::list::first_sentence;
use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::line;

/// Number of results without `--limit`.
const DEFAULT_LIMIT: usize = 10;

/// Find the skill for a task
///
/// Ranks skills by name, description and instructions. The query is a request in everyday words, in
/// the language of the skills. If nothing fits, nothing is printed.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The task in a few words
    #[arg(required = true)]
    query: Vec<String>,

    /// Print at most this many results
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,

    /// Search the sections of the instructions and references of this skill
    #[arg(long = "in", value_name = "NAME|PATH")]
    skill: Option<String>,

    /// Show what each word adds to the score
    #[arg(long, conflicts_with = "skill")]
    explain: bool,
}

impl Search {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let runtime = context.runtime()?;
        let query = self.query.join(" ");
        match &self.skill {
            Some(skill) => self.search_references(&runtime, &query, skill, context),
            None => self.search_skills(&runtime, &query, context),
        }
    }

    fn search_skills(
        &self,
        runtime: &SkillRuntime,
        query: &str,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let (index, output) = (runtime.library().search_index(), context.output);
        let found = index.search(query, |_| true);
        let results: Vec<(&Entry, f32)> = found
            .skills
            .iter()
            .copied()
            .zip(found.scores)
            .take(self.limit)
            .collect();
        let terms = |entry: &Entry| {
            let explanation = self.explain.then(|| index.explain(query, entry)).flatten();
            explanation.map(|explanation| explanation.terms)
        };
        if output.is_json() {
            let skills: Vec<Value> = results
                .iter()
                .map(|(entry, score)| skill_to_json(entry, *score, terms(entry)))
                .collect();
            let advice = skills.is_empty().then(|| index.advice());
            return output.json(&json!({
                "skills": skills,
                "total": found.skills.len(),
                "confidence": confidence_word(found.confidence),
                "advice": advice,
            }));
        }
        let width = results.iter().map(|(entry, _)| name_width(entry)).max();
        let mut text = String::new();
        for (entry, score) in &results {
            let name = line(entry.name().as_str());
            let description = first_sentence(entry.manifest().description());
            let width = width.unwrap_or_default();
            if self.explain {
                let _ = write!(text, "{score:>6.2}  ");
            }
            let _ = writeln!(text, "{name:width$}  {}", line(&description));
            terms(entry)
                .iter()
                .flatten()
                .for_each(|term| write_term(term, &mut text));
        }
        output.text(&text)?;
        report_count(&index, results.len(), found.skills.len(), context);
        Ok(Exit::Success)
    }

    fn search_references(
        &self,
        runtime: &SkillRuntime,
        query: &str,
        skill: &str,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let name = input::resolve_skill_name(skill);
        let found = runtime
            .get_skill(&name)
            .map_err(|error| lookup::explain_error(runtime, &name, error))?;
        let catalog = runtime.library().catalog();
        let mut entries = catalog.entries().iter();
        let entry = entries.find(|entry| entry.directory() == found.directory);
        let sections = runtime.library().search_references(ReferenceSearch {
            query,
            skill: entry,
            limit: self.limit,
        });
        let output = context.output;
        if output.is_json() {
            let sections: Vec<Value> = sections.iter().map(section_to_json).collect();
            return output.json(&json!({"sections": sections}));
        }
        let mut text = String::new();
        for (position, (_, span)) in sections.iter().enumerate() {
            if position > 0 {
                text.push('\n');
            }
            let (path, trail) = (line(&span.path), line(&span.trail.join(" > ")));
            let _ = writeln!(
                text,
                "{path}:{}-{}  {trail}\n{}",
                span.first_line,
                span.last_line,
                span.text.trim_end()
            );
        }
        output.text(&text)?;
        if sections.is_empty() {
            output.status("no section fits this query");
        }
        Ok(Exit::Success)
    }
}

fn name_width(entry: &Entry) -> usize {
    entry.name().as_str().chars().count()
}

/// Reports that nothing fits, or that there are more results.
fn report_count(index: &SkillIndex, shown: usize, total: usize, context: &Context) {
    if total == 0 {
        context.output.status("no skill fits this query");
        context.output.status(&format!("help: {}", index.advice()));
    } else if shown < total {
        context
            .output
            .status(&format!("{} more; see `--limit`", total - shown));
    }
}

fn write_term(term: &TermExplanation, text: &mut String) {
    let fields: Vec<String> = term
        .fields
        .iter()
        .map(|(field, count)| format!("{} {count}", field.as_str()))
        .collect();
    let _ = writeln!(
        text,
        "{:>6.2}    {}: in {} skills; here: {}",
        term.score,
        line(&term.term),
        term.documents,
        if fields.is_empty() {
            "no".to_owned()
        } else {
            fields.join(", ")
        }
    );
}

fn skill_to_json(entry: &Entry, score: f32, terms: Option<Vec<TermExplanation>>) -> Value {
    let mut value = json!({
        "name": entry.name(),
        "description": entry.manifest().description(),
        "path": entry.location().to_string_lossy(),
        "score": score,
    });
    if let Some(terms) = terms {
        value["terms"] = terms.iter().map(term_to_json).collect();
    }
    value
}

fn term_to_json(term: &TermExplanation) -> Value {
    let fields = term.fields.iter();
    let fields: serde_json::Map<String, Value> = fields
        .map(|(field, count)| (field.as_str().to_owned(), json!(count)))
        .collect();
    json!({"term": term.term, "skills": term.documents, "fields": fields, "score": term.score})
}

fn section_to_json((skill, span): &(String, Span)) -> Value {
    json!({
        "skill": skill,
        "path": span.path,
        "headings": span.trail,
        "first_line": span.first_line,
        "last_line": span.last_line,
        "text": span.text,
    })
}

fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::None => "none",
        Confidence::Low => "low",
        _ => "high",
    }
}
