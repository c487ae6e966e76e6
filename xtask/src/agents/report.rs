//! Writes observations as Markdown.

use std::fmt::Write;

use super::jobs;
use super::observation::{Form, JobOutcome, Observation, ResultView};
use super::runners::{AGENTS, Agent};
use super::snapshot::Snapshot;

/// Returns the tables of a snapshot.
pub(crate) fn figures(snapshot: &Snapshot) -> String {
    let observed = AGENTS
        .iter()
        .filter_map(|agent| Some((agent, snapshot.agents.get(agent.key)?)))
        .collect::<Vec<_>>();
    [
        offers(&observed),
        results(&observed),
        job_outcomes(&observed),
    ]
    .join("\n")
}

type Observed<'a> = [(&'a Agent, &'a Observation)];

fn offers(observed: &Observed<'_>) -> String {
    let mut text =
        String::from("Tools of the server in a request, and the tokens of their definitions:\n\n");
    let skills = observed.first().map_or_else(Vec::new, |(_, first)| {
        first.catalogs.iter().map(|view| view.skills).collect()
    });
    let mut header = ["agent", "version", "protocol", "instructions seen"]
        .map(str::to_owned)
        .to_vec();
    header.extend(skills.iter().map(|count| match count {
        1 => "1 skill".to_owned(),
        count => format!("{} skills", grouped(*count)),
    }));
    push_header(&mut text, &header);
    for (agent, observation) in observed {
        let mut cells = vec![
            agent.name.to_owned(),
            observation.version.clone(),
            observation.protocol.clone(),
            if observation.instructions {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
        ];
        cells.extend(observation.catalogs.iter().map(|view| {
            let figures = || format!("{}: {}", view.tools, grouped(view.tokens));
            view.problem.clone().unwrap_or_else(figures)
        }));
        push_row(&mut text, &cells);
    }
    text
}

fn results(observed: &Observed<'_>) -> String {
    let mut text = String::from(
        "Tokens of results with 17 skills: of the text that the server sends, and of what the model sees. `+`: the agent adds text; `~`: it cuts or changes the text.\n\n",
    );
    let mut header = vec!["call".to_owned(), "sent".to_owned()];
    header.extend(observed.iter().map(|(agent, _)| agent.name.to_owned()));
    push_header(&mut text, &header);
    let plan = jobs::probe();
    for (index, step) in plan.steps.iter().enumerate() {
        let views = observed
            .iter()
            .map(|(_, observation)| observation.results.get(index))
            .collect::<Vec<_>>();
        let sent = views
            .iter()
            .flatten()
            .map(|view| view.sent_tokens)
            .next()
            .unwrap_or_default();
        let mut cells = vec![format!("`{}` {}", step.tool, step.note), grouped(sent)];
        cells.extend(views.iter().map(|view| view.map_or_else(String::new, seen)));
        push_row(&mut text, &cells);
    }
    text
}

fn seen(view: &ResultView) -> String {
    let mark = match view.form {
        Form::Unchanged => "",
        Form::Framed => " +",
        Form::Changed => " ~",
    };
    format!("{}{mark}", grouped(view.tokens))
}

fn job_outcomes(observed: &Observed<'_>) -> String {
    let mut text = String::from(
        "Jobs: calls, questions to the user, tokens of all results that the model sees. `~`: the agent cuts or changes the text of a result.\n\n",
    );
    let mut header = vec!["job".to_owned()];
    header.extend(observed.iter().map(|(agent, _)| agent.name.to_owned()));
    push_header(&mut text, &header);
    for (key, title) in jobs::TITLES {
        let outcome = |observation: &Observation| {
            observation
                .jobs
                .iter()
                .find(|outcome| outcome.job == key)
                .map_or_else(|| "not run".to_owned(), outcome_cell)
        };
        let mut cells = vec![title.to_owned()];
        cells.extend(observed.iter().map(|(_, observation)| outcome(observation)));
        push_row(&mut text, &cells);
    }
    text
}

fn outcome_cell(outcome: &JobOutcome) -> String {
    let figures = format!(
        "{}, {}, {}",
        outcome.calls,
        outcome.questions,
        grouped(outcome.tokens)
    );
    let mark = if outcome.changed.is_empty() { "" } else { " ~" };
    let end = if outcome.failure.is_some() {
        ": fails"
    } else {
        ""
    };
    format!("{figures}{mark}{end}")
}

pub(crate) fn push_header(text: &mut String, cells: &[String]) {
    push_row(text, cells);
    text.push_str(&"|---".repeat(cells.len()));
    text.push_str("|\n");
}

pub(crate) fn push_row(text: &mut String, cells: &[String]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Returns a number with commas between groups of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(
            [7, 242, 2434, 1_000_000].map(grouped),
            ["7", "242", "2,434", "1,000,000"]
        );
    }
}
