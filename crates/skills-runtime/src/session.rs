//! Sessions: the use of one skill by an agent, from activation to end.

mod hooks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use skills_ledger::{ActivatedBy, Activity};
use skills_library::OpenedSkill;
use skills_manifest::ContextMode;
use skills_policy::Approver;

use crate::{CallContext, ExecutionArtifacts, ExecutionOptions, Executor, RuntimeError};

pub use hooks::{
    AgentEvent, DeclaredHooks, HookDecision, HookOptions, HookPreview, HookReport, HookRun,
};
pub(crate) use hooks::{approve_hook, preview_hooks, run_hooks};

/// Maximum size of all events of a session, in bytes of JSON; later events are only counted.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// Maximum number of events of a session.
const MAX_EVENTS: usize = 10_000;

/// One use of a skill by an agent: its tool calls, hooks and runs.
///
/// Call [`before_tool`](Self::before_tool) and [`after_tool`](Self::after_tool) around each tool
/// call, and [`finish`](Self::finish) at the end. With `context: fork` the session is *forked*:
/// tool output is collected here instead of in the conversation, and only a summary is returned.
///
/// ```
/// use serde_json::json;
/// use skills_runtime::{HookDecision, Root, Scope, SessionEnd, SkillRuntime};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
/// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
/// # std::fs::write(directory.path().join("greet/scripts/greet.sh"), "cat")?;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
/// let mut session = runtime.start_session("greet", None)?;
/// let input = json!({"command": "git status"});
/// let report = session.before_tool("Bash", &input).await?;
/// assert_eq!(report.decision, HookDecision::Continue);
/// session.after_tool("Bash", &input, &json!("clean")).await?;
/// let SessionEnd::Finished(summary) = session.finish(json!("Nothing to commit.")).await? else {
///     panic!("no hook blocks the end");
/// };
/// assert_eq!((summary.tool_calls, summary.summary), (1, json!("Nothing to commit.")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SkillSession {
    executor: Executor,
    skill: String,
    /// Directory of the skill, which identifies it uniquely.
    directory: String,
    agent: Option<String>,
    is_forked: bool,
    approver: Option<Arc<dyn Approver>>,
    events: Vec<SessionEvent>,
    bytes: usize,
    dropped_events: usize,
    tool_calls: usize,
    last_output: Value,
    /// Whether a hook has blocked the end of the session.
    stop_was_blocked: bool,
    started: Instant,
}

/// Event of a session: a call of a tool of the agent, or a run of a program of the skill.
///
/// Serialized with a `kind` in kebab case. Values of secrets are redacted in the output of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SessionEvent {
    /// A tool call.
    ToolCall {
        /// The name of the tool.
        tool: String,
        /// The arguments of the tool.
        input: Value,
        /// The output of the tool.
        output: Value,
    },
    /// A run of a program of the skill.
    Run {
        /// Path of the program in the skill.
        program: String,
        /// Whether it exited with code 0.
        is_success: bool,
        /// Its output.
        output: Value,
    },
}

/// Result of a session.
///
/// For a forked session only this summary enters the conversation; its events are dropped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The name of the skill.
    pub skill: String,
    /// The type of agent that the skill requests.
    pub agent: Option<String>,
    /// Whether the session was forked.
    pub is_forked: bool,
    /// The final message of the agent, else the output of the last program.
    pub summary: Value,
    /// Number of tool calls and runs.
    pub tool_calls: usize,
    /// The events; empty for a forked session.
    pub events: Vec<SessionEvent>,
    /// Number of events beyond the limits of 10,000 events and 16 MiB.
    pub dropped_events: usize,
    /// Wall time of the session.
    #[serde(skip)]
    pub duration: Duration,
}

/// Result of an attempt to end a session.
///
/// Returned by [`SkillSession::finish`]. A stop hook of the skill can require the agent to
/// continue; call `finish` again when the agent is done.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The session ended.
    Finished(SessionSummary),
    /// A hook of the skill requires the agent to continue.
    Continue {
        /// The reason given by the hook.
        reason: String,
    },
}

impl SkillSession {
    pub(crate) fn start(
        executor: &Executor,
        name: &str,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<Self, RuntimeError> {
        let catalog = executor.library().catalog();
        let skill = OpenedSkill::find_runnable(&catalog, name)?;
        let (entry, manifest) = (skill.entry, skill.manifest());
        let activated = Activity::Activated(ActivatedBy::Model);
        executor.library().usage().record([entry], activated, None);
        let extensions = manifest.extensions();
        Ok(Self {
            executor: executor.clone(),
            skill: entry.name().to_string(),
            directory: entry.directory().to_string_lossy().into_owned(),
            agent: extensions.agent.clone(),
            is_forked: extensions.context == Some(ContextMode::Fork),
            approver,
            events: Vec::new(),
            bytes: 0,
            dropped_events: 0,
            tool_calls: 0,
            last_output: Value::Null,
            stop_was_blocked: false,
            started: Instant::now(),
        })
    }

    /// Returns true if the session is forked.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.is_forked
    }

    /// Returns the type of agent that the skill requests.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns the events so far.
    #[must_use]
    pub fn events(&self) -> &[SessionEvent] {
        &self.events
    }

    /// Runs the hooks before a tool call. The tool must not be used unless the decision is
    /// [`Continue`](HookDecision::Continue).
    ///
    /// # Errors
    /// Same as [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks).
    pub async fn before_tool(&self, tool: &str, input: &Value) -> Result<HookReport, RuntimeError> {
        let event = AgentEvent::PreToolUse {
            tool: tool.to_owned(),
            input: input.clone(),
        };
        self.run_hooks(&event).await
    }

    /// Records the output of a tool and runs the hooks after a tool call.
    ///
    /// # Errors
    /// Same as [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks).
    pub async fn after_tool(
        &mut self,
        tool: &str,
        input: &Value,
        output: &Value,
    ) -> Result<HookReport, RuntimeError> {
        // Before the hooks: the tool has run, whatever they decide.
        self.record(SessionEvent::ToolCall {
            tool: tool.to_owned(),
            input: input.clone(),
            output: output.clone(),
        });
        let event = AgentEvent::PostToolUse {
            tool: tool.to_owned(),
            input: input.clone(),
            output: output.clone(),
        };
        self.run_hooks(&event).await
    }

    /// Runs a program of the skill and records its output.
    ///
    /// # Errors
    /// Same as [`SkillRuntime::execute_skill`](crate::SkillRuntime::execute_skill).
    pub async fn execute(
        &mut self,
        mut options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        options.context = options.context.default_approver(self.approver.clone());
        let artifacts = self.executor.execute(&self.directory, options).await?;
        self.last_output = artifacts.output.clone();
        self.record(SessionEvent::Run {
            program: artifacts.mode.program().to_owned(),
            is_success: artifacts.exit_status.is_success(),
            output: artifacts.output.clone(),
        });
        Ok(artifacts)
    }

    /// Ends the session with the final message of the agent; null means the output of the last
    /// program. A hook can require the agent to continue.
    ///
    /// # Errors
    /// Same as [`SkillRuntime::run_hooks`](crate::SkillRuntime::run_hooks).
    pub async fn finish(&mut self, message: Value) -> Result<SessionEnd, RuntimeError> {
        let event = AgentEvent::Stop {
            reason: "done".to_owned(),
            stop_hook_active: self.stop_was_blocked,
        };
        let report = self.run_hooks(&event).await?;
        if let HookDecision::Block { reason } = report.decision {
            // The next stop tells the hooks, so that they can avoid an endless loop.
            self.stop_was_blocked = true;
            return Ok(SessionEnd::Continue { reason });
        }
        let summary = if message.is_null() {
            std::mem::take(&mut self.last_output)
        } else {
            message
        };
        let events = std::mem::take(&mut self.events);
        Ok(SessionEnd::Finished(SessionSummary {
            skill: self.skill.clone(),
            agent: self.agent.clone(),
            is_forked: self.is_forked,
            summary,
            tool_calls: self.tool_calls,
            // A fork keeps its events out of the conversation.
            events: if self.is_forked { Vec::new() } else { events },
            dropped_events: self.dropped_events,
            duration: self.started.elapsed(),
        }))
    }

    async fn run_hooks(&self, event: &AgentEvent) -> Result<HookReport, RuntimeError> {
        // By directory, which stays unambiguous if a skill of the same name is added.
        let mut options = HookOptions::default();
        options.execution.context = CallContext::default().default_approver(self.approver.clone());
        run_hooks(&self.executor, &self.directory, event, &options).await
    }

    fn record(&mut self, event: SessionEvent) {
        self.tool_calls += 1;
        // A model controls the size and the number of events, so both are bounded.
        // An event that cannot be measured counts as too large.
        let bytes = serde_json::to_string(&event).map_or(MAX_EVENT_BYTES, |text| text.len());
        if self.events.len() >= MAX_EVENTS || self.bytes.saturating_add(bytes) > MAX_EVENT_BYTES {
            self.dropped_events += 1;
            return;
        }
        self.bytes += bytes;
        self.events.push(event);
    }
}
