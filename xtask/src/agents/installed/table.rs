//! Writes the outcomes as Markdown.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use super::{InstalledOutcome, InstalledRecord, installed_jobs};
use crate::agents::report::{grouped, push_header, push_row};
use crate::agents::runners::AGENTS;
use crate::agents::snapshot::{PAGE, Section};
use crate::command::workspace_dir;

const SECTION: Section = Section {
    begin: "<!-- begin of figures as installed -->\n",
    end: "<!-- end of figures as installed -->\n",
};

/// Writes the table into the page.
pub(super) fn write(record: &InstalledRecord) -> Result<()> {
    let path = workspace_dir().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    fs::write(&path, SECTION.replace(&page, &table(record))?)?;
    Ok(())
}

/// Returns a table with a row for each agent, and the list of what failed.
pub(super) fn table(record: &InstalledRecord) -> String {
    let mut text = String::new();
    let jobs = installed_jobs();
    for job in &jobs {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {}: {}", job.key, job.title);
    }
    text.push('\n');
    let header = ["agent", "version"]
        .into_iter()
        .chain(jobs.iter().map(|job| job.key));
    push_header(&mut text, &header.map(str::to_owned).collect::<Vec<_>>());
    let mut notes = Vec::new();
    for agent in &AGENTS {
        let Some(outcomes) = record.agents.get(agent.key) else {
            continue;
        };
        let mut cells = vec![agent.name.to_owned(), outcomes.version.clone()];
        for job in &jobs {
            let outcome = outcomes.jobs.iter().find(|outcome| outcome.job == job.key);
            cells.push(outcome.map_or_else(|| "not run".to_owned(), cell));
            notes.extend(outcome.and_then(|outcome| note(agent.name, outcome)));
        }
        push_row(&mut text, &cells);
    }
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes.join("\n"));
        text.push('\n');
    }
    text
}

fn cell(outcome: &InstalledOutcome) -> String {
    let verdict = if outcome.failure.is_some() {
        "fails"
    } else {
        "right"
    };
    format!(
        "{verdict}; {}, {}, {}; {}, {}",
        outcome.questions,
        outcome.added.len(),
        outcome.approvals,
        grouped(outcome.result_tokens),
        grouped(outcome.paid_tokens)
    )
}

/// Returns what a reader of a cell needs to know besides.
fn note(agent: &str, outcome: &InstalledOutcome) -> Option<String> {
    let added = outcome.added.iter().map(|line| format!("`{line}`"));
    let added = added.collect::<Vec<_>>().join(", then ");
    let failure = outcome.failure.as_deref().map(|reason| {
        let reason = reason.replace('`', "'");
        format!("fails: `{reason}`")
    });
    let parts = [
        (!added.is_empty()).then(|| format!("added {added}")),
        failure,
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>();
    (!parts.is_empty()).then(|| format!("- {agent}, {}: {}", outcome.job, parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_contains_the_committed_outcomes() {
        let page = fs::read_to_string(workspace_dir().join(PAGE)).unwrap();
        let table = table(&InstalledRecord::read().unwrap());
        assert_eq!(
            SECTION.replace(&page, &table).unwrap(),
            page,
            "run `cargo xtask clients --agent --as-installed --update`"
        );
    }
}
