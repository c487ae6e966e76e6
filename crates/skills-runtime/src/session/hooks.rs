//! Runs the hooks of a skill as sandboxed jobs.

mod approval;
mod command;

use serde::Serialize;
use serde_json::{Value, json};
use skills_library::OpenedSkill;
use skills_manifest::{Hook, HookAction, HookEvent};
use skills_sandbox::Termination;

use crate::{
    ExecutionArtifacts, ExecutionOptions, ExecutionStatus, Executor, PlannedRun, RuntimeError,
};

pub use approval::HookPreview;
pub(crate) use approval::{approve_hook, preview_hooks};

/// Maximum length of a hook command in bytes, so that an approver can read all of it.
const MAX_COMMAND_BYTES: usize = 300;

/// Event of an agent, for the hooks of a skill.
///
/// Hooks receive it as JSON with the field names of Claude Code, on standard input. Pass it to
/// [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks), or use a
/// [`SkillSession`](crate::SkillSession), which creates the events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent is about to use a tool.
    PreToolUse {
        /// The name of the tool.
        tool: String,
        /// The arguments of the tool.
        input: Value,
    },
    /// The agent has used a tool.
    PostToolUse {
        /// The name of the tool.
        tool: String,
        /// The arguments of the tool.
        input: Value,
        /// The output of the tool.
        output: Value,
    },
    /// The agent wants to stop.
    Stop {
        /// Why it stops.
        reason: String,
        /// Whether a hook has already blocked a stop. Hooks receive it as `stop_hook_active`, to
        /// avoid an endless loop.
        stop_hook_active: bool,
    },
}

/// How the hooks of an event run.
///
/// By default, tools have no other names, and a hook sees nothing but its skill. Set fields and
/// take the others from the default; versions can add fields.
#[derive(Debug, Clone, Default)]
pub struct HookOptions {
    /// Other names of the tool, which the matcher of a hook can use as well. Hooks receive the name
    /// of the event only.
    pub tool_aliases: Vec<String>,
    /// Caller, workspace, paths and limits of the runs. Program, arguments, input and timeout are
    /// those of the hook.
    pub execution: ExecutionOptions,
}

/// Result of running the hooks of a skill for an event.
///
/// The decision is the strictest of all hooks that ran: block, then ask, then continue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookReport {
    /// The combined decision.
    pub decision: HookDecision,
    /// The hooks that matched the event, in declaration order, up to the first that blocks.
    pub runs: Vec<HookRun>,
}

/// Decision of a hook about an event.
///
/// Ordered from lenient to strict: [`Continue`](Self::Continue), [`Ask`](Self::Ask),
/// [`Block`](Self::Block). Serialized with a `kind` in kebab case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HookDecision {
    /// No hook objects. This does not grant anything; the permissions of the agent are decided
    /// elsewhere.
    Continue,
    /// A hook objects: the tool must not be used, its output must not be accepted, or the agent
    /// must continue.
    Block {
        /// The reason given by the hook, or its error.
        reason: String,
    },
    /// A hook requires approval by the user.
    Ask {
        /// The reason given by the hook.
        reason: String,
    },
}

/// Result of one hook.
///
/// A status says how its program ended; the decision that was read from its output is part of the
/// combined decision in the [`HookReport`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookRun {
    /// The command, as written.
    pub command: String,
    /// How the hook ended, or why it did not run.
    pub status: Result<ExecutionStatus, String>,
}

/// The hooks that a skill declares, as one reading of its `SKILL.md` found them: for callers that run
/// hooks before and after something. The `SKILL.md` is not read again, so all events have the same hooks.
///
/// Each hook runs with the current content of the skill, and only if it was approved for that content.
#[derive(Clone)]
pub struct DeclaredHooks {
    executor: Executor,
    skill: String,
    /// Directory of the skill, which identifies it uniquely.
    directory: String,
    hooks: Vec<Hook>,
}

impl DeclaredHooks {
    /// Returns the hooks around a planned run. They run with its interpreters.
    #[must_use]
    pub fn of_run(planned: &PlannedRun) -> Self {
        Self {
            executor: planned.executor(),
            skill: planned.skill().to_owned(),
            directory: planned.directory().to_string_lossy().into_owned(),
            hooks: planned.hooks().to_vec(),
        }
    }

    /// Reads the hooks of a skill, which is named by its name or its directory, if it can run.
    fn read(executor: &Executor, name: &str) -> Result<Self, RuntimeError> {
        let catalog = executor.library().catalog();
        let skill = OpenedSkill::find_runnable(&catalog, name)?;
        Ok(Self {
            executor: executor.clone(),
            skill: skill.entry.name().to_string(),
            directory: skill.entry.directory().to_string_lossy().into_owned(),
            hooks: skill.manifest().extensions().hooks.clone(),
        })
    }

    /// Runs the hooks for an event, one after another, until one blocks; see
    /// [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks).
    pub async fn run(&self, event: &AgentEvent, options: &HookOptions) -> HookReport {
        let mut report = HookReport {
            decision: HookDecision::Continue,
            runs: Vec::new(),
        };
        let hooks = self.hooks.iter().filter(|hook| {
            hook.event == event.kind() && matches(hook, event, &options.tool_aliases)
        });
        for hook in hooks {
            let (run, decision) = self.run_hook(hook, event, &options.execution).await;
            report.runs.push(run);
            match decision {
                HookDecision::Continue => {}
                // A later hook can still block.
                HookDecision::Ask { .. } => report.decision = decision,
                HookDecision::Block { .. } => {
                    report.decision = decision;
                    break;
                }
            }
        }
        report
    }

    async fn run_hook(
        &self,
        hook: &Hook,
        event: &AgentEvent,
        execution: &ExecutionOptions,
    ) -> (HookRun, HookDecision) {
        let executor = &self.executor;
        let text = command_text(hook);
        let mut options = match hook_options(hook, execution) {
            Ok(options) => options,
            // Every attempt is recorded, also one that never reaches the policy.
            Err(reason) => {
                let text: String = text.chars().take(MAX_COMMAND_BYTES).collect();
                let error = executor.record_rejected_hook(&self.skill, &title(hook, &text), reason);
                let reason = error.map_or_else(|| reason.to_owned(), |error| error.to_string());
                return failed_run(text, reason, event);
            }
        };
        options.input = event.to_json();
        // The input of the caller is that of the program, not of its hooks.
        options.input_stream = None;
        let title = title(hook, &text);
        let run = executor.execute_hook(&self.directory, options, &title);
        match run.await {
            Ok(artifacts) => {
                let decision = read_decision(&artifacts, event);
                let run = HookRun {
                    command: text,
                    status: Ok(artifacts.exit_status),
                };
                (run, decision)
            }
            Err(error) => failed_run(text, error.to_string(), event),
        }
    }
}

/// Runs the hooks of a skill for an event; see
/// [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks).
pub(crate) async fn run_hooks(
    executor: &Executor,
    name: &str,
    event: &AgentEvent,
    options: &HookOptions,
) -> Result<HookReport, RuntimeError> {
    let hooks = DeclaredHooks::read(executor, name)?;
    Ok(hooks.run(event, options).await)
}

/// Returns the command of a hook, as written.
fn command_text(hook: &Hook) -> String {
    match &hook.action {
        HookAction::Command { command, .. } => command.clone(),
        HookAction::Other(kind) => format!("({kind})"),
        _ => "(unknown)".to_owned(),
    }
}

/// Returns the text that identifies a hook in approvals: its event and its command.
fn title(hook: &Hook, command: &str) -> String {
    format!("{} {command}", hook.event.as_str())
}

/// Returns the options to run a hook, without its input.
///
/// # Errors
/// Fails if the hook cannot run, with the reason.
fn hook_options(
    hook: &Hook,
    execution: &ExecutionOptions,
) -> Result<ExecutionOptions, &'static str> {
    // An approver must be able to read all of it, so a longer command is not even prompted for.
    if command_text(hook).len() > MAX_COMMAND_BYTES {
        return Err("cannot request approval: the command is too long to show");
    }
    command::hook_options(hook, execution)
}

fn failed_run(command: String, reason: String, event: &AgentEvent) -> (HookRun, HookDecision) {
    let decision = event.on_failure(format!("cannot run the hook `{command}`: {reason}"));
    (
        HookRun {
            command,
            status: Err(reason),
        },
        decision,
    )
}

/// Returns the decision of a hook that ran.
fn read_decision(artifacts: &ExecutionArtifacts, event: &AgentEvent) -> HookDecision {
    match &artifacts.exit_status {
        // The omitted part could contain a decision to block.
        ExecutionStatus::Success if artifacts.stdout.is_truncated() => {
            event.on_failure("the output of the hook was truncated".to_owned())
        }
        ExecutionStatus::Success => parse_decision(&artifacts.output),
        ExecutionStatus::Failed {
            termination: Termination::Exited { code: 2 },
        } => {
            let reason = artifacts.stderr.text();
            HookDecision::Block {
                reason: if reason.trim().is_empty() {
                    "the hook returned no reason".to_owned()
                } else {
                    reason.trim().to_owned()
                },
            }
        }
        ExecutionStatus::PermissionDenied { denial } => {
            event.on_failure(format!("cannot run the hook: {denial}"))
        }
        ExecutionStatus::Timeout { limit_ms } => {
            event.on_failure(format!("the hook timed out after {limit_ms} ms"))
        }
        ExecutionStatus::Failed { termination } => {
            event.on_failure(format!("the hook failed: {termination}"))
        }
        _ => event.on_failure("the hook failed".to_owned()),
    }
}

fn parse_decision(output: &Value) -> HookDecision {
    let specific = &output["hookSpecificOutput"];
    let decisions = [
        (
            &specific["permissionDecision"],
            &specific["permissionDecisionReason"],
        ),
        (&output["decision"], &output["reason"]),
    ];
    let find = |names: &[&str]| {
        decisions
            .iter()
            .find(|(decision, _)| decision.as_str().is_some_and(|name| names.contains(&name)))
    };
    // The strictest decision applies.
    if let Some((_, reason)) = find(&["block", "deny"]) {
        return HookDecision::Block {
            reason: reason_text(reason),
        };
    }
    if output["continue"] == Value::Bool(false) {
        return HookDecision::Block {
            reason: reason_text(&output["stopReason"]),
        };
    }
    find(&["ask"]).map_or(HookDecision::Continue, |(_, reason)| HookDecision::Ask {
        reason: reason_text(reason),
    })
}

fn reason_text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or("the hook returned no reason")
        .to_owned()
}

/// Returns true if a hook applies to an event. A pattern matches the whole tool name, as a regular
/// expression (`Edit|Write`, `mcp__.*`) or as a glob (`mcp__*`). An invalid pattern matches every
/// name, because it is unknown which tool it was meant to guard.
fn matches(hook: &Hook, event: &AgentEvent, aliases: &[String]) -> bool {
    // Without a matcher a hook guards every tool. `Stop` has no tool to match.
    let (Some(tool), Some(pattern)) = (event.tool(), hook.matcher.as_deref()) else {
        return true;
    };
    matches_name(pattern, tool) || aliases.iter().any(|alias| matches_name(pattern, alias))
}

fn matches_name(pattern: &str, tool: &str) -> bool {
    // Names and globs are tried first: as a regular expression `mcp__*` would match no name of a
    // tool.
    if pattern.is_empty()
        || pattern == "*"
        || pattern == tool
        || wildmatch::WildMatch::new(pattern).matches(tool)
    {
        return true;
    }
    // Anchored: `Edit` must not match `NotebookEdit`, for which the hook was not written.
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
                stop_hook_active,
            } => {
                json!({"hook_event_name": name, "reason": reason, "stop_hook_active": stop_hook_active})
            }
        }
    }

    /// Returns the decision for a failed hook. Before a tool use it blocks the tool; for other
    /// events, which have already happened, it is only reported.
    fn on_failure(&self, reason: String) -> HookDecision {
        match self {
            Self::PreToolUse { .. } => HookDecision::Block { reason },
            _ => HookDecision::Continue,
        }
    }
}
