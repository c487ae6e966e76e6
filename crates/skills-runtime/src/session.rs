//! The use of one skill by an agent, from its activation to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use skills_manifest::{ContextMode, ToolPattern};
use skills_policy::Approver;

use crate::error::{Repr, RuntimeError};
use crate::runtime::find_entry;
use crate::tool_access::evaluate;
use crate::{
    AgentEvent, ExecutionArtifacts, ExecutionOptions, HookDecision, HookReport, SkillRuntime,
    ToolAccess,
};

/// The most that is kept of all records together, in bytes; later ones are counted and not kept.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// The most records that are kept.
const MAX_EVENTS: usize = 10_000;

/// The use of one skill by an agent.
///
/// With `context: fork` the session is *forked*: what tools give back is gathered here, apart from
/// the conversation, and only a summary leaves.
pub struct SkillSession {
    runtime: SkillRuntime,
    skill: String,
    /// By its directory, which no other skill has, it is called.
    directory: String,
    agent: Option<String>,
    is_forked: bool,
    allowed_tools: Vec<ToolPattern>,
    disallowed_tools: Vec<ToolPattern>,
    approver: Option<Arc<dyn Approver>>,
    events: Vec<SessionEvent>,
    bytes: usize,
    dropped_events: usize,
    tool_calls: usize,
    last_output: Value,
    /// Whether a hook has kept it from ending.
    stop_was_blocked: bool,
    started: Instant,
}

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SessionEvent {
    /// A tool was used.
    ToolCall {
        /// The tool.
        tool: String,
        /// What it was given.
        input: Value,
        /// What it gave back.
        output: Value,
    },
    /// A program of the skill ran.
    Run {
        /// Its path in the skill.
        program: String,
        /// Whether it ended with exit code 0.
        is_success: bool,
        /// What it wrote.
        output: Value,
    },
}

/// What came of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The skill.
    pub skill: String,
    /// The kind of agent that it wanted.
    pub agent: Option<String>,
    /// Whether the session was forked.
    pub is_forked: bool,
    /// What it came to: what the agent said, else what the last program wrote.
    pub summary: Value,
    /// How many tools were used and programs were run.
    pub tool_calls: usize,
    /// What happened, for a session that was not forked.
    pub events: Vec<SessionEvent>,
    /// How many records were not kept: there were more than 10,000, or more than 16 MiB.
    pub dropped_events: usize,
    /// How long it took.
    #[serde(skip)]
    pub duration: Duration,
}

/// What comes of wanting to end a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// It ended.
    Finished(SessionSummary),
    /// A hook of the skill wants the agent to go on.
    Continue {
        /// Why.
        reason: String,
    },
}

impl SkillRuntime {
    /// Begins to use a skill. `approver` is asked about its programs and hooks, instead of whom the
    /// runtime asks.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill), and when the skill declares a restriction that cannot be
    /// read.
    pub fn start_session(
        &self,
        name: &str,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<SkillSession, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::FileAccess {
                path: entry.location(),
                source,
            })
        };
        let document = entry.open().map_err(failed)?.document().map_err(failed)?;
        let manifest = document.manifest();
        if !manifest.unparsed_restrictions().is_empty() {
            let fields = manifest.unparsed_restrictions().to_vec();
            return Err(Repr::InvalidRestriction {
                skill: entry.name().to_string(),
                path: entry.location(),
                fields,
            }
            .into());
        }
        let extensions = manifest.extensions();
        Ok(SkillSession {
            runtime: self.clone(),
            skill: entry.name().to_string(),
            directory: entry.directory().to_string_lossy().into_owned(),
            agent: extensions.agent.clone(),
            is_forked: extensions.context == Some(ContextMode::Fork),
            allowed_tools: manifest.allowed_tools().to_vec(),
            disallowed_tools: extensions.disallowed_tools.clone(),
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
}

impl SkillSession {
    /// Says whether the session is forked.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.is_forked
    }

    /// Returns the kind of agent that the skill wants.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns what happened so far.
    #[must_use]
    pub fn events(&self) -> &[SessionEvent] {
        &self.events
    }

    /// Says what the skill says of a tool with this argument: `Bash` with `git status`, `Read` with
    /// a path.
    ///
    /// See [`ToolAccess`]. Of a command of several parts every part is looked at. This tells what
    /// the skill declares; it is no wall.
    #[must_use]
    pub fn tool_access(&self, tool: &str, argument: &str) -> ToolAccess {
        evaluate(&self.allowed_tools, &self.disallowed_tools, tool, argument)
    }

    /// Runs the hooks that want to know of a tool before it is used. Unless the verdict is to go
    /// on, it must not be.
    ///
    /// # Errors
    /// As [`SkillRuntime::run_hooks`].
    pub async fn before_tool(&self, tool: &str, input: &Value) -> Result<HookReport, RuntimeError> {
        let event = AgentEvent::PreToolUse {
            tool: tool.to_owned(),
            input: input.clone(),
        };
        self.runtime
            .run_hooks(&self.directory, &event, self.approver.clone())
            .await
    }

    /// Records what a tool gave back, and runs the hooks that want to know.
    ///
    /// # Errors
    /// As [`SkillRuntime::run_hooks`].
    pub async fn after_tool(
        &mut self,
        tool: &str,
        input: &Value,
        output: &Value,
    ) -> Result<HookReport, RuntimeError> {
        let (tool, input, output) = (tool.to_owned(), input.clone(), output.clone());
        self.record(SessionEvent::ToolCall {
            tool: tool.clone(),
            input: input.clone(),
            output: output.clone(),
        });
        let event = AgentEvent::PostToolUse {
            tool,
            input,
            output,
        };
        self.runtime
            .run_hooks(&self.directory, &event, self.approver.clone())
            .await
    }

    /// Runs a program of the skill and records what it wrote.
    ///
    /// # Errors
    /// As [`SkillRuntime::execute_skill`].
    pub async fn execute(
        &mut self,
        mut options: ExecutionOptions,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        options.approver = options.approver.or_else(|| self.approver.clone());
        let artifacts = self.runtime.execute_skill(&self.directory, options).await?;
        let (program, is_success) = (
            artifacts.mode.program().to_owned(),
            artifacts.exit_status.is_success(),
        );
        self.last_output = artifacts.output.clone();
        self.record(SessionEvent::Run {
            program,
            is_success,
            output: artifacts.output.clone(),
        });
        Ok(artifacts)
    }

    /// Ends the session with what the agent has to say; null stands for what the last program
    /// wrote. A hook may want it to go on.
    ///
    /// # Errors
    /// As [`SkillRuntime::run_hooks`].
    pub async fn finish(&mut self, said: Value) -> Result<SessionEnd, RuntimeError> {
        let event = AgentEvent::Stop {
            reason: "done".to_owned(),
            stop_hook_active: self.stop_was_blocked,
        };
        let report = self
            .runtime
            .run_hooks(&self.directory, &event, self.approver.clone())
            .await?;
        if let HookDecision::Block { reason } = report.decision {
            self.stop_was_blocked = true;
            return Ok(SessionEnd::Continue { reason });
        }
        let summary = if said.is_null() {
            std::mem::take(&mut self.last_output)
        } else {
            said
        };
        let records = std::mem::take(&mut self.events);
        Ok(SessionEnd::Finished(SessionSummary {
            skill: self.skill.clone(),
            agent: self.agent.clone(),
            is_forked: self.is_forked,
            summary,
            tool_calls: self.tool_calls,
            events: if self.is_forked { Vec::new() } else { records },
            dropped_events: self.dropped_events,
            duration: self.started.elapsed(),
        }))
    }

    fn record(&mut self, record: SessionEvent) {
        self.tool_calls += 1;
        let bytes = serde_json::to_string(&record).map_or(MAX_EVENT_BYTES, |text| text.len());
        if self.events.len() >= MAX_EVENTS || self.bytes.saturating_add(bytes) > MAX_EVENT_BYTES {
            self.dropped_events += 1;
            return;
        }
        self.bytes += bytes;
        self.events.push(record);
    }
}
