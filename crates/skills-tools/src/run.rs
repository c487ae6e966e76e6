//! The tools that run programs: what they are given, and what is told of what they did.

mod command_line;
mod dependencies;
pub(crate) mod executor;
pub(crate) mod output;
pub(crate) mod run_skill_script;
pub(crate) mod script_tool;
pub(crate) mod session_dirs;
pub(crate) mod skills_bash;
pub(crate) mod skills_run;
mod visible_dirs;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skills_runtime::discovery::SkillFiles;
use skills_runtime::policy::HostPattern;
use skills_runtime::{Entry, ExecutionArtifacts, ExecutionOptions, InputProtocol, SkillRuntime};

use self::output::{ProgramOutput, reached_timeout_ms, run_error};

use crate::file_tools::FileTools;
use crate::overrides::{OverrideStore, ScriptId};
use crate::path_map::PathMap;
use crate::{CallContext, DefaultScriptState, ToolError, ToolErrorCode};

pub(crate) use session_dirs::SessionDirectories;

/// How much of each output stream is kept, in bytes.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;
/// The longest standard input that a model gives, in bytes.
const MAX_STDIN_BYTES: usize = 1 << 20;
/// The longest deadline, in seconds; the rules' ceiling may be lower.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;
/// The most hosts that one call asks for.
const MAX_HOSTS: usize = 16;

/// The tools that run programs.
pub(crate) struct ProgramTools {
    pub(crate) runtime: SkillRuntime,
    pub(crate) files: Arc<FileTools>,
    pub(crate) overrides: Arc<OverrideStore>,
    pub(crate) default_script_state: DefaultScriptState,
    pub(crate) sessions: SessionDirectories,
}

/// A skill that may run, and its files.
struct RunnableSkill {
    entry: Entry,
    files: SkillFiles,
}

/// What a program works for.
enum RunTarget<'a> {
    Skill(&'a Entry),
    /// A directory and no skill.
    Directory(&'a Path),
}

/// What came of a program.
struct CompletedRun {
    artifacts: ExecutionArtifacts,
    output: ProgramOutput,
    /// The seconds that a message about the deadline names.
    timeout_seconds: String,
}

/// One deadline over all that a call does.
struct Deadline {
    started: Instant,
    limit: Duration,
}

impl ProgramTools {
    /// Finds a skill by its name alone, which is one that may run, in the catalogue that the call
    /// began with.
    fn find_runnable(&self, name: &str) -> Result<RunnableSkill, ToolError> {
        let (entry, is_draft) = self.files.find_cached_skill(name)?;
        if is_draft {
            let error = ToolError::new(
                ToolErrorCode::ApprovalRequired,
                format!("skill '{name}' is a draft that nobody has adopted; nothing of it runs"),
            );
            return Err(error.with_hint("a person has to look at it and adopt it; ask them"));
        }
        RunnableSkill::try_new(entry)
    }

    /// Refuses a script that an administrator turned off.
    fn check_enabled(&self, entry: &Entry, script: &str) -> Result<(), ToolError> {
        // The reason names a file of the host.
        let failed = |_| {
            ToolError::new(
                ToolErrorCode::Internal,
                "what administrators changed cannot be read, so nothing runs",
            )
        };
        let change = self
            .overrides
            .snapshot()
            .map_err(failed)?
            .get(&ScriptId::for_script(
                &self.runtime.catalog(),
                entry,
                script,
            ));
        if change
            .enabled
            .unwrap_or(self.default_script_state == DefaultScriptState::Enabled)
        {
            return Ok(());
        }
        let message = match change.enabled {
            Some(_) => format!("an administrator turned the script '{script}' off"),
            None => format!("no administrator turned the script '{script}' on"),
        };
        Err(ToolError::new(ToolErrorCode::DeniedByPolicy, message))
    }

    /// Runs a program in what is left of the time, and tells what came of it with the paths that a
    /// model knows.
    ///
    /// # Errors
    /// When nothing ran.
    async fn execute(
        &self,
        target: RunTarget<'_>,
        mut options: ExecutionOptions,
        deadline: &Deadline,
        shown: &PathMap,
    ) -> Result<CompletedRun, ToolError> {
        let left_ms = deadline.remaining_ms();
        options.timeout_ms = Some(left_ms);
        let (ran, name) = match target {
            RunTarget::Skill(entry) => (
                self.runtime
                    .execute_skill(&entry.directory().to_string_lossy(), options)
                    .await,
                Some(entry.name().as_str()),
            ),
            RunTarget::Directory(directory) => {
                (self.runtime.execute_command(directory, options).await, None)
            }
        };
        let artifacts = ran.map_err(|error| run_error(&error, name, shown))?;
        let finished = ProgramOutput::from_artifacts(&artifacts, shown)?;
        let seconds = deadline.timeout_seconds(reached_timeout_ms(&artifacts), left_ms);
        Ok(CompletedRun {
            artifacts,
            output: finished,
            timeout_seconds: seconds,
        })
    }

    /// What all runs have in common.
    fn base_options(&self, context: &CallContext) -> ExecutionOptions {
        let mut options = ExecutionOptions::default();
        options.input_protocol = InputProtocol::ScriptRunner;
        options.captured_bytes = Some(MAX_OUTPUT_BYTES);
        options.approver.clone_from(&context.approver);
        options.session.clone_from(&context.session);
        options.cancellation.clone_from(&context.cancellation);
        options
    }
}

impl RunnableSkill {
    fn try_new(entry: Entry) -> Result<Self, ToolError> {
        let gone = |_| {
            ToolError::new(
                ToolErrorCode::SkillNotFound,
                format!("the files of skill '{}' cannot be opened", entry.name()),
            )
        };
        let files = entry.open().map_err(gone)?;
        Ok(Self { entry, files })
    }

    /// Refuses to run without what the skill says that its scripts need.
    fn check_dependencies(&self, script: Option<&str>) -> Result<(), ToolError> {
        match dependencies::find_declared(&self.files, script) {
            None => Ok(()),
            Some(needed) => {
                let message = format!(
                    "Failed to setup environment: {needed}, and packages are not installed here yet"
                );
                Err(ToolError::new(ToolErrorCode::SetupFailed, message)
                    .with_hint("a person can rewrite the script to use the standard library alone"))
            }
        }
    }
}

impl Deadline {
    fn from_secs(seconds: u64) -> Self {
        Self {
            started: Instant::now(),
            limit: Duration::from_secs(seconds),
        }
    }

    fn after(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
        }
    }

    /// What is left for the program, in milliseconds, at least one.
    fn remaining_ms(&self) -> u64 {
        let left = self.limit.saturating_sub(self.started.elapsed());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// The seconds that a message about the deadline names: those that were asked for, or fewer
    /// when the rules allow fewer.
    fn timeout_seconds(&self, reached_ms: Option<u64>, given_ms: u64) -> String {
        let limit = match reached_ms {
            Some(reached) if reached < given_ms => Duration::from_millis(reached),
            _ => self.limit,
        };
        limit.as_secs_f64().to_string()
    }
}

/// Reads hosts that a call asks for.
fn parse_hosts(names: &[String]) -> Result<Vec<HostPattern>, ToolError> {
    let read = |name: &String| {
        let wrong = |error: skills_runtime::policy::PolicyError| {
            ToolError::new(ToolErrorCode::InvalidArguments, format!("network: {error}"))
        };
        name.parse::<HostPattern>().map_err(wrong)
    };
    names.iter().map(read).collect()
}

fn stdin_bytes(text: Option<&String>) -> Option<Vec<u8>> {
    text.map(|text| text.clone().into_bytes())
}

/// The parts of schemas that the tools with commands share.
fn command_properties(timeout: u64) -> Value {
    json!({
        "command": {"type": "string", "minLength": 1, "maxLength": command_line::MAX_COMMAND_BYTES},
        "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECONDS, "default": timeout, "description": "Seconds."},
        "stdin": {"type": "string", "maxLength": MAX_STDIN_BYTES, "description": "Standard input; empty unless given."},
        "network": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_HOSTS,
                    "description": "Hosts to reach, such as `api.example.com`; somebody has to allow it."},
    })
}

/// The data of a result, as schemas say it.
fn result_properties() -> Value {
    json!({
        "exit_code": {"type": ["integer", "null"]},
        "signal": {"type": ["integer", "null"]},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "stdout_truncated": {"type": "boolean"},
        "stderr_truncated": {"type": "boolean"},
        "timed_out": {"type": "boolean"},
        "duration_ms": {"type": "integer"},
        "sandbox": {"type": "object", "properties": {
            "backend": {"type": ["string", "null"]},
            "layers": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "enforced": {"type": "boolean"}}}},
        }},
        "files_changed": {"type": "array", "items": {"type": "object", "properties": {
            "path": {"type": "string"}, "size": {"type": "integer"}, "created": {"type": "boolean"},
        }, "required": ["path"]}},
        "notes": {"type": "array", "items": {"type": "string"}},
    })
}
