//! What the usage ledger, the files and this host say about the skills of a catalog.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use skills_runtime::discovery::{DigestCache, SkillFiles};
use skills_runtime::ledger::{
    Counts, Digest, Duplicate, Problem, ProblemKind, Share, SkillFacts, SkillUsage, Summary,
    Timestamp,
};
use skills_runtime::prompt::{ListingMode, ListingModes};
use skills_runtime::search::NearDuplicate;
use skills_runtime::{Catalog, Entry, SkillRuntime, ledger_scope};

use crate::context::Context;
use crate::counted::counted;
use crate::state;

/// The present time.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// Reads the ledger, also if nothing is recorded at present. Lines that are not events are reported
/// as a warning.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn read_summary(context: &Context) -> anyhow::Result<Summary> {
    let ledger = state::usage_ledger(&context.environment).ok_or_else(|| {
        anyhow::anyhow!("cannot find the usage ledger: no home directory; set `XDG_STATE_HOME`")
    })?;
    let summary = ledger.summarize(now())?;
    let output = context.output;
    if summary.malformed > 0 {
        let directory = ledger.directory().display();
        let lines = counted(summary.malformed, "malformed line");
        output.status(&format!("warning: {lines} in `{directory}`"));
    }
    if context.usage_ledger()?.is_none() {
        output.status(
            "note: the use of skills is not recorded; see `usage-ledger` in `skills config`",
        );
    }
    Ok(summary)
}

/// Returns what a ledger covers, as one line.
pub(crate) fn describe_coverage(summary: &Summary) -> String {
    if summary.events == 0 {
        return "no use of skills is recorded yet".to_owned();
    }
    let events = counted(summary.events, "event");
    let days = counted(summary.covered_days().floor(), "day");
    format!("{events} in {days}")
}

/// Returns what a ledger covers and the skills of a report, as JSON.
pub(crate) fn report_to_json(summary: &Summary, skills: Vec<Value>) -> Value {
    json!({
        "since": time_to_json(summary.since),
        "events": summary.events,
        "malformed": summary.malformed,
        "unknown": summary.unknown,
        "skills": skills,
    })
}

/// Returns what is known about a skill without reading its files: its installation, and whether it
/// is pinned.
pub(crate) fn basic_facts(entry: &Entry, modes: &ListingModes) -> SkillFacts {
    let mut facts = SkillFacts::new(entry.name().as_str(), ledger_scope(entry));
    facts.installed = installed(entry);
    facts.is_pinned = modes.get(entry) == ListingMode::Pinned;
    facts
}

/// Returns when a skill was installed: the earlier of the creation of its directory and the last
/// change of its `SKILL.md`, which tools that copy files keep.
fn installed(entry: &Entry) -> Option<Timestamp> {
    let metadata = |path: &Path| path.metadata().ok();
    let created = metadata(entry.directory()).and_then(|directory| directory.created().ok());
    let changed = metadata(&entry.location()).and_then(|file| file.modified().ok());
    let earliest = created.into_iter().chain(changed).min()?;
    Some(earliest.into())
}

/// Collects the facts of all skills of a catalog, in its order. Reads all their files.
pub(crate) fn facts_of(
    runtime: &SkillRuntime,
    catalog: &Catalog,
    modes: &ListingModes,
) -> Vec<SkillFacts> {
    let mut duplicates = duplicates(catalog, &runtime.library().near_duplicates());
    let mut cache = DigestCache::default();
    let entries = catalog.entries().iter().enumerate();
    entries
        .map(|(place, entry)| {
            let mut facts = basic_facts(entry, modes);
            facts.duplicates = duplicates.remove(&place).unwrap_or_default();
            facts.problems = missing_requirements(runtime, entry);
            match entry.open() {
                Ok(files) => add_file_facts(&files, &mut cache, &mut facts),
                Err(error) => facts.problems.push(unreadable(&error)),
            }
            facts
        })
        .collect()
}

fn add_file_facts(files: &SkillFiles, cache: &mut DigestCache, facts: &mut SkillFacts) {
    let digest = files.digest(cache).ok();
    facts.digest = digest.map(|digest| Digest::from_content_digest(digest.as_bytes()));
    let listing = files.list("");
    facts.has_resources = listing.is_ok_and(|listing| !listing.resources.is_empty());
    match files.document() {
        Ok(document) => {
            let links = files.broken_links(&document.outline()).into_iter();
            facts.problems.extend(links.map(|link| Problem {
                kind: ProblemKind::DeadLink,
                subject: link.target,
            }));
        }
        Err(error) => facts.problems.push(unreadable(&error)),
    }
}

fn unreadable(error: &dyn std::error::Error) -> Problem {
    Problem {
        kind: ProblemKind::Unreadable,
        subject: error.to_string(),
    }
}

/// Returns the declared requirements that a run would miss.
fn missing_requirements(runtime: &SkillRuntime, entry: &Entry) -> Vec<Problem> {
    let missing = runtime.library().missing_requirements([entry]);
    let problem = |kind, subject| Problem { kind, subject };
    let programs = missing.programs.iter();
    let programs =
        programs.map(|program| problem(ProblemKind::MissingProgram, program.any_of.join("` or `")));
    let variables = missing.variables.iter();
    let variables = variables
        .filter(|variable| variable.is_required)
        .map(|variable| problem(ProblemKind::MissingVariable, variable.name.clone()));
    let systems = missing.systems.iter();
    let systems = systems.map(|system| {
        problem(
            ProblemKind::UnsupportedSystem,
            system.supported.join(" or "),
        )
    });
    programs.chain(variables).chain(systems).collect()
}

/// Returns the duplicates of each skill, by its place in the catalog.
fn duplicates(catalog: &Catalog, pairs: &[NearDuplicate]) -> HashMap<usize, Vec<Duplicate>> {
    let mut duplicates: HashMap<usize, Vec<Duplicate>> = HashMap::new();
    let name = |place: usize| catalog.entries()[place].name().to_string();
    for pair in pairs {
        for (place, other) in [(pair.first, pair.second), (pair.second, pair.first)] {
            duplicates.entry(place).or_default().push(Duplicate {
                skill: name(other),
                similarity: f64::from(pair.similarity),
                has_same_description: pair.has_same_description,
            });
        }
    }
    duplicates
}

/// Returns a time as RFC 3339 text; null for none.
pub(crate) fn time_to_json(time: Option<Timestamp>) -> Value {
    let text =
        |time: Timestamp| humantime::format_rfc3339_seconds(time.to_system_time()).to_string();
    json!(time.map(text))
}

pub(crate) fn counts_to_json(counts: &Counts) -> Value {
    let named = counts
        .named()
        .map(|(name, number)| (name.to_owned(), json!(number)));
    Value::Object(named.collect::<Map<String, Value>>())
}

pub(crate) fn share_to_json(share: Share) -> Value {
    json!({
        "hits": share.hits,
        "trials": share.trials,
        "observed": share.observed(),
    })
}

/// Returns the uses of each content of a skill.
pub(crate) fn contents_to_json(usage: &SkillUsage) -> Value {
    let contents = usage.contents.iter().map(|content| {
        json!({
            "digest": content.digest.map(|digest| digest.to_string()),
            "first": time_to_json(Some(content.first)),
            "last": time_to_json(Some(content.last)),
            "counts": counts_to_json(&content.counts),
        })
    });
    contents.collect()
}
