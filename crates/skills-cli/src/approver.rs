//! Asks whoever sits at the terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use skills_runtime::policy::{
    ApprovalFuture, ApprovalRequest, Permission, PermissionDecision, RuleSource,
};
use skills_runtime::{ApprovalResponse, Approver, format_approval_request_in_full};

use crate::output::Output;

/// A question as text.
pub(crate) use skills_runtime::format_approval_request as text;

/// Somebody at a terminal.
struct TerminalApprover;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApproverKind {
    /// `--yes`.
    AllowAll,
    /// `--deny`.
    DenyAll,
    /// The terminal, when there is one and nothing else is read from it.
    Terminal,
    /// Nobody: the program's input comes from where answers would.
    None,
}

/// Finds out who can be asked.
pub(crate) fn approver(answers: ApproverKind) -> Option<Arc<dyn Approver>> {
    match answers {
        ApproverKind::AllowAll => Some(Arc::new(AutoApprover)),
        ApproverKind::DenyAll => Some(Arc::new(ApprovalResponse::Deny)),
        ApproverKind::Terminal if is_terminal() => Some(Arc::new(TerminalApprover)),
        ApproverKind::Terminal | ApproverKind::None => None,
    }
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Answers yes, except to requests that an administrator wants asked and to writing a protected
/// path, which takes a rule that names it.
struct AutoApprover;

impl Approver for AutoApprover {
    fn request_approval<'a>(&'a self, question: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        let is_admins = |verdict: &PermissionDecision| {
            matches!(verdict.ask_rule(), Some((RuleSource::Admin, _)))
        };
        let is_protected = |verdict: &PermissionDecision| {
            matches!(verdict.permission(), Permission::WriteProtected { .. })
        };
        let is_left = |verdict: &PermissionDecision| is_admins(verdict) || is_protected(verdict);
        let answer = (!question.pending.iter().any(is_left)).then_some(ApprovalResponse::AllowOnce);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl Approver for TerminalApprover {
    fn request_approval<'a>(&'a self, question: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        Box::pin(async move {
            let text = format_approval_request_in_full(question)?;
            let output = Output::new(false);
            output.status_lines(&text);
            output.status_lines("Allow it? o: once, a: always for this content, anything else: no");
            flush_terminal_input();
            // The terminal is waited for aside, so that Ctrl-C still ends the command.
            let answer = tokio::task::spawn_blocking(read_line);
            Ok(Some(match answer.await??.as_str() {
                "o" | "once" => ApprovalResponse::AllowOnce,
                "a" | "always" => ApprovalResponse::AllowAlways,
                _ => ApprovalResponse::Deny,
            }))
        })
    }
}

/// Asks for a yes on the terminal; nothing when there is none.
pub(crate) fn confirm(text: &str, output: &Output) -> Option<bool> {
    if !is_terminal() {
        return None;
    }
    output.status_lines(text);
    flush_terminal_input();
    Some(read_line().is_ok_and(|answer| matches!(answer.as_str(), "y" | "yes")))
}

fn read_line() -> io::Result<String> {
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_ascii_lowercase())
}

/// What was typed before the question was seen is no answer to it.
#[cfg(unix)]
fn flush_terminal_input() {
    // A terminal that cannot do so is asked all the same.
    let _ = nix::sys::termios::tcflush(io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
}

#[cfg(not(unix))]
fn flush_terminal_input() {}
