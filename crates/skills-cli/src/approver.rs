//! Approvers of the command line: the terminal, `--yes` and `--deny`.

#[cfg(unix)]
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::sync::Arc;

use clap::Args;
use skills_runtime::policy::{AnswerFuture, Permission, PermissionDecision, Question, RuleSource};
use skills_runtime::{Answer, Approver, format_question_in_full};

use crate::error::{CommandError, print_error};
use crate::exit::Exit;
use crate::output::Output;
#[cfg(unix)]
use crate::terminal::{TerminalLock, is_in_foreground, suspend_program_modes};

/// Asks the user at the terminal.
struct TerminalApprover;

/// The options that answer questions about runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApprovalArgs {
    /// Approve all requests; `deny` rules still apply
    #[arg(long, conflicts_with = "deny")]
    yes: bool,

    /// Deny all requests
    #[arg(long)]
    deny: bool,
}

impl ApprovalArgs {
    /// Returns true if an option answers questions, so that no user is asked.
    pub(crate) fn answers(&self) -> bool {
        self.yes || self.deny
    }

    /// Returns the approver, or `None` if none is available.
    pub(crate) fn approver(&self) -> Option<Arc<dyn Approver>> {
        if self.yes {
            Some(Arc::new(AutoApprover))
        } else if self.deny {
            Some(Arc::new(Answer::Deny))
        } else if is_terminal() {
            Some(Arc::new(TerminalApprover))
        } else {
            None
        }
    }
}

/// Returns true if the user can be asked.
pub(crate) fn is_terminal() -> bool {
    question_terminal().is_ok()
}

/// Opens the terminal that shows questions, which go to standard error. It is never standard input:
/// that can be data, of which no line is an answer.
///
/// # Errors
/// Fails if standard error is not a terminal, or if a shell runs the command in the background: the
/// kernel would stop it when it reads.
#[cfg(unix)]
fn question_terminal() -> io::Result<File> {
    use std::os::fd::AsFd;
    let errors = io::stderr();
    if !errors.is_terminal() {
        return Err(io::ErrorKind::NotConnected.into());
    }
    if !is_in_foreground(&errors) {
        return Err(io::ErrorKind::NotConnected.into());
    }
    // The controlling terminal is opened again: the descriptor may be for writing only.
    if rustix::termios::tcgetpgrp(&errors).is_ok() {
        #[expect(
            clippy::disallowed_methods,
            reason = "the terminal is not a file of a skill"
        )]
        return File::open("/dev/tty");
    }
    errors.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn question_terminal() -> io::Result<io::Stdin> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        Ok(io::stdin())
    } else {
        Err(io::ErrorKind::NotConnected.into())
    }
}

/// The terminal while it shows a question, which no other command does meanwhile: one answer is for
/// one question.
struct AskingTerminal {
    #[cfg(unix)]
    _lock: TerminalLock,
}

impl AskingTerminal {
    /// Waits until no other command asks on the terminal or has a program on it.
    ///
    /// # Errors
    /// Fails if the user cannot be asked.
    fn acquire() -> io::Result<Self> {
        question_terminal()?;
        #[cfg(unix)]
        let lock = {
            // They have the same lock.
            suspend_program_modes();
            TerminalLock::acquire(io::stderr(), || {
                Output::Text.status("waiting for another command that uses this terminal");
            })?
        };
        // A shell may have moved the command to the background meanwhile.
        question_terminal()?;
        Ok(Self {
            #[cfg(unix)]
            _lock: lock,
        })
    }

    /// Reads a line that is typed from now on. Keys typed ahead were pressed before the question
    /// could be read, so they approve nothing.
    fn read_answer(&self) -> io::Result<String> {
        let terminal = question_terminal()?;
        // A terminal that cannot be flushed is still asked.
        #[cfg(unix)]
        let _ = rustix::termios::tcflush(&terminal, rustix::termios::QueueSelector::IFlush);
        let mut response = String::new();
        BufReader::new(terminal.take(MAX_ANSWER_BYTES)).read_line(&mut response)?;
        Ok(response.trim().to_ascii_lowercase())
    }
}

/// Approves every request, except those with an `ask` rule of the administrator and writes to a
/// protected path, which take a rule for that very path.
struct AutoApprover;

impl Approver for AutoApprover {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let is_answered = !question.permissions().any(needs_explicit_rule);
        let response = is_answered.then_some(Answer::AllowOnce);
        Box::pin(std::future::ready(Ok(response)))
    }

    /// What a program tries while it runs was not known when the user typed the option.
    fn can_respond_to_refusals(&self) -> bool {
        false
    }
}

/// Returns true if `--yes` does not answer for a permission: the administrator asks for a person,
/// other programs execute protected paths, and keys give access to other services.
fn needs_explicit_rule(decision: &PermissionDecision) -> bool {
    matches!(decision.ask_rule(), Some((RuleSource::Admin, _)))
        || matches!(
            decision.permission(),
            Permission::WriteProtected { .. } | Permission::ReadKeys { .. }
        )
}

impl Approver for TerminalApprover {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            // A question that cannot be shown completely is an error, and an error denies: what was not
            // shown is not approved.
            let text = format_question_in_full(question)?;
            let answers = question.answers();
            // The question is for a person, also with `--json`.
            let output = Output::Text;
            // The terminal is used on a blocking thread, so that Ctrl-C still ends the command.
            let mut terminal = skills_threads::run_blocking(AskingTerminal::acquire).await??;
            output.status_lines(&text);
            for _ in 0..MAX_ANSWERS {
                output.status_lines(&choices(&answers));
                let read = move || (terminal.read_answer(), terminal);
                let (line, returned) = skills_threads::run_blocking(read).await?;
                terminal = returned;
                match parse_answer(&line?).filter(|answer| answers.contains(answer)) {
                    Some(answer) => return Ok(Some(answer)),
                    None => output.status("unknown answer"),
                }
            }
            Ok(Some(Answer::Deny))
        })
    }
}

/// Returns the line that says how to answer. An answer that lasts for a session lasts for this command.
fn choices(answers: &[Answer]) -> String {
    let choices = answers.iter().filter_map(|answer| match answer {
        Answer::AllowOnce => Some("[y]es, once"),
        Answer::AllowAllPrograms => Some("any [p]rogram, once"),
        Answer::AllowAlways => Some("[a]lways for this version"),
        Answer::Deny => Some("[N]o"),
        _ => None,
    });
    choices.collect::<Vec<_>>().join(" / ")
}

/// Longer lines than any answer.
const MAX_ANSWER_BYTES: u64 = 1_024;
/// The number of answers that are read before an approval is denied.
const MAX_ANSWERS: usize = 3;

/// Returns the answer that a line means; `None` if it means none.
fn parse_answer(line: &str) -> Option<Answer> {
    match line {
        "y" | "yes" | "o" | "once" => Some(Answer::AllowOnce),
        "p" | "program" | "programs" => Some(Answer::AllowAllPrograms),
        "a" | "always" => Some(Answer::AllowAlways),
        // The end of the input is an empty line, too. Pressing Enter is not consent.
        "" | "n" | "no" => Some(Answer::Deny),
        _ => None,
    }
}

/// The answer to a confirmation prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Yes,
    No,
    /// No terminal is available, which was reported.
    Unanswered,
}

/// Asks for confirmation on the terminal.
pub(crate) fn confirm(text: &str, output: Output) -> Confirmation {
    let Ok(terminal) = AskingTerminal::acquire() else {
        print_error(&no_terminal().into(), output);
        return Confirmation::Unanswered;
    };
    output.status_lines(text);
    // A terminal that cannot be read has not confirmed anything.
    match terminal.read_answer().as_deref() {
        Ok("y" | "yes") => Confirmation::Yes,
        _ => Confirmation::No,
    }
}

/// Asks a question with yes and no; `None` if there was another answer, such as an empty line.
/// A terminal must be available.
pub(crate) fn choose(question: &str) -> Option<bool> {
    let terminal = AskingTerminal::acquire().ok()?;
    Output::Text.status_lines(question);
    match terminal.read_answer().as_deref() {
        Ok("y" | "yes") => Some(true),
        Ok("n" | "no") => Some(false),
        _ => None,
    }
}

/// Asks for confirmation on the terminal.
///
/// # Errors
/// Fails if no terminal is available, or with the message if the user declines.
pub(crate) fn require_confirmation(
    question: &str,
    declined_message: &str,
    output: Output,
) -> Result<(), CommandError> {
    if !is_terminal() {
        return Err(no_terminal());
    }
    match confirm(question, output) {
        Confirmation::Yes => Ok(()),
        _ => Err(CommandError::new(
            "declined",
            Exit::Denied,
            format!("not confirmed: {declined_message}"),
        )),
    }
}

/// Shows a question on the terminal, and asks for the confirmation that allows it permanently.
///
/// # Errors
/// Fails if the question cannot be shown in full, if no terminal is available, or with the message if the
/// user declines.
pub(crate) fn require_consent(
    question: &Question,
    confirmation: &str,
    declined_message: &str,
    output: Output,
) -> anyhow::Result<()> {
    output.status_lines(&format_question_in_full(question)?);
    Ok(require_confirmation(
        confirmation,
        declined_message,
        output,
    )?)
}

/// Returns the error of a question that cannot be asked.
pub(crate) fn no_terminal() -> CommandError {
    let message = "cannot ask for confirmation: no terminal is available";
    CommandError::new("confirmation-required", Exit::Denied, message).with_help("pass `--yes`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_means_once_and_other_words_mean_nothing() {
        for line in ["y", "yes", "o", "once"] {
            assert_eq!(parse_answer(line), Some(Answer::AllowOnce), "{line}");
        }
        for line in ["a", "always"] {
            assert_eq!(parse_answer(line), Some(Answer::AllowAlways), "{line}");
        }
        for line in ["", "n", "no"] {
            assert_eq!(parse_answer(line), Some(Answer::Deny), "{line}");
        }
        for line in ["yo", "yes please", "ok", "j", "1", "al", "\u{443}"] {
            assert_eq!(parse_answer(line), None, "{line}");
        }
    }
}
