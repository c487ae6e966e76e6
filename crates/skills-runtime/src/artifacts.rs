//! What comes back from a run.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use skills_policy::{Denial, PermissionDecision};
use skills_sandbox::{CapturedOutput, EnforcementReport, RunOutput, Termination};

use crate::secrets::Redactor;
use crate::{ExecutionMode, OutputFiles};

/// What came back from a run.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct ExecutionArtifacts {
    /// The skill's name.
    pub skill: String,
    /// What was run.
    pub mode: ExecutionMode,
    /// Standard output as JSON when all of it is JSON, else as text; null when there is none.
    pub output: Value,
    /// Standard output, up to the limit.
    pub stdout: CapturedOutput,
    /// Standard error, up to the limit.
    pub stderr: CapturedOutput,
    /// The entries of `allowed-tools` whose capabilities the program was given: reading its own
    /// skill counts, writing only with a workspace.
    pub permissions_used: Vec<String>,
    /// How it ended.
    pub exit_status: ExecutionStatus,
    /// From the start of the program to its end; zero when it was denied.
    pub duration: Duration,
    /// Which walls stood; nothing when it was denied.
    pub enforcement: Option<EnforcementReport>,
    /// What became of each thing that was asked for, and by which rule.
    pub decisions: Vec<PermissionDecision>,
    /// What it made or changed in a workspace that it might write.
    pub output_files: OutputFiles,
    /// What else should be known: variables whose values are too short to be looked for in the
    /// output, an input that did not fit into `SKILL_INPUT`, requirements that are not met.
    pub notes: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExecutionStatus {
    /// With exit code 0.
    Success,
    /// In any other way by itself, or at one of its limits other than time.
    Failed {
        /// How.
        termination: Termination,
    },
    /// At its deadline.
    Timeout {
        /// The deadline, in milliseconds.
        limit_ms: u64,
    },
    /// It was not started, because the policy denies what it asks for.
    PermissionDenied {
        /// What, and by which rule.
        denial: Denial,
    },
}

impl ExecutionStatus {
    /// Says whether the program ran and ended with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Success
    }
}

impl ExecutionArtifacts {
    pub(crate) fn denied(skill: String, mode: ExecutionMode, denial: Denial) -> Self {
        Self {
            skill,
            mode,
            output: Value::Null,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            permissions_used: Vec::new(),
            duration: Duration::ZERO,
            enforcement: None,
            decisions: denial.decisions().to_vec(),
            exit_status: ExecutionStatus::PermissionDenied { denial },
            output_files: OutputFiles::default(),
            notes: Vec::new(),
        }
    }

    /// Takes the values of secrets out of what the program wrote, as bytes and once more as JSON,
    /// which may spell them otherwise.
    pub(crate) fn new(
        skill: String,
        mode: ExecutionMode,
        outcome: RunOutput,
        redactor: &Redactor,
    ) -> Self {
        let exit_status = match outcome.termination {
            ending if ending.is_success() => ExecutionStatus::Success,
            Termination::TimedOut { limit_ms } => ExecutionStatus::Timeout { limit_ms },
            Termination::Trapped { reason, frames } => {
                let frames = frames
                    .iter()
                    .map(|frame| redactor.redact_text(frame))
                    .collect();
                ExecutionStatus::Failed {
                    termination: Termination::Trapped {
                        reason: redactor.redact_text(&reason),
                        frames,
                    },
                }
            }
            Termination::HostPanic { message } => ExecutionStatus::Failed {
                termination: Termination::HostPanic {
                    message: redactor.redact_text(&message),
                },
            },
            ending => ExecutionStatus::Failed {
                termination: ending,
            },
        };
        let (stdout, stderr) = (
            redactor.redact_captured(outcome.stdout),
            redactor.redact_captured(outcome.stderr),
        );
        Self {
            skill,
            mode,
            output: redactor.redact_value(parse_output(&stdout)),
            stdout,
            stderr,
            permissions_used: Vec::new(),
            exit_status,
            duration: outcome.duration,
            enforcement: Some(outcome.enforcement),
            decisions: Vec::new(),
            output_files: OutputFiles::default(),
            notes: outcome
                .notes
                .iter()
                .map(|note| redactor.redact_text(note))
                .collect(),
        }
    }
}

fn parse_output(stdout: &CapturedOutput) -> Value {
    if stdout.head().is_empty() {
        return Value::Null;
    }
    // Programs of Windows begin with a byte order mark.
    let bytes = stdout.head();
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let json = if stdout.is_truncated() {
        None
    } else {
        serde_json::from_slice(bytes).ok()
    };
    json.unwrap_or_else(|| Value::String(stdout.text()))
}
