//! The use of one skill by an agent, from its activation to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use skills_manifest::{Context, ToolRule};
use skills_policy::Approver;

use crate::error::{Repr, RuntimeError};
use crate::runtime::find;
use crate::tool_access::access;
use crate::{
    AgentEvent, ExecutionArtifacts, ExecutionOptions, HookReport, HookVerdict, SkillRuntime,
    ToolAccess,
};

/// The most that is kept of all records together, in bytes; later ones are counted and not kept.
const MAX_BYTES: usize = 16 << 20;
/// The most records that are kept.
const MAX_RECORDS: usize = 10_000;

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
    allowed: Vec<ToolRule>,
    disallowed: Vec<ToolRule>,
    approver: Option<Arc<dyn Approver>>,
    records: Vec<Record>,
    bytes: usize,
    dropped: usize,
    tool_calls: usize,
    last_output: Value,
    /// Whether a hook has kept it from ending.
    has_been_kept: bool,
    started: Instant,
}

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Record {
    /// A tool was used.
    Tool {
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
    pub records: Vec<Record>,
    /// How many records were not kept: there were more than 10,000, or more than 16 MiB.
    pub dropped_records: usize,
    /// How long it took.
    #[serde(skip)]
    pub duration: Duration,
}

/// What comes of wanting to end a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// It ended.
    Done(SessionSummary),
    /// A hook of the skill wants the agent to go on.
    GoOn {
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
        let entry = find(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::Files {
                path: entry.location(),
                source,
            })
        };
        let document = entry.open().map_err(failed)?.document().map_err(failed)?;
        let manifest = document.manifest();
        if !manifest.unread_restrictions().is_empty() {
            let fields = manifest.unread_restrictions().to_vec();
            return Err(Repr::Restricted {
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
            is_forked: extensions.context == Some(Context::Fork),
            allowed: manifest.allowed_tools().to_vec(),
            disallowed: extensions.disallowed_tools.clone(),
            approver,
            records: Vec::new(),
            bytes: 0,
            dropped: 0,
            tool_calls: 0,
            last_output: Value::Null,
            has_been_kept: false,
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
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Says what the skill says of a tool with this argument: `Bash` with `git status`, `Read` with
    /// a path.
    ///
    /// See [`ToolAccess`]. Of a command of several parts every part is looked at. This tells what
    /// the skill declares; it is no wall.
    #[must_use]
    pub fn tool_access(&self, tool: &str, argument: &str) -> ToolAccess {
        access(&self.allowed, &self.disallowed, tool, argument)
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
        self.record(Record::Tool {
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
        options.approval = options.approval.or_else(|| self.approver.clone());
        let artifacts = self.runtime.execute_skill(&self.directory, options).await?;
        let (program, is_success) = (
            artifacts.mode.program().to_owned(),
            artifacts.exit_status.is_success(),
        );
        self.last_output = artifacts.output.clone();
        self.record(Record::Run {
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
            is_repeated: self.has_been_kept,
        };
        let report = self
            .runtime
            .run_hooks(&self.directory, &event, self.approver.clone())
            .await?;
        if let HookVerdict::Blocked { reason } = report.verdict {
            self.has_been_kept = true;
            return Ok(SessionEnd::GoOn { reason });
        }
        let summary = if said.is_null() {
            std::mem::take(&mut self.last_output)
        } else {
            said
        };
        let records = std::mem::take(&mut self.records);
        Ok(SessionEnd::Done(SessionSummary {
            skill: self.skill.clone(),
            agent: self.agent.clone(),
            is_forked: self.is_forked,
            summary,
            tool_calls: self.tool_calls,
            records: if self.is_forked { Vec::new() } else { records },
            dropped_records: self.dropped,
            duration: self.started.elapsed(),
        }))
    }

    fn record(&mut self, record: Record) {
        self.tool_calls += 1;
        let bytes = serde_json::to_string(&record).map_or(MAX_BYTES, |text| text.len());
        if self.records.len() >= MAX_RECORDS || self.bytes.saturating_add(bytes) > MAX_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += bytes;
        self.records.push(record);
    }
}
