//! Hooks of skills before and after a tool call.

use serde_json::{Map, Value};
use skills_runtime::{
    AgentEvent, Entry, ErrorKind, ExecutionStatus, HookDecision, HookOptions, HookRun, Remedy,
    Workspace, shell_quote,
};

use super::ProgramRunner;
use super::output::denial_words;
use super::visible_dirs::VisibleDirs;
use crate::sanitize::strip_terminal_escapes;
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

/// Maximum length of the reason of a hook, in characters.
const MAX_REASON_CHARS: usize = 2_000;

/// Selects whether the hooks of skills run before and after tool calls.
///
/// With [`Enabled`](Self::Enabled), hooks of `PreToolUse` and `PostToolUse` run that the active
/// skills declare: the skill that a call names, and those that the session has loaded. A hook runs
/// sandboxed, and only if it was approved for this content of its skill; a hook before a tool that
/// cannot run blocks the tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum HookMode {
    /// No hook runs, and no hook blocks.
    #[default]
    Disabled,
    /// Hooks of active skills run.
    Enabled,
}

/// A tool call as hooks see it.
#[derive(Debug, Clone)]
pub(crate) struct HookedCall {
    /// The name that Claude Code has for such a tool, which hooks are written for.
    pub(crate) tool: &'static str,
    /// The other names that a matcher can use.
    pub(crate) aliases: Vec<String>,
    /// The arguments, with the fields of Claude Code.
    pub(crate) input: Map<String, Value>,
    /// The skills with hooks.
    pub(crate) skills: Vec<Entry>,
}

impl HookedCall {
    /// Runs the hooks before a call.
    ///
    /// # Errors
    /// Fails if a hook blocks the call.
    pub(crate) async fn run_before(
        &self,
        programs: &ProgramRunner,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        let event = AgentEvent::PreToolUse {
            tool: self.tool.to_owned(),
            input: Value::Object(self.input.clone()),
        };
        for skill in &self.skills {
            let result = self.run(programs, skill, &event, context).await?;
            let (what, reason) = match result.decision {
                HookDecision::Block { reason } => ("blocked by a hook", reason),
                HookDecision::Ask { reason } => (
                    "a hook requires that the user approves this call, which is not possible here",
                    reason,
                ),
                _ => continue,
            };
            let (name, reason) = (skill.name(), reason_text(programs, skill, &reason)?);
            let error = ToolErrorCode::DeniedByPolicy.error(format!(
                "{what} of skill `{name}`, so nothing ran: {reason}"
            ));
            let remedy = result
                .runs
                .iter()
                .any(is_denied)
                .then(|| approve_hooks(programs, skill));
            return Err(remedy
                .flatten()
                .into_iter()
                .fold(error, ToolError::with_hint));
        }
        Ok(())
    }

    /// Runs the hooks after a successful call, and adds what they object to its result. The tool
    /// has run, so nothing is undone.
    ///
    /// # Errors
    /// Fails if the hooks of a skill cannot be read.
    pub(crate) async fn run_after(
        &self,
        programs: &ProgramRunner,
        mut output: ToolOutput,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let event = AgentEvent::PostToolUse {
            tool: self.tool.to_owned(),
            input: Value::Object(self.input.clone()),
            output: output.structured.clone(),
        };
        for skill in &self.skills {
            let result = self.run(programs, skill, &event, context).await?;
            let name = skill.name();
            for run in &result.runs {
                let Some(failure) = failure(run) else {
                    continue;
                };
                let command = reason_text(programs, skill, &run.command)?;
                let failure = reason_text(programs, skill, &failure)?;
                let line = format!("Hook: `{command}` of skill `{name}` did not run: {failure}");
                output.add_own_line(&line);
                if let Some(remedy) = is_denied(run)
                    .then(|| approve_hooks(programs, skill))
                    .flatten()
                {
                    output.add_own_line(&format!("Hint: {remedy}"));
                }
            }
            if let HookDecision::Block { reason } | HookDecision::Ask { reason } = result.decision {
                let reason = reason_text(programs, skill, &reason)?;
                let message = format!(
                    "the tool ran, and a hook of skill `{name}` objects to its result: {reason}"
                );
                output.fail_with(&ToolErrorCode::Failed.error(message));
            }
        }
        Ok(output)
    }

    async fn run(
        &self,
        programs: &ProgramRunner,
        skill: &Entry,
        event: &AgentEvent,
        context: &CallContext,
    ) -> Result<skills_runtime::HookReport, ToolError> {
        let files = &programs.files;
        let visible_dirs = VisibleDirs::new(files, Some(skill), [])?;
        let mut options = HookOptions {
            tool_aliases: self.aliases.clone(),
            // Never asked: a call that asks its user must not have run anything, and a question for
            // each call of a tool would be answered without reading it.
            execution: programs.base_options(&context.clone().without_approver()),
        };
        visible_dirs.add_to(&mut options.execution);
        if let Some(workspace) = files.mounts.workspace() {
            options.execution.workspace = Workspace::Directory(workspace.path.clone());
        }
        let directory = skill.directory().to_string_lossy();
        match files.runtime.run_hooks(&directory, event, &options).await {
            Ok(report) => Ok(report),
            Err(error) => {
                let (name, path_map) = (skill.name(), visible_dirs.path_map());
                let reason = path_map.replace_in(&error.to_string());
                let code = match error.kind() {
                    ErrorKind::Cancelled => ToolErrorCode::Cancelled,
                    _ => ToolErrorCode::DeniedByPolicy,
                };
                Err(code.error(format!(
                    "cannot run the hooks of skill `{name}`: {reason}; nothing ran"
                )))
            }
        }
    }
}

fn approve_hooks(programs: &ProgramRunner, skill: &Entry) -> Option<String> {
    programs.remedies.describe(&Remedy::ApproveHooks {
        skill: skill.name().to_string(),
    })
}

/// Returns text of a hook on one line, without terminal sequences and host paths, truncated to the
/// limit.
fn reason_text(programs: &ProgramRunner, skill: &Entry, text: &str) -> Result<String, ToolError> {
    let path_map = VisibleDirs::new(&programs.files, Some(skill), [])?.path_map();
    let text = path_map.replace_in(&strip_terminal_escapes(text));
    let lines = text.lines().map(str::trim);
    let text = lines.collect::<Vec<_>>().join(" ");
    Ok(match text.char_indices().nth(MAX_REASON_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    })
}

/// Returns true if a hook did not run because it is not approved.
fn is_denied(run: &HookRun) -> bool {
    matches!(run.status, Ok(ExecutionStatus::PermissionDenied { .. }))
}

/// Returns why a hook did not run, `None` if it did.
fn failure(run: &HookRun) -> Option<String> {
    match &run.status {
        Ok(ExecutionStatus::PermissionDenied { denial }) => Some(denial_words(denial)),
        Ok(_) => None,
        Err(reason) => Some(reason.clone()),
    }
}

/// Returns words as a command for a shell.
pub(crate) fn command_text(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_quote(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["scripts/x.py", "", "it's", "--a=b", "c d"].map(str::to_owned);
        assert_eq!(
            command_text(&words),
            r"scripts/x.py '' 'it'\''s' --a=b 'c d'"
        );
    }
}
