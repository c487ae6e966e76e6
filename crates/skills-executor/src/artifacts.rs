//! Results of a run.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use skills_policy::{Denial, PermissionDecision};
use skills_sandbox::{CapturedOutput, EnforcementReport, RunOutput, Termination};

use crate::redaction::Redactor;
use crate::{ExecutionMode, OutputFiles, RunExplanation};

/// Start of the notes about missing requirements.
pub(crate) const MISSING_REQUIREMENT: &str = "missing requirement: ";

/// Result of a run that was started or denied.
///
/// Contains the captured output, the termination, the decisions of the policy, the enforcement
/// report and the output files. Values of secrets are redacted in all texts. A program that failed
/// or was denied is also a result, not an error; check [`exit_status`](Self::exit_status).
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct ExecutionArtifacts {
    /// The skill's name.
    pub skill: String,
    /// The program that ran.
    pub mode: ExecutionMode,
    /// Standard output, parsed if it is one JSON document, else as text; null if empty.
    pub output: Value,
    /// Standard output, truncated to the limit.
    pub stdout: CapturedOutput,
    /// Standard error, truncated to the limit.
    pub stderr: CapturedOutput,
    /// The entries of `allowed-tools` whose capabilities were granted. Reading is granted for the
    /// skill's own directory, writing only with a workspace.
    pub permissions_used: Vec<String>,
    /// How the run ended.
    pub exit_status: ExecutionStatus,
    /// Wall time of the program; zero if it was denied.
    pub duration: Duration,
    /// The restrictions in effect; `None` if the run was denied.
    pub enforcement: Option<EnforcementReport>,
    /// The decision for each requested permission, with its rule.
    pub decisions: Vec<PermissionDecision>,
    /// Files that the program created or changed in a writable workspace.
    pub output_files: OutputFiles,
    /// Notes for the caller, one line each: variables too short to redact, an input too long for
    /// `SKILL_INPUT`, missing requirements, `--allow` rules without effect, and protected paths
    /// that the run changed.
    pub notes: Vec<String>,
    /// The [readable skills](crate::ExecutionOptions::readable_skills) that the program could not
    /// read.
    pub unreadable_skills: Vec<UnreadableSkill>,
    /// Directories of which the program got a private copy, each with the copy first. Without a file
    /// system view of its own, a program knows the path of the copy, and can print it.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// What is known that explains the result: refused operations, the cause of a failure, and what
    /// would change it.
    pub explanation: RunExplanation,
}

/// A skill whose files a program could not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableSkill {
    /// The directory of the skill, as in the options of the run.
    pub directory: PathBuf,
    /// Why not, as a clause.
    pub reason: String,
}

/// How a run ended.
///
/// Timeouts and denials have their own variants, since callers usually handle them differently from
/// a failed program. Serialized with a `kind` in kebab case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExecutionStatus {
    /// The program exited with code 0.
    Success,
    /// The program failed: another exit code, a signal, a trap, or a limit other than time.
    Failed {
        /// How the program ended.
        termination: Termination,
    },
    /// The program exceeded its deadline and was killed.
    Timeout {
        /// The deadline, in milliseconds.
        limit_ms: u64,
    },
    /// The program was not started, because policy denied its request.
    PermissionDenied {
        /// The denied permissions, with their rules.
        denial: Denial,
    },
}

impl ExecutionStatus {
    /// Returns true if the program ran and exited with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Success
    }
}

impl ExecutionArtifacts {
    /// Returns the requirements that the run missed, such as a variable, which are also in its notes.
    pub fn missing_requirements(&self) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter();
        notes.filter_map(|note| note.strip_prefix(MISSING_REQUIREMENT))
    }

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
            unreadable_skills: Vec::new(),
            copies: Vec::new(),
            explanation: RunExplanation::default(),
        }
    }

    /// Creates the result of a run whose streams are [redacted](Redactor::redact_streams), and
    /// redacts the values of secrets in the parsed JSON. All other texts are redacted when the result
    /// is complete ([`redact_texts`](Self::redact_texts)).
    pub(crate) fn new(
        skill: String,
        mode: ExecutionMode,
        output: RunOutput,
        redactor: &Redactor,
    ) -> Self {
        let exit_status = match output.termination {
            termination if termination.is_success() => ExecutionStatus::Success,
            Termination::TimedOut { limit_ms } => ExecutionStatus::Timeout { limit_ms },
            termination => ExecutionStatus::Failed { termination },
        };
        let (stdout, stderr) = (output.stdout, output.stderr);
        Self {
            skill,
            mode,
            output: redactor.redact_value(parse_output(&stdout)),
            stdout,
            stderr,
            permissions_used: Vec::new(),
            exit_status,
            duration: output.duration,
            enforcement: Some(output.enforcement),
            decisions: Vec::new(),
            output_files: OutputFiles::default(),
            notes: output.notes,
            unreadable_skills: Vec::new(),
            copies: Vec::new(),
            explanation: RunExplanation::default(),
        }
    }
}

fn parse_output(stdout: &CapturedOutput) -> Value {
    if stdout.head().is_empty() {
        return Value::Null;
    }
    // Windows programs may write a byte order mark.
    let bytes = stdout.head();
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    // The part of a document can be valid JSON of another meaning, such as a number without its
    // last digits.
    let json = if stdout.is_truncated() {
        None
    } else {
        serde_json::from_slice(bytes).ok()
    };
    json.unwrap_or_else(|| Value::String(stdout.text()))
}
