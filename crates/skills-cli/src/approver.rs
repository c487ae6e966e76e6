//! Asks whoever sits at the terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use skills_runtime::policy::{Answering, Layer, Permission, Question, Verdict};
use skills_runtime::{Answer, Approver, describe_whole_question};

use crate::output::Output;

/// A question as text.
pub(crate) use skills_runtime::describe_question as text;

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

/// Answers yes, except to requests that an administrator wants asked and to writing a protected
/// path, which takes a rule that names it.
struct Yes;

impl Approver for Yes {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        let is_admins =
            |verdict: &Verdict| matches!(verdict.wants_asked(), Some((Layer::Admin, _)));
        let is_protected =
            |verdict: &Verdict| matches!(verdict.permission(), Permission::WriteProtected { .. });
        let is_left = |verdict: &Verdict| is_admins(verdict) || is_protected(verdict);
        let answer = (!question.open.iter().any(is_left)).then_some(Answer::Once);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        Box::pin(async move {
            let text = describe_whole_question(question)?;
            let output = Output::new(false);
            output.notes(&text);
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
