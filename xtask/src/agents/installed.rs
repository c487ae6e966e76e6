//! Jobs with the server exactly as `skills mcp install` leaves it, and agents at their defaults.
//!
//! A person at the terminal of the agent answers each question with yes. If a job fails without a
//! question, what its result tells the user to do is done once, and the job is started again.

mod jobs;
mod remedy;
mod table;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::person::Asker;
use super::runners::Agent;
use super::session::{Session, Setup};
use super::tokens::Counter;
use super::{Bench, OnDifference};
use crate::command::workspace_dir;
pub(crate) use jobs::{InstalledJob, installed_jobs};
use remedy::Remedy;

const RECORD: &str = "xtask/agents/installed.json";

/// The outcomes of all agents, by the key of the agent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct InstalledRecord {
    agents: BTreeMap<String, InstalledOutcomes>,
}

/// The outcomes of one agent.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub(crate) struct InstalledOutcomes {
    version: String,
    jobs: Vec<InstalledOutcome>,
}

/// How a job ended.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub(crate) struct InstalledOutcome {
    job: String,
    calls: usize,
    /// How often the server asked.
    questions: usize,
    /// How often the agent asked by itself whether it may call a tool.
    approvals: usize,
    /// What the user added, since the server did not ask.
    added: Vec<String>,
    /// The tokens of all results that the model saw.
    result_tokens: usize,
    /// The tokens of all requests to the model.
    paid_tokens: usize,
    failure: Option<String>,
}

impl InstalledRecord {
    /// Reads the committed outcomes.
    pub(crate) fn read() -> Result<Self> {
        let path = workspace_dir().join(RECORD);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Adds the outcomes of an agent, and returns the jobs that were right before and now fail.
    pub(crate) fn add(&mut self, agent: &Agent, new: InstalledOutcomes) -> Vec<String> {
        let old = self.agents.insert(agent.key.to_owned(), new.clone());
        let was_right = |job: &str| {
            old.iter()
                .flat_map(|old| &old.jobs)
                .any(|old| old.job == job && old.failure.is_none())
        };
        new.jobs
            .iter()
            .filter(|outcome| was_right(&outcome.job))
            .filter_map(|outcome| {
                let reason = outcome.failure.as_ref()?;
                Some(format!(
                    "{}, as installed, job {}: {reason}",
                    agent.name, outcome.job
                ))
            })
            .collect()
    }

    /// Writes the record and its table in the page.
    pub(crate) fn finish(&self, on_difference: OnDifference) -> Result<()> {
        println!("{}", table::table(self));
        if on_difference == OnDifference::Report {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(workspace_dir().join(RECORD), text)?;
        table::write(self)
    }
}

/// Runs all jobs with one agent.
pub(crate) fn observe(
    bench: &Bench<'_>,
    agent: &Agent,
    version: String,
) -> Result<InstalledOutcomes> {
    eprintln!("running {} {version} as installed", agent.name);
    let jobs = installed_jobs();
    let outcomes = jobs.iter().map(|job| run_job(bench, agent, job));
    Ok(InstalledOutcomes {
        version,
        jobs: outcomes.collect::<Result<_>>()?,
    })
}

fn run_job(bench: &Bench<'_>, agent: &Agent, job: &InstalledJob) -> Result<InstalledOutcome> {
    let first = run_session(bench, agent, job, &Remedy::default(), "")?;
    let outcome = InstalledOutcome::new(job, &first, &bench.counter)?;
    eprintln!("  {}: {}", job.key, outcome.summary());
    if outcome.failure.is_none() || outcome.questions > 0 {
        return Ok(outcome);
    }
    let Some(remedy) = first
        .traffic
        .results()
        .iter()
        .find_map(|text| Remedy::of(text))
    else {
        return Ok(outcome);
    };
    let second = run_session(bench, agent, job, &remedy, "-again")?;
    let mut outcome = InstalledOutcome::new(job, &second, &bench.counter)?;
    outcome.added = remedy.lines();
    eprintln!(
        "  {} with {:?}: {}",
        job.key,
        outcome.added,
        outcome.summary()
    );
    Ok(outcome)
}

fn run_session(
    bench: &Bench<'_>,
    agent: &Agent,
    job: &InstalledJob,
    remedy: &Remedy,
    suffix: &str,
) -> Result<Session> {
    let setup = Setup {
        launch: &agent.installed,
        plan: job.plan.clone(),
        server_options: remedy.options.clone(),
        project_files: job.project_files.clone(),
        home_files: job.home_files.clone(),
        commands: remedy.commands.clone(),
    };
    bench.run(agent, &setup, &format!("installed-{}{suffix}", job.key))
}

impl InstalledOutcome {
    fn new(job: &InstalledJob, session: &Session, counter: &Counter<'_>) -> Result<Self> {
        let seen = session
            .requests
            .last()
            .map_or_else(Vec::new, |request| request.results.clone());
        let approvals = session
            .answers
            .iter()
            .filter(|answer| answer.asker == Asker::Agent);
        Ok(Self {
            job: job.key.to_owned(),
            calls: seen.len(),
            questions: session.traffic.questions(),
            approvals: approvals.count(),
            added: Vec::new(),
            result_tokens: counter.count(&seen)?.iter().sum(),
            paid_tokens: counter.count(&session.paid)?.iter().sum(),
            failure: failure(job, session, &seen),
        })
    }

    fn summary(&self) -> &str {
        self.failure.as_deref().unwrap_or("right")
    }
}

/// Returns why a job is not right: the user has no file, or the model did not see its last result.
fn failure(job: &InstalledJob, session: &Session, seen: &[String]) -> Option<String> {
    let (path, expected) = job.output;
    let content = fs::read(session.directories.project().join(path)).unwrap_or_default();
    let has_output = String::from_utf8_lossy(&content).contains(expected);
    let steps = job.plan.steps_of(seen);
    let is_seen = job.plan.steps.last().is_some_and(|last| {
        let results = steps.iter().zip(seen);
        results
            .filter(|(step, _)| step.tool == last.tool)
            .any(|(_, text)| text.contains(last.expected))
    });
    if has_output && is_seen {
        return None;
    }
    let problem = session
        .requests
        .iter()
        .find_map(|request| request.problem.clone());
    let unexpected = steps
        .iter()
        .zip(seen)
        .find(|(step, text)| !text.contains(step.expected))
        .map(|(step, text)| format!("{}: {}", step.tool, beginning(text)));
    let reason = unexpected.or(problem).unwrap_or_else(|| match seen {
        [] => "no result".to_owned(),
        _ => format!("no file {path}"),
    });
    Some(reason)
}

/// Returns the first lines of a text, which say what failed.
fn beginning(text: &str) -> String {
    const MAX_LINES: usize = 3;
    text.lines().take(MAX_LINES).collect::<Vec<_>>().join(" / ")
}
