//! `skills usage`: how often skills were offered and used.

use std::collections::HashSet;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::ledger::{
    Activity, Counts, Reason, SkillFacts, SkillUsage, Staleness, Summary, Timestamp, observed_days,
    scope_of_root,
};

use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::output::line;
use crate::usage_report::{
    basic_facts, contents_to_json, counts_to_json, describe_coverage, read_summary, report_to_json,
    time_to_json,
};
use crate::words::widest;

/// Show how often skills were offered and used
///
/// Counts come from the usage ledger in the state directory, which records names, digests and
/// outcomes of skills on this machine, and no text of prompts or arguments. Nothing is sent
/// anywhere. SKILLS_LEDGER=off or the setting `usage-ledger` switches it off.
#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// List the skills that were not used for this time, such as 90d
    ///
    /// Pinned skills are not listed, and neither are those that were observed for a shorter time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    unused: Option<Duration>,
}

/// A skill with its uses.
struct Row<'a> {
    name: &'a str,
    scope: &'a str,
    /// `None` for a skill that is not in the catalog.
    entry: Option<&'a Entry>,
    usage: Option<&'a SkillUsage>,
    facts: SkillFacts,
}

impl Usage {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let summary = read_summary(context)?;
        let runtime = context.build(context.unrecorded_builder()?);
        let catalog = runtime.library().catalog();
        let modes = context.listing_modes()?;
        let entries = catalog.entries().iter();
        let facts = entries.map(|entry| (entry, basic_facts(entry, &modes)));
        let rows = rows(facts, &summary);
        match self.unused {
            Some(time) => print_unused(&rows, &summary, time, context),
            None => print_all(&rows, &summary, context),
        }
    }
}

/// Returns a row for each skill of the catalog and of the ledger, the last used first.
fn rows<'a>(
    known: impl Iterator<Item = (&'a Entry, SkillFacts)>,
    summary: &'a Summary,
) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = known
        .map(|(entry, facts)| Row {
            name: entry.name().as_str(),
            scope: entry.scope().as_str(),
            entry: Some(entry),
            usage: summary.skill(&facts.name, &facts.scope),
            facts,
        })
        .collect();
    let in_catalog: HashSet<(&str, &str)> = rows
        .iter()
        .filter_map(|row| row.usage)
        .map(|usage| (usage.name.as_str(), usage.scope.as_str()))
        .collect();
    let is_elsewhere =
        |skill: &&SkillUsage| !in_catalog.contains(&(skill.name.as_str(), skill.scope.as_str()));
    let elsewhere = summary.skills.iter().filter(is_elsewhere).map(|skill| Row {
        name: &skill.name,
        scope: scope_of_root(&skill.scope),
        entry: None,
        usage: Some(skill),
        facts: SkillFacts::new(&*skill.name, &*skill.scope),
    });
    rows.extend(elsewhere.collect::<Vec<_>>());
    rows.sort_by_key(|row| (std::cmp::Reverse(row.last_use()), row.name, row.scope));
    rows
}

fn print_all(rows: &[Row<'_>], summary: &Summary, context: &Context) -> anyhow::Result<Exit> {
    if context.output.is_json() {
        return context.output.json(&report_to_json(
            summary,
            rows.iter().map(Row::to_json).collect(),
        ));
    }
    context.output.status(&describe_coverage(summary));
    context.output.text(&render_table(rows))?;
    Ok(Exit::Success)
}

/// Renders a table with one row for each skill.
fn render_table(rows: &[Row<'_>]) -> String {
    const TITLES: [&str; 7] = [
        "OFFERED",
        "FOUND",
        "NAMED",
        "USED",
        "FAILED",
        "LAST USED",
        "SKILL",
    ];
    let cells: Vec<[String; 7]> = std::iter::once(TITLES.map(str::to_owned))
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| widest(cells.iter().map(|row| &row[column]));
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &cells {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&format!("{cell:>width$}  "));
        }
        text.push_str(&row[6]);
        text.push('\n');
    }
    text
}

impl Row<'_> {
    fn counts(&self) -> Counts {
        self.usage.map(|usage| usage.counts).unwrap_or_default()
    }

    fn last_use(&self) -> Option<Timestamp> {
        self.usage.and_then(|usage| usage.last_use)
    }

    fn cells(&self) -> [String; 7] {
        let counts = self.counts();
        let failed = match counts.trials() {
            0 => "-".to_owned(),
            trials => format!("{}/{trials}", counts.failures()),
        };
        let last = self.last_use().map_or_else(|| "never".to_owned(), date);
        let note = if self.entry.is_some() {
            ""
        } else {
            "  (not found here)"
        };
        [
            counts.get(Activity::Offered).to_string(),
            counts.get(Activity::Searched).to_string(),
            counts.get(Activity::Mentioned).to_string(),
            counts.uses().to_string(),
            failed,
            last,
            format!("{}{note}", line(self.name)),
        ]
    }

    fn to_json(&self) -> Value {
        let path = self
            .entry
            .map(|entry| entry.location().to_string_lossy().into_owned());
        json!({
            "name": self.name,
            "scope": self.scope,
            "path": path,
            "installed": time_to_json(self.facts.installed),
            "last_used": time_to_json(self.last_use()),
            "counts": counts_to_json(&self.counts()),
            "contents": self.usage.map_or_else(|| json!([]), contents_to_json),
        })
    }
}

/// The skills of the catalog by how long they were not used.
#[derive(Default)]
struct Unused<'a> {
    unused: Vec<&'a Row<'a>>,
    /// Not used either, and expected to be again.
    dormant: Vec<(&'a Row<'a>, Staleness)>,
    /// Not used, but observed for a shorter time.
    too_new: usize,
}

fn print_unused(
    rows: &[Row<'_>],
    summary: &Summary,
    time: Duration,
    context: &Context,
) -> anyhow::Result<Exit> {
    let found = find_unused(rows, summary, time);
    let output = context.output;
    if output.is_json() {
        let unused = found.unused.iter().map(|row| row.to_json());
        let dormant = found.dormant.iter().map(|(row, _)| row.to_json());
        return output.json(&json!({
            "since": time_to_json(summary.since),
            "events": summary.events,
            "unused": unused.collect::<Vec<_>>(),
            "dormant": dormant.collect::<Vec<_>>(),
            "too_new": found.too_new,
        }));
    }
    output.status(&describe_coverage(summary));
    output.lines(found.unused.iter().map(|row| {
        let counts = row.counts();
        let offers = counts.offers();
        let last = row.last_use().map_or_else(
            || "never used".to_owned(),
            |last| format!("last used {}", date(last)),
        );
        let offers = counted(offers, "time");
        format!("{}  {last}, offered {offers}", line(row.name))
    }))?;
    for (row, staleness) in &found.dormant {
        let reason = Reason::Staleness(*staleness);
        output.status(&format!("not listed: {}: {reason}", row.name));
    }
    if found.too_new > 0 {
        let days = time.as_secs() / (24 * 60 * 60);
        let too_new = counted(found.too_new, "skill");
        let days = counted(days, "day");
        output.status(&format!(
            "not listed: {too_new} observed for less than {days}"
        ));
    }
    Ok(Exit::Success)
}

fn find_unused<'a>(rows: &'a [Row<'a>], summary: &Summary, time: Duration) -> Unused<'a> {
    let mut found = Unused::default();
    let limit = summary.now.minus(time);
    let days = time.as_secs_f64() / (24.0 * 60.0 * 60.0);
    for row in rows.iter().filter(|row| row.entry.is_some()) {
        if row.last_use().is_some_and(|last| last > limit) {
            continue;
        }
        match Staleness::of_unused(&row.facts, summary) {
            staleness @ Staleness::Dormant { .. } => found.dormant.push((row, staleness)),
            _ if observed_days(&row.facts, summary) < days => found.too_new += 1,
            _ => found.unused.push(row),
        }
    }
    found
}

/// Returns the date of a time, in UTC.
fn date(time: Timestamp) -> String {
    let text = humantime::format_rfc3339_seconds(time.to_system_time()).to_string();
    text.chars().take(10).collect()
}

fn parse_time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a time such as `90d` or `12w`".to_owned())
}
