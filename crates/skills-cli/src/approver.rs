//! Approvers of the command line: the terminal prompt, `--yes` and `--deny`.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use skills_runtime::policy::{
    ApprovalFuture, ApprovalRequest, Permission, PermissionDecision, RuleSource,
};
use skills_runtime::{ApprovalResponse, Approver, format_approval_request_in_full};

use crate::output::{Output, OutputFormat};

/// Formats an approval request as text.
pub(crate) use skills_runtime::format_approval_request as text;

/// Asks the user at the terminal.
struct TerminalApprover;

/// Selects the approver of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApproverKind {
    /// `--yes`: allows everything except `ask` rules of the administrator and protected paths.
    AllowAll,
    /// `--deny`: denies every request.
    DenyAll,
    /// Asks on the terminal if standard input and standard error are terminals.
    Terminal,
    /// No approver: standard input carries the program's input.
    None,
}

/// Returns the approver, or `None` if no approver is available.
pub(crate) fn approver(kind: ApproverKind) -> Option<Arc<dyn Approver>> {
    match kind {
        ApproverKind::AllowAll => Some(Arc::new(AutoApprover)),
        ApproverKind::DenyAll => Some(Arc::new(ApprovalResponse::Deny)),
        ApproverKind::Terminal if is_terminal() => Some(Arc::new(TerminalApprover)),
        ApproverKind::Terminal | ApproverKind::None => None,
    }
}

fn is_terminal() -> bool {
    // Standard output can be a file or pipe: prompts go to standard error.
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Approves every request, except those with an `ask` rule of the administrator and writes to a
/// protected path, which take a rule for that very path.
struct AutoApprover;

impl Approver for AutoApprover {
    fn request_approval<'a>(&'a self, request: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        let is_asked_by_admin = |decision: &PermissionDecision| {
            matches!(decision.ask_rule(), Some((RuleSource::Admin, _)))
        };
        let is_protected = |decision: &PermissionDecision| {
            matches!(decision.permission(), Permission::WriteProtected { .. })
        };
        // The administrator asks for a person, and other programs execute protected paths, so
        // `--yes` answers for neither.
        let needs_explicit_rule =
            |decision: &PermissionDecision| is_asked_by_admin(decision) || is_protected(decision);
        let response = (!request.pending.iter().any(needs_explicit_rule))
            .then_some(ApprovalResponse::AllowOnce);
        Box::pin(std::future::ready(Ok(response)))
    }
}

impl Approver for TerminalApprover {
    fn request_approval<'a>(&'a self, request: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        Box::pin(async move {
            // A request that cannot be shown completely is an error, and an error denies: what was
            // not shown is not approved.
            let text = format_approval_request_in_full(request)?;
            // The prompt is for a person, also with `--json`.
            let output = Output::new(OutputFormat::Text);
            output.status_lines(&text);
            output.status_lines("Allow? [o]nce / [a]lways for this version / [N]o");
            // Keys typed ahead were pressed before the request could be read, so they approve
            // nothing.
            flush_terminal_input();
            // The terminal is read on a blocking thread, so that Ctrl-C still ends the command.
            let response = tokio::task::spawn_blocking(read_line);
            Ok(Some(match response.await??.as_str() {
                "o" | "once" => ApprovalResponse::AllowOnce,
                "a" | "always" => ApprovalResponse::AllowAlways,
                // Anything else denies, including an empty line: pressing Enter is not consent.
                _ => ApprovalResponse::Deny,
            }))
        })
    }
}

/// Asks for confirmation on the terminal. Returns `None` if there is no terminal.
pub(crate) fn confirm(text: &str, output: &Output) -> Option<bool> {
    if !is_terminal() {
        return None;
    }
    output.status_lines(text);
    flush_terminal_input();
    // A terminal that cannot be read has not confirmed anything.
    Some(read_line().is_ok_and(|response| matches!(response.as_str(), "y" | "yes")))
}

fn read_line() -> io::Result<String> {
    let mut response = String::new();
    io::stdin().lock().read_line(&mut response)?;
    Ok(response.trim().to_ascii_lowercase())
}

/// Discards input that was typed before the prompt was shown.
#[cfg(unix)]
fn flush_terminal_input() {
    // A terminal that cannot be flushed is still asked.
    let _ = nix::sys::termios::tcflush(io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
}

#[cfg(not(unix))]
fn flush_terminal_input() {}
