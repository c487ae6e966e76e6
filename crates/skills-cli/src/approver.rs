//! Asks whoever sits at the terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use skills_runtime::policy::{Answering, Content, Layer, Question, Verdict};
use skills_runtime::{Answer, Approver};

use crate::output::{Output, line};

/// The longest value of a row, in characters; a longer one is cut, and nobody is asked.
const MAX_ROW: usize = 300;

/// Somebody at a terminal.
struct Terminal;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// `--yes`.
    Yes,
    /// `--deny`.
    No,
    /// The terminal, when there is one and nothing else is read from it.
    Terminal,
    /// Nobody: the program's input comes from where answers would.
    Nobody,
}

/// Finds out who can be asked.
pub(crate) fn approver(answers: Answers) -> Option<Arc<dyn Approver>> {
    match answers {
        Answers::Yes => Some(Arc::new(Yes)),
        Answers::No => Some(Arc::new(Answer::Deny)),
        Answers::Terminal if is_terminal() => Some(Arc::new(Terminal)),
        Answers::Terminal | Answers::Nobody => None,
    }
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Says yes for whoever is not there, to everything but what an administrator wants asked: nobody was.
struct Yes;

impl Approver for Yes {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        let is_admins = |verdict: &Verdict| matches!(verdict.wants_asked(), Some((Layer::Admin, _)));
        let answer = (!question.open.iter().any(is_admins)).then_some(Answer::Once);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        Box::pin(async move {
            if let Some(long) = too_long(question) {
                return Err(format!("it is longer than a question may be: {long}").into());
            }
            let output = Output::new(false);
            output.notes(&text(question));
            output.notes("Allow it? o: once, a: always for this content, anything else: no");
            forget_what_was_typed();
            // The terminal is waited for aside, so that Ctrl-C still ends the command.
            let answer = tokio::task::spawn_blocking(read_line);
            Ok(Some(match answer.await??.as_str() {
                "o" | "once" => Answer::Once,
                "a" | "always" => Answer::Always,
                _ => Answer::Deny,
            }))
        })
    }
}

/// Asks for a yes on the terminal; nothing when there is none.
pub(crate) fn confirm(text: &str, output: &Output) -> Option<bool> {
    if !is_terminal() {
        return None;
    }
    output.notes(text);
    forget_what_was_typed();
    Some(read_line().is_ok_and(|answer| matches!(answer.as_str(), "y" | "yes")))
}

fn read_line() -> io::Result<String> {
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_ascii_lowercase())
}

/// What was typed before the question was seen is no answer to it.
#[cfg(unix)]
fn forget_what_was_typed() {
    // A terminal that cannot do so is asked all the same.
    let _ = nix::sys::termios::tcflush(io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
}

#[cfg(not(unix))]
fn forget_what_was_typed() {}

/// Describes a question entirely, a row a thing, so that no text of a skill can be taken for another row.
pub(crate) fn text(question: &Question) -> String {
    let rows = rows(question).into_iter().map(|(label, value)| format!("  {label:<8} {}", row(&value)));
    std::iter::once(format!("{} wants to run: {}", row(&question.name), row(&command(question)))).chain(rows).collect::<Vec<_>>().join("\n")
}

/// What is wanted stands last, where it is read; of what is only told there is an end.
fn rows(question: &Question) -> Vec<(&'static str, String)> {
    const MAX_TOLD: usize = 15;
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

/// What of a question nobody could read, since it would be cut.
fn too_long(question: &Question) -> Option<String> {
    let is_long = |text: &str| text.chars().nth(MAX_ROW).is_some();
    let open = question.open.iter().map(|verdict| verdict.permission().to_string());
    let found = open.chain([command(question), question.directory.display().to_string()]).find(|text| is_long(text))?;
    Some(row(&found))
}

fn command(question: &Question) -> String {
    question.command.join(" ")
}

/// One line of a row: white space is one space, and an end is an end.
fn row(text: &str) -> String {
    let text = line(&text.split_whitespace().collect::<Vec<_>>().join(" "));
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
