//! The hooks of a skill, run as ordinary sandboxed jobs.

mod command;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use skills_manifest::{Hook, HookAction, HookEvent};
use skills_policy::Approver;
use skills_sandbox::Termination;

use crate::error::{Repr, RuntimeError};
use crate::runtime::find_entry;
use crate::{ExecutionArtifacts, ExecutionOptions, ExecutionStatus, SkillRuntime};

/// The longest command of a hook, in bytes: whoever approves it reads all of it.
const MAX_COMMAND_BYTES: usize = 300;

/// What happens to an agent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// It is about to use a tool.
    PreToolUse {
        /// The tool.
        tool: String,
        /// What it is given.
        input: Value,
    },
    /// It has used a tool.
    PostToolUse {
        /// The tool.
        tool: String,
        /// What it was given.
        input: Value,
        /// What it gave back.
        output: Value,
    },
    /// It is done.
    Stop {
        /// Why.
        reason: String,
        /// Whether a hook has kept it from ending before; hooks get it as `stop_hook_active`, so
        /// that they do not do so for ever.
        stop_hook_active: bool,
    },
}

/// What the hooks of a skill say to an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookReport {
    /// What comes of it.
    pub decision: HookDecision,
    /// The hooks that were for this event, in the order of the skill, up to the first that blocks.
    pub runs: Vec<HookRun>,
}

/// What comes of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HookDecision {
    /// No hook objects. This grants nothing: what the agent may do is decided elsewhere.
    Continue,
    /// A hook objects: the tool must not be used, what it gave back must not be taken for good, or
    /// the agent is not done.
    Block {
        /// Why, in the words of the hook, or what went wrong with it.
        reason: String,
    },
    /// A hook wants the user asked.
    Ask {
        /// Why, in the words of the hook.
        reason: String,
    },
}

/// What came of one hook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookRun {
    /// The command, as written.
    pub command: String,
    /// How it ended; or why it did not run.
    pub status: Result<ExecutionStatus, String>,
}

impl SkillRuntime {
    /// Runs the hooks of a skill for an event, one after another, until one blocks.
    ///
    /// A command has to be a script of the skill with plain words behind it; it never reaches a
    /// shell, and the directory it runs in is the skill's. It gets the event as JSON on its
    /// standard input, in the words of Claude Code (`hook_event_name`, `tool_name`, `tool_input`,
    /// `tool_response`). It blocks with exit code 2 and the reason on standard error, or with exit
    /// code 0 and JSON: `{"decision": "block", "reason": …}`,
    /// `{"continue": false, "stopReason": …}`, or `hookSpecificOutput.permissionDecision` of `deny`
    /// or `ask`.
    ///
    /// No hook runs that nobody approved for this content; rules cannot allow one. A hook before a
    /// tool that is not approved, cannot run, fails or times out blocks: it may be the one that
    /// would have.
    ///
    /// # Errors
    /// When the skill is not there or declares what cannot be read.
    pub async fn run_hooks(
        &self,
        name: &str,
        event: &AgentEvent,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<HookReport, RuntimeError> {
        let hooks = self.load_hooks(name)?;
        let mut report = HookReport {
            decision: HookDecision::Continue,
            runs: Vec::new(),
        };
        for hook in hooks
            .iter()
            .filter(|hook| hook.event == event.kind() && matches(hook, event))
        {
            let (run, verdict) = self.run_hook(name, hook, event, approver.clone()).await;
            report.runs.push(run);
            match verdict {
                HookDecision::Continue => {}
                // A later one may still block.
                HookDecision::Ask { .. } => report.decision = verdict,
                HookDecision::Block { .. } => {
                    report.decision = verdict;
                    break;
                }
            }
        }
        Ok(report)
    }

    fn load_hooks(&self, name: &str) -> Result<Vec<Hook>, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::FileAccess {
                path: entry.location(),
                source,
            })
        };
        let document = entry.open().map_err(failed)?.document().map_err(failed)?;
        let unread = document.manifest().unparsed_restrictions();
        if unread.is_empty() {
            return Ok(document.manifest().extensions().hooks.clone());
        }
        let (skill, path, fields) = (entry.name().to_string(), entry.location(), unread.to_vec());
        Err(Repr::InvalidRestriction {
            skill,
            path,
            fields,
        }
        .into())
    }

    async fn run_hook(
        &self,
        name: &str,
        hook: &Hook,
        event: &AgentEvent,
        approver: Option<Arc<dyn Approver>>,
    ) -> (HookRun, HookDecision) {
        let text = match &hook.action {
            HookAction::Command { command, .. } => command.clone(),
            HookAction::Other(kind) => format!("({kind})"),
            _ => "(unknown)".to_owned(),
        };
        let options = if text.len() > MAX_COMMAND_BYTES {
            Err("its command is longer than anybody reads")
        } else {
            command::hook_options(hook)
        };
        let options = match options {
            Ok(options) => ExecutionOptions {
                approver,
                input: event.to_json(),
                ..options
            },
            Err(reason) => {
                let text: String = text.chars().take(MAX_COMMAND_BYTES).collect();
                let error =
                    self.record_rejection(name, &format!("{} {text}", hook.event.as_str()), reason);
                return failed_run(
                    text,
                    error.map_or_else(|| reason.to_owned(), |error| error.to_string()),
                    event,
                );
            }
        };
        match self
            .execute(
                name,
                options,
                Some(&format!("{} {text}", hook.event.as_str())),
            )
            .await
        {
            Ok(artifacts) => {
                let verdict = read_decision(&artifacts, event);
                (
                    HookRun {
                        command: text,
                        status: Ok(artifacts.exit_status),
                    },
                    verdict,
                )
            }
            Err(error) => failed_run(text, error.to_string(), event),
        }
    }
}

fn failed_run(command: String, reason: String, event: &AgentEvent) -> (HookRun, HookDecision) {
    let verdict = event.on_failure(format!("the hook `{command}` did not run: {reason}"));
    (
        HookRun {
            command,
            status: Err(reason),
        },
        verdict,
    )
}

/// Reads what a hook that ran says.
fn read_decision(artifacts: &ExecutionArtifacts, event: &AgentEvent) -> HookDecision {
    match &artifacts.exit_status {
        // What was cut may have said anything.
        ExecutionStatus::Success if artifacts.stdout.is_truncated() => {
            event.on_failure("the hook wrote more than is kept".to_owned())
        }
        ExecutionStatus::Success => parse_decision(&artifacts.output),
        ExecutionStatus::Failed {
            termination: Termination::Exited { code: 2 },
        } => {
            let reason = artifacts.stderr.text();
            HookDecision::Block {
                reason: if reason.trim().is_empty() {
                    "the hook gave no reason".to_owned()
                } else {
                    reason.trim().to_owned()
                },
            }
        }
        ExecutionStatus::PermissionDenied { denial } => {
            event.on_failure(format!("the hook did not run: {denial}"))
        }
        ExecutionStatus::Timeout { limit_ms } => {
            event.on_failure(format!("the hook was stopped after {limit_ms} ms"))
        }
        ExecutionStatus::Failed {
            termination: ending,
        } => event.on_failure(format!("the hook failed: {ending}")),
    }
}

fn parse_decision(output: &Value) -> HookDecision {
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or("the hook gave no reason")
            .to_owned()
    };
    let specific = &output["hookSpecificOutput"];
    let said = [
        (
            &specific["permissionDecision"],
            &specific["permissionDecisionReason"],
        ),
        (&output["decision"], &output["reason"]),
    ];
    let by = |words: &[&str]| {
        said.iter()
            .find(|(decision, _)| decision.as_str().is_some_and(|said| words.contains(&said)))
    };
    // Whichever is strictest counts.
    if let Some((_, reason)) = by(&["block", "deny"]) {
        return HookDecision::Block {
            reason: text(reason),
        };
    }
    if output["continue"] == Value::Bool(false) {
        return HookDecision::Block {
            reason: text(&output["stopReason"]),
        };
    }
    by(&["ask"]).map_or(HookDecision::Continue, |(_, reason)| HookDecision::Ask {
        reason: text(reason),
    })
}

/// A pattern fits a whole name: as a regular expression (`Edit|Write`, `mcp__.*`) or with `*` for
/// anything (`mcp__*`). One that is neither fits every name, since nobody knows what it was to
/// guard.
fn matches(hook: &Hook, event: &AgentEvent) -> bool {
    let (Some(tool), Some(pattern)) = (event.tool(), hook.matcher.as_deref()) else {
        return true;
    };
    if pattern.is_empty()
        || pattern == "*"
        || pattern == tool
        || wildmatch::WildMatch::new(pattern).matches(tool)
    {
        return true;
    }
    regex_lite::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .build()
        .map_or(true, |expression| expression.is_match(tool))
}

impl AgentEvent {
    fn kind(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::Stop { .. } => HookEvent::Stop,
        }
    }

    fn tool(&self) -> Option<&str> {
        match self {
            Self::PreToolUse { tool, .. } | Self::PostToolUse { tool, .. } => Some(tool),
            Self::Stop { .. } => None,
        }
    }

    fn to_json(&self) -> Value {
        let name = self.kind().as_str();
        match self {
            Self::PreToolUse { tool, input } => {
                json!({"hook_event_name": name, "tool_name": tool, "tool_input": input})
            }
            Self::PostToolUse {
                tool,
                input,
                output,
            } => {
                json!({"hook_event_name": name, "tool_name": tool, "tool_input": input, "tool_response": output})
            }
            Self::Stop {
                reason,
                stop_hook_active: is_repeated,
            } => {
                json!({"hook_event_name": name, "reason": reason, "stop_hook_active": is_repeated})
            }
        }
    }

    /// What cannot guard a tool keeps it from being used; what comes too late anyway is told and no
    /// more.
    fn on_failure(&self, reason: String) -> HookDecision {
        match self {
            Self::PreToolUse { .. } => HookDecision::Block { reason },
            _ => HookDecision::Continue,
        }
    }
}
