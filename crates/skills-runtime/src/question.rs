//! A question as text, for whoever answers.

use skills_policy::{Content, Question, Verdict};

use crate::one_line;

/// The longest value of a row, in characters; a longer one is cut.
const MAX_ROW: usize = 300;
/// The most rows of one kind that only tell something.
const MAX_TOLD: usize = 15;

/// A question that nobody could read, since what is wanted would be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is longer than a question may be: {what}")]
pub struct TooLong {
    what: String,
}

/// Describes a question entirely, a row a thing, so that no text of a skill can be taken for another row; what is wanted stands last. Values of more than 300
/// characters are cut, and of each kind of thing that is only told there are 15.
#[must_use]
pub fn describe_question(question: &Question) -> String {
    let rows = rows(question).into_iter().map(|(label, value)| format!("  {label:<8} {}", row(&value)));
    std::iter::once(format!("{} wants to run: {}", row(&question.name), row(&command(question)))).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Describes a question as [`describe_question`] does, for somebody who is asked.
///
/// # Errors
/// When something of what is wanted, the command or the directory would be cut: nobody knows what they would allow, so nobody is asked.
pub fn describe_whole_question(question: &Question) -> Result<String, TooLong> {
    let is_long = |text: &str| text.chars().nth(MAX_ROW).is_some();
    let open = question.open.iter().map(|verdict| verdict.permission().to_string());
    let long = open.chain([command(question), question.directory.display().to_string()]).find(|text| is_long(text));
    match long {
        Some(text) => Err(TooLong { what: row(&text) }),
        None => Ok(describe_question(question)),
    }
}

/// What is wanted stands last, where it is read; of what is only told there is an end.
fn rows(question: &Question) -> Vec<(&'static str, String)> {
    let mut rows = vec![("skill", question.directory.display().to_string())];
    rows.extend(question.digest.iter().map(|digest| ("digest", digest.clone())));
    let limits = &question.limits;
    rows.push(("limits", format!("{} s, {} MiB of memory", limits.wall_time.as_secs_f64(), limits.memory_bytes >> 20)));
    let mut told = |label: &'static str, values: Vec<String>| {
        let more = values.len().saturating_sub(MAX_TOLD);
        rows.extend(values.into_iter().take(MAX_TOLD).map(|value| (label, value)));
        rows.extend((more > 0).then(|| (label, format!("and {more} more"))));
    };
    let what = |verdict: &Verdict| format!("{} (asked by {})", verdict.permission(), verdict.asked());
    // Power first.
    let (power, rest): (Vec<&Verdict>, Vec<&Verdict>) =
        question.granted.iter().partition(|verdict| verdict.permission().capability().is_dangerous());
    told("has", power.into_iter().chain(rest).map(what).collect());
    told("note", question.notes.clone());
    if let Content::Changed { grown, shrunk } = &question.content {
        told("gone", shrunk.clone());
        told("new", grown.clone());
    }
    rows.push(("content", content(&question.content).to_owned()));
    if question.asks_for_content {
        rows.push(("wants", "to run with what rules give it, for which nobody approved this content".to_owned()));
    }
    rows.extend(question.open.iter().map(|verdict| ("wants", what(verdict))));
    rows
}

fn command(question: &Question) -> String {
    question.command.join(" ")
}

/// One line of a row: white space is one space, and an end is an end.
fn row(text: &str) -> String {
    let text = one_line(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.chars().nth(MAX_ROW).is_none() {
        return text;
    }
    text.chars().take(MAX_ROW).chain(['…']).collect()
}

fn content(content: &Content) -> &'static str {
    match content {
        Content::New => "never approved before",
        Content::Known => "approved before, for other things",
        _ => "changed since it was approved",
    }
}
