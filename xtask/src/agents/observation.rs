//! What the model of one agent saw, as data.

use std::sync::LazyLock;

use anyhow::Result;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use super::jobs::Job;
use super::plan::Plan;
use super::session::{Directories, Session};
use super::tokens::Counter;

/// At most one question is acceptable in a job.
const MAX_QUESTIONS: usize = 1;

/// Everything that is known of one agent.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub(crate) struct Observation {
    pub(crate) version: String,
    /// The version of the Model Context Protocol.
    pub(crate) protocol: String,
    /// Whether the model sees the instructions of the server.
    pub(crate) instructions: bool,
    pub(crate) catalogs: Vec<CatalogView>,
    /// The results of the probe with the second catalog.
    pub(crate) results: Vec<ResultView>,
    pub(crate) jobs: Vec<JobOutcome>,
}

/// What the model is offered for one number of skills.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub(crate) struct CatalogView {
    pub(crate) skills: usize,
    /// The number of the server's tools in the first request to the model.
    pub(crate) tools: usize,
    /// The tokens of their definitions, as JSON.
    pub(crate) tokens: usize,
    /// The tokens of the result of the search.
    pub(crate) search_tokens: usize,
    /// The names of the tools; empty if there are more than 20.
    pub(crate) names: Vec<String>,
    /// Why no tools were seen.
    pub(crate) problem: Option<String>,
}

/// One tool result.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub(crate) struct ResultView {
    pub(crate) call: String,
    /// The tokens of the text that the server sent.
    pub(crate) sent_tokens: usize,
    pub(crate) tokens: usize,
    pub(crate) form: Form,
    /// What the model sees.
    pub(crate) text: String,
}

/// What an agent does with the text of a result.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    Unchanged,
    /// The text is complete, with other text around it.
    Framed,
    Changed,
}

/// How a job ended.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub(crate) struct JobOutcome {
    pub(crate) job: String,
    pub(crate) calls: usize,
    /// How often the user was asked.
    pub(crate) questions: usize,
    /// The tokens of all results.
    pub(crate) tokens: usize,
    /// The calls whose text the model does not see as it was sent: cut, or written differently.
    pub(crate) changed: Vec<String>,
    pub(crate) failure: Option<String>,
}

impl CatalogView {
    /// Summarizes the probe with `skills` skills.
    pub(crate) fn new(skills: usize, session: &Session, counter: &Counter) -> Result<Self> {
        const MAX_NAMES: usize = 20;
        let problem = session.requests.is_empty().then(|| {
            if session.has_other_requests {
                "not in the first request"
            } else {
                "no request"
            }
            .to_owned()
        });
        let tools = session
            .requests
            .first()
            .map_or_else(Default::default, |request| request.tools.clone());
        let definitions = tools
            .iter()
            .map(|tool| tool.definition.to_string())
            .collect::<Vec<_>>();
        let search = seen_results(session)
            .into_iter()
            .take(1)
            .collect::<Vec<_>>();
        let mut names = tools
            .iter()
            .map(|tool| tool.full_name())
            .collect::<Vec<_>>();
        names.sort();
        if names.len() > MAX_NAMES {
            names.clear();
        }
        Ok(Self {
            skills,
            tools: tools.len(),
            tokens: counter.count(&definitions)?.iter().sum(),
            search_tokens: counter.count(&search)?.iter().sum(),
            names,
            problem,
        })
    }
}

impl ResultView {
    /// Returns the results of a session that followed `plan`.
    pub(crate) fn all(plan: &Plan, session: &Session, counter: &Counter) -> Result<Vec<Self>> {
        let seen = seen_results(session);
        let sent = sent_results(session);
        let tokens = counter.count(&seen)?;
        let sent_tokens = counter.count(&sent)?;
        let view = |(index, text): (usize, String)| Self {
            call: plan
                .steps
                .get(index)
                .map_or_else(String::new, |step| step.tool.to_owned()),
            sent_tokens: sent_tokens.get(index).copied().unwrap_or_default(),
            tokens: tokens.get(index).copied().unwrap_or_default(),
            form: Form::of(sent.get(index).map_or("", String::as_str), &text),
            text,
        };
        Ok(seen.into_iter().enumerate().map(view).collect())
    }
}

impl Form {
    fn of(sent: &str, seen: &str) -> Self {
        if sent == seen {
            Self::Unchanged
        } else if seen.contains(sent.trim_end()) {
            Self::Framed
        } else {
            Self::Changed
        }
    }
}

impl JobOutcome {
    pub(crate) fn new(job: &Job, session: &Session, counter: &Counter) -> Result<Self> {
        let seen = seen_results(session);
        let questions = session.traffic.questions();
        Ok(Self {
            job: job.key.to_owned(),
            calls: seen.len(),
            questions,
            tokens: counter.count(&seen)?.iter().sum(),
            changed: changed(job, session, &seen),
            failure: failure(job, session, &seen, questions),
        })
    }
}

fn changed(job: &Job, session: &Session, seen: &[String]) -> Vec<String> {
    let sent = sent_results(session);
    let pairs = sent.iter().zip(seen).zip(&job.plan.steps).enumerate();
    pairs
        .filter(|(_, ((sent, seen), _))| Form::of(sent, seen) == Form::Changed)
        .map(|(index, (_, step))| format!("{} (call {index})", step.tool))
        .collect()
}

fn failure(job: &Job, session: &Session, seen: &[String], questions: usize) -> Option<String> {
    let problem = session
        .requests
        .iter()
        .find_map(|request| request.problem.clone());
    let unexpected = job.plan.steps.iter().enumerate().find_map(|(index, step)| {
        let text = seen.get(index).map_or("(no result)", String::as_str);
        let (tool, expected) = (step.tool, step.expected);
        (!text.contains(expected))
            .then(|| format!("call {index}, {tool}: no `{expected}` in: {text}"))
    });
    let output = job.output.and_then(|(path, expected)| {
        let content = std::fs::read(session.directories.project().join(path)).unwrap_or_default();
        let found = String::from_utf8_lossy(&content).contains(expected);
        (!found).then(|| format!("no `{expected}` in the file {path}"))
    });
    let asked = (questions > MAX_QUESTIONS).then(|| format!("{questions} questions"));
    problem.or(unexpected).or(output).or(asked)
}

/// Returns the results that the model had seen at the end.
fn seen_results(session: &Session) -> Vec<String> {
    session.requests.last().map_or_else(Vec::new, |request| {
        let results = request.results.iter();
        results
            .map(|text| normalize(text, &session.directories))
            .collect()
    })
}

fn sent_results(session: &Session) -> Vec<String> {
    let results = session.traffic.results();
    results
        .iter()
        .map(|text| normalize(text, &session.directories))
        .collect()
}

/// Replaces what differs between runs by texts of about as many tokens.
fn normalize(text: &str, directories: &Directories) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            ("[0-9a-f]{32,64}", "0123456789abcdef0123456789abcdef"),
            ("Wall time: [0-9.]+", "Wall time: 0.0100"),
            (r#"(duration_ms\\*":) *[0-9]+"#, "${1}10"),
        ]
        .into_iter()
        .filter_map(|(pattern, to)| Some((Regex::new(pattern).ok()?, to)))
        .collect()
    });
    let paths = [directories.temp.path(), &directories.records];
    let text = paths.iter().fold(text.to_owned(), |text, path| {
        text.replace(&path.display().to_string(), "/session")
    });
    RULES.iter().fold(text, |text, (pattern, to)| {
        pattern.replace_all(&text, *to).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_unchanged_framed_or_changed() {
        assert_eq!(Form::of("a b\n", "a b\n"), Form::Unchanged);
        assert_eq!(Form::of("a b\n", "<x>\na b\n</x>"), Form::Framed);
        assert_eq!(Form::of("a b\n", "a … b"), Form::Changed);
    }

    #[test]
    fn what_differs_between_runs_is_normalized() {
        let directories = Directories {
            records: "/records".into(),
            temp: tempfile::tempdir().unwrap(),
        };
        let project = directories.project().display().to_string();
        let nonce = "ab".repeat(16);
        let text = format!("<skill-{nonce}> {project} Wall time: 1.25 seconds");
        assert_eq!(
            normalize(&text, &directories),
            "<skill-0123456789abcdef0123456789abcdef> /session/project Wall time: 0.0100 seconds"
        );
        assert_eq!(
            normalize(r#"{\"duration_ms\":123}"#, &directories),
            r#"{\"duration_ms\":10}"#
        );
    }
}
