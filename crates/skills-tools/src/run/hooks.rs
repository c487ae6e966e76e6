//! Hooks of skills before and after a tool call.

use serde_json::{Map, Value};
use skills_runtime::{
    AgentEvent, Entry, ErrorKind, ExecutionStatus, HookDecision, HookOptions, HookRun, Workspace,
};

use super::named_skills::NamedSkills;
use super::{ProgramTools, Remedy};
use crate::path_map::PathMap;
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

impl ProgramTools {
    /// Runs the hooks before a call.
    ///
    /// # Errors
    /// Fails if a hook blocks the call.
    pub(crate) async fn run_hooks_before(
        &self,
        call: &HookedCall,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        let event = AgentEvent::PreToolUse {
            tool: call.tool.to_owned(),
            input: Value::Object(call.input.clone()),
        };
        for skill in &call.skills {
            let result = self.run_hooks(skill, call, &event, context).await?;
            let (what, reason) = match result.decision {
                HookDecision::Block { reason } => ("blocked by a hook", reason),
                HookDecision::Ask { reason } => (
                    "a hook requires that the user approves this call, which is not possible here",
                    reason,
                ),
                _ => continue,
            };
            let (name, reason) = (skill.name(), self.reason_text(skill, &reason)?);
            let error = ToolErrorCode::DeniedByPolicy.error(format!(
                "{what} of skill `{name}`, so nothing ran: {reason}"
            ));
            let remedy = result
                .runs
                .iter()
                .any(is_denied)
                .then(|| self.approve_hooks(skill));
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
    pub(crate) async fn run_hooks_after(
        &self,
        call: &HookedCall,
        mut output: ToolOutput,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let event = AgentEvent::PostToolUse {
            tool: call.tool.to_owned(),
            input: Value::Object(call.input.clone()),
            output: output.structured.clone(),
        };
        for skill in &call.skills {
            let result = self.run_hooks(skill, call, &event, context).await?;
            let name = skill.name();
            for run in &result.runs {
                let Some(failure) = failure(run) else {
                    continue;
                };
                let command = self.reason_text(skill, &run.command)?;
                let failure = self.reason_text(skill, &failure)?;
                let line = format!("Hook: `{command}` of skill `{name}` did not run: {failure}");
                output.add_own_line(&line);
                if let Some(remedy) = is_denied(run).then(|| self.approve_hooks(skill)).flatten() {
                    output.add_own_line(&format!("Hint: {remedy}"));
                }
            }
            if let HookDecision::Block { reason } | HookDecision::Ask { reason } = result.decision {
                let reason = self.reason_text(skill, &reason)?;
                let message = format!(
                    "the tool ran, and a hook of skill `{name}` objects to its result: {reason}"
                );
                output.fail_with(&ToolErrorCode::Failed.error(message));
            }
        }
        Ok(output)
    }

    async fn run_hooks(
        &self,
        skill: &Entry,
        call: &HookedCall,
        event: &AgentEvent,
        context: &CallContext,
    ) -> Result<skills_runtime::HookReport, ToolError> {
        let visible_dirs = self.visible_dirs(Some(skill), &NamedSkills::default())?;
        let mut options = HookOptions {
            tool_aliases: call.aliases.clone(),
            // Never asked: a call that asks its user must not have run anything, and a question for
            // each call of a tool would be answered without reading it.
            execution: self.base_options(&context.clone().without_approver()),
        };
        visible_dirs.add_to(&mut options.execution);
        if let Some(workspace) = self.files.workspace() {
            options.execution.workspace = Workspace::Directory(workspace.path.clone());
        }
        let directory = skill.directory().to_string_lossy();
        match self.runtime.run_hooks(&directory, event, &options).await {
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

    fn approve_hooks(&self, skill: &Entry) -> Option<String> {
        self.remedies.describe(&Remedy::ApproveHooks {
            skill: skill.name().to_string(),
        })
    }

    /// Returns text of a hook on one line, without terminal sequences and host paths, truncated to the
    /// limit.
    fn reason_text(&self, skill: &Entry, text: &str) -> Result<String, ToolError> {
        let path_map: PathMap = self
            .visible_dirs(Some(skill), &NamedSkills::default())?
            .path_map();
        let text = path_map.replace_in(&strip_terminal_escapes(text));
        let lines = text.lines().map(str::trim);
        let text = lines.collect::<Vec<_>>().join(" ");
        Ok(match text.char_indices().nth(MAX_REASON_CHARS) {
            None => text,
            Some((end, _)) => format!("{}…", &text[..end]),
        })
    }
}

/// Returns true if a hook did not run because it is not approved.
fn is_denied(run: &HookRun) -> bool {
    matches!(run.status, Ok(ExecutionStatus::PermissionDenied { .. }))
}

/// Returns why a hook did not run, `None` if it did.
fn failure(run: &HookRun) -> Option<String> {
    match &run.status {
        Ok(ExecutionStatus::PermissionDenied { denial }) => Some(denial.to_string()),
        Ok(_) => None,
        Err(reason) => Some(reason.clone()),
    }
}
