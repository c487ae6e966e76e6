//! `skills search QUERY`: finds skills, or sections of their references, for a request.

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::ledger::Activity;
use skills_runtime::search::{Confidence, Explanation, Span, TermExplanation};
use skills_runtime::{Entry, ReferenceSearch, SkillIndex, SkillRuntime};

use super::list::first_sentence;
use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::line;
use crate::words::widest;

/// Number of results that are recorded as found: few look further.
const MAX_RECORDED: usize = 5;
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

    /// Show what each word, and recent use, adds to the score
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
        let ranked = found.skills.iter().copied().zip(found.scores);
        let results: Vec<SkillResult<'_>> = ranked
            .take(self.limit)
            .map(|(entry, score)| SkillResult {
                entry,
                score,
                explanation: self.explanation(&index, query, entry),
            })
            .collect();
        let first = results.iter().take(MAX_RECORDED).map(|result| result.entry);
        let usage = runtime.library().usage();
        usage.record(first, Activity::Searched, None);
        if output.is_json() {
            let skills: Vec<Value> = results.iter().map(SkillResult::to_json).collect();
            let advice = skills.is_empty().then(|| index.advice());
            return output.json(&json!({
                "skills": skills,
                "total": found.skills.len(),
                "confidence": confidence_word(found.confidence),
                "advice": advice,
            }));
        }
        output.text(&render_skills(&results))?;
        report_count(&index, results.len(), found.skills.len(), context);
        Ok(Exit::Success)
    }

    /// Returns what each word adds to the score, if that is asked for.
    fn explanation(&self, index: &SkillIndex, query: &str, entry: &Entry) -> Option<Explanation> {
        if !self.explain {
            return None;
        }
        index.explain(query, entry)
    }

    fn search_references(
        &self,
        runtime: &SkillRuntime,
        query: &str,
        skill: &str,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let found = lookup::get_skill(runtime, &input::resolve_skill_name(skill))?;
        let catalog = runtime.library().catalog();
        let sections = runtime.library().search_references(ReferenceSearch {
            query,
            skill: lookup::find_entry(&catalog, &found),
            limit: self.limit,
        });
        let output = context.output;
        if output.is_json() {
            let sections: Vec<Value> = sections.iter().map(section_to_json).collect();
            return output.json(&json!({"sections": sections}));
        }
        let spans = sections.iter().map(|(_, span)| render_section(span));
        output.text(&spans.collect::<Vec<_>>().join("\n"))?;
        if sections.is_empty() {
            output.status("no section fits this query");
        }
        Ok(Exit::Success)
    }
}

/// A skill that fits a query.
struct SkillResult<'a> {
    entry: &'a Entry,
    score: f32,
    /// What each word adds to the score, if that is shown.
    explanation: Option<Explanation>,
}

impl SkillResult<'_> {
    fn write(&self, width: usize, text: &mut String) {
        if self.explanation.is_some() {
            let _ = write!(text, "{:>6.2}  ", self.score);
        }
        let name = line(self.entry.name().as_str());
        let description = first_sentence(self.entry.manifest().description());
        let _ = writeln!(text, "{name:width$}  {}", line(&description));
        let Some(explanation) = &self.explanation else {
            return;
        };
        for term in &explanation.terms {
            write_term(term, text);
        }
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "name": self.entry.name(),
            "description": self.entry.manifest().description(),
            "path": self.entry.location().to_string_lossy(),
            "score": self.score,
        });
        if let Some(explanation) = &self.explanation {
            value["terms"] = explanation.terms.iter().map(term_to_json).collect();
        }
        value
    }
}

fn render_skills(results: &[SkillResult<'_>]) -> String {
    let width = widest(results.iter().map(|result| result.entry.name().as_str()));
    let mut text = String::new();
    for result in results {
        result.write(width, &mut text);
    }
    text
}

fn render_section(span: &Span) -> String {
    let (path, trail) = (line(&span.path), line(&span.trail.join(" > ")));
    format!(
        "{path}:{}-{}  {trail}\n{}\n",
        span.first_line,
        span.last_line,
        span.text.trim_end()
    )
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
        "{:>6.2}    {}: in {}; here: {}",
        term.score,
        line(&term.term),
        counted(term.documents, "skill"),
        if fields.is_empty() {
            "no".to_owned()
        } else {
            fields.join(", ")
        }
    );
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
