//! Runs agents with the server and a scripted model, and records what the model sees.
//!
//! No model takes part: a program on loopback, the endpoint, answers the requests of an agent by a
//! plan. So everything that the agent sends is known, and each run makes the same calls.

mod deferral;
mod dialect;
mod endpoint;
mod fixtures;
mod install;
mod installed;
mod jobs;
mod observation;
mod person;
mod plan;
mod report;
mod runners;
mod session;
mod snapshot;
#[cfg(unix)]
mod terminal;
#[cfg(not(unix))]
#[path = "agents/no_terminal.rs"]
mod terminal;
mod tokens;
mod traffic;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

pub(crate) use install::install;
use installed::InstalledRecord;
use jobs::Job;
use observation::{CatalogView, JobOutcome, Observation, ResultView};
use runners::{AGENTS, Agent, Launch};
use session::{Programs, Session, Setup};
use snapshot::Snapshot;
use tokens::Counter;

use crate::command::{target_dir, workspace_dir};
use crate::skills_command::SkillsCommand;

/// The numbers of skills for which tools are counted.
const CATALOG_SIZES: [usize; 3] = [1, 17, 1_000];
/// The catalog whose results are kept.
const RESULTS_SIZE: usize = 17;

/// What to do with a difference from the committed snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDifference {
    Report,
    Update,
}

/// In which conditions the agents run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conditions {
    /// As installed, and prepared so that each call passes.
    All,
    /// Only as installed.
    AsInstalled,
}

/// Runs all installed agents, or the one with the key `only`, and checks what their models see.
///
/// # Errors
/// If a job fails, or an agent of the same version as in the snapshot differs from it.
pub(crate) fn agents(
    only: Option<&str>,
    skills: Option<&Path>,
    conditions: Conditions,
    on_difference: OnDifference,
) -> Result<()> {
    ensure!(
        only.is_none_or(|key| AGENTS.iter().any(|agent| agent.key == key)),
        "unknown agent: expected one of {}",
        AGENTS.each_ref().map(|agent| agent.key).join(", ")
    );
    let selected = AGENTS
        .iter()
        .filter(|agent| only.is_none_or(|key| key == agent.key));
    let node_modules = match install::node_modules() {
        Ok(path) => path,
        Err(reason) => {
            for agent in selected {
                eprintln!("skipped {}: {reason}", agent.name);
            }
            return Ok(());
        }
    };
    let installed = selected
        .filter_map(|agent| match install::version(&node_modules, agent) {
            Ok(version) => Some((agent, version)),
            Err(reason) => {
                eprintln!("skipped {}: {reason}", agent.name);
                None
            }
        })
        .collect::<Vec<_>>();
    let skills = match skills {
        Some(path) => path.canonicalize()?,
        None => SkillsCommand::build()?.path().to_owned(),
    };
    let bench = Bench::new(&node_modules, &skills)?;
    if conditions == Conditions::All {
        bench.write_catalogs()?;
    }
    let mut snapshot = Snapshot::read()?;
    let mut record = InstalledRecord::read()?;
    let mut failures = Vec::new();
    for (agent, version) in installed {
        let outcomes = installed::observe(&bench, agent, version.clone())?;
        failures.extend(record.add(agent, outcomes));
        if let (Conditions::All, Some(launch)) = (conditions, &agent.prepared) {
            let observation = bench.observe(agent, launch, version)?;
            failures.extend(job_failures(agent, &observation));
            failures.extend(compare(agent, &snapshot, &observation, on_difference)?);
            snapshot.agents.insert(agent.key.to_owned(), observation);
        }
    }
    if conditions == Conditions::All {
        println!("{}", report::figures(&snapshot));
        if on_difference == OnDifference::Update {
            snapshot.write()?;
        }
    }
    record.finish(on_difference)?;
    if !failures.is_empty() {
        bail!("agents: {}", failures.join("\n  "));
    }
    Ok(())
}

fn job_failures(agent: &Agent, observation: &Observation) -> Vec<String> {
    let failure = |outcome: &JobOutcome| {
        let reason = outcome.failure.as_ref()?;
        Some(format!("{}, job {}: {reason}", agent.name, outcome.job))
    };
    observation.jobs.iter().filter_map(failure).collect()
}

/// Prints what differs from the snapshot, and returns it as a failure if the server is the cause.
fn compare(
    agent: &Agent,
    snapshot: &Snapshot,
    observation: &Observation,
    on_difference: OnDifference,
) -> Result<Option<String>> {
    let Some(difference) = snapshot.compare(agent.key, observation)? else {
        return Ok(None);
    };
    if on_difference == OnDifference::Update {
        return Ok(None);
    }
    println!("{}", difference.diff);
    Ok(difference.is_same_version.then(|| {
        format!(
            "{}: its model sees something else than in the snapshot (`cargo xtask clients --agent --update` accepts it)",
            agent.name
        )
    }))
}

/// What all agents are run with.
struct Bench<'a> {
    programs: Programs<'a>,
    counter: Counter<'a>,
    base: PathBuf,
    jobs: Vec<Job>,
}

impl<'a> Bench<'a> {
    fn new(node_modules: &'a Path, skills: &'a Path) -> Result<Self> {
        let base = target_dir()?.join("agents");
        let (jobs, skipped) = jobs::jobs();
        for reason in skipped {
            eprintln!("skipped job {reason}");
        }
        Ok(Self {
            programs: Programs {
                node_modules,
                skills,
            },
            counter: Counter::new(node_modules),
            base,
            jobs,
        })
    }

    /// Writes the skills of the probes.
    fn write_catalogs(&self) -> Result<()> {
        let probe = workspace_dir()
            .join(jobs::EXAMPLES_DIR)
            .join(fixtures::PROBE_SKILL);
        for count in CATALOG_SIZES {
            let catalog = catalog_dir(&self.base, count);
            if catalog.exists() {
                fs::remove_dir_all(&catalog)?;
            }
            fixtures::write_skills(&catalog, &probe, count)?;
        }
        Ok(())
    }

    fn observe(&self, agent: &Agent, launch: &Launch, version: String) -> Result<Observation> {
        eprintln!("running {} {version}", agent.name);
        let mut catalogs = Vec::new();
        let mut results = Vec::new();
        let mut protocol = String::new();
        let mut instructions = false;
        for count in CATALOG_SIZES {
            let session = self.probe(agent, launch, count)?;
            catalogs.push(CatalogView::new(count, &session, &self.counter)?);
            if count == RESULTS_SIZE {
                results = ResultView::all(&jobs::probe(), &session, &self.counter)?;
                protocol = session.traffic.protocol().unwrap_or("unknown").to_owned();
                instructions = session.shows_instructions();
            }
        }
        let jobs = self
            .jobs
            .iter()
            .map(|job| JobOutcome::new(job, &self.job(agent, launch, job)?, &self.counter))
            .collect::<Result<Vec<_>>>()?;
        Ok(Observation {
            version,
            protocol,
            instructions,
            catalogs,
            results,
            jobs,
        })
    }

    fn probe(&self, agent: &Agent, launch: &Launch, count: usize) -> Result<Session> {
        let root = catalog_dir(&self.base, count).display().to_string();
        let setup = Setup {
            launch,
            plan: jobs::probe(),
            server_options: vec!["--root".to_owned(), root],
            project_files: jobs::probe_files(),
            home_files: Vec::new(),
            commands: Vec::new(),
        };
        self.run(agent, &setup, &format!("probe-{count}"))
    }

    fn job(&self, agent: &Agent, launch: &Launch, job: &Job) -> Result<Session> {
        let setup = Setup {
            launch,
            plan: job.plan.clone(),
            server_options: job.server_options.clone(),
            project_files: job.project_files.clone(),
            home_files: Vec::new(),
            commands: Vec::new(),
        };
        self.run(agent, &setup, job.key)
    }

    fn run(&self, agent: &Agent, setup: &Setup<'_>, name: &str) -> Result<Session> {
        let directory = self.base.join(agent.key).join(name);
        let run = || session::run(agent, &self.programs, setup, &directory);
        let mut session = run()?;
        if session.requests.is_empty() {
            // On a busy machine an agent may not wait for the server.
            session = run()?;
        }
        match session.status {
            Some(status) if status.success() => {}
            Some(status) => eprintln!("{} ended with {status} (`{name}`)", agent.name),
            None if setup.launch.person.is_some() => {}
            None => eprintln!("{} was killed after the timeout (`{name}`)", agent.name),
        }
        Ok(session)
    }
}

fn catalog_dir(base: &Path, count: usize) -> PathBuf {
    base.join(format!("skills-{count}"))
}
