//! Conversion of run results into tool results.

mod merged;

use serde_json::{Map, Value, json};
use skills_runtime::policy::{Answer, DecisionReason, Denial, PermissionDecision, RuleSource};
use skills_runtime::{
    CapturedOutput, Cause, EnforcementReport, EnforcementStatus, ErrorKind, Evidence,
    ExecutionArtifacts, ExecutionStatus, ExplanationWords, MissingPackage, OutputFiles,
    RefusedFact, Remedy, RuntimeError, SandboxErrorKind, Termination,
};

use skills_runtime::manifest::escape_invisible;

use super::file_lines::file_lines;
use super::remedies::request_to_user;
use super::{Remedies, declared_packages};
use crate::path_map::PathMap;
use crate::sanitize::strip_terminal_escapes;
use crate::{ToolError, ToolErrorCode, ToolOutput};

/// Maximum number of notes in a result.
const MAX_NOTES: usize = 20;

/// The result of a run, without host paths.
#[derive(Debug, Clone)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: ExitKind,
    status: ExecutionStatus,
    /// How many bytes the program printed.
    printed_bytes: u64,
    /// The data of the tool result.
    pub(crate) data: Map<String, Value>,
    /// Files that the program created or changed, relative to its workspace.
    pub(crate) files: Vec<String>,
    /// What the host application should know about the run.
    pub(crate) notes: Vec<String>,
    /// What restrictions stopped and what the user can do, one line each.
    explanation: Vec<String>,
    /// Whether the program failed because a package is not installed.
    pub(crate) lacks_package: bool,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Exited with this code.
    Exited(i32),
    /// Stopped at its deadline.
    TimedOut,
    /// Stopped because the caller cancelled the call.
    Cancelled,
    /// Stopped because its private workspace exceeded its quota.
    QuotaExceeded(String),
    /// Ended otherwise: by a signal or a limit.
    Other(String),
}

impl ProgramOutput {
    /// Converts the result of a run.
    ///
    /// # Errors
    /// Fails if the policy denied the run.
    pub(crate) fn from_artifacts(
        artifacts: &ExecutionArtifacts,
        path_map: &PathMap,
        remedies: &Remedies,
    ) -> Result<Self, ToolError> {
        if let ExecutionStatus::PermissionDenied { denial } = &artifacts.exit_status {
            return Err(denial_error(denial, path_map, remedies));
        }
        let exit = ExitKind::new(&artifacts.exit_status, path_map);
        let text = |captured: &CapturedOutput| path_map.replace_in(&captured.text());
        let (stdout, stderr) = (text(&artifacts.stdout), text(&artifacts.stderr));
        let files: Vec<String> = artifacts
            .output_files
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let notes = artifacts.notes.iter().take(MAX_NOTES);
        let notes = notes.map(|note| path_map.replace_in(note)).collect();
        // Also after a success: a program that ignores what was refused gives a wrong answer.
        let explained = remedies.explain(artifacts);
        let mut data = structured_data(artifacts, &exit, &stdout, &stderr, path_map);
        let findings = explained.notes.iter().map(|note| path_map.replace_in(note));
        add_texts(&mut data, "notes", findings);
        add_texts(&mut data, "help", explained.help.iter().cloned());
        let explanation = explanation_lines(&explained, artifacts, path_map, remedies);
        let hints = explained.help;
        let mut output = Self {
            stdout,
            stderr,
            exit,
            status: artifacts.exit_status.clone(),
            printed_bytes: artifacts.stdout.total_bytes() + artifacts.stderr.total_bytes(),
            data,
            files,
            notes,
            explanation,
            lacks_package: false,
        };
        output.add_hints(hints);
        Ok(output)
    }

    pub(crate) fn is_success(&self) -> bool {
        self.exit == ExitKind::Exited(0)
    }

    /// Adds which package an interpreter lacks, and where the skill declares it. What only the program
    /// says is not stated as a fact, and is not a failed setup: a program can print anything.
    pub(super) fn explain_missing_package(&mut self, artifacts: &ExecutionArtifacts) {
        let Some(Cause::MissingPackage(missing)) = &artifacts.explanation.cause else {
            return;
        };
        let MissingPackage {
            package,
            script_type,
            interpreter,
            declared,
            is_only_reported,
            ..
        } = &**missing;
        self.lacks_package = !is_only_reported;
        let interpreter = match interpreter {
            Some(path) => path.display().to_string(),
            None => script_type.as_str().to_owned(),
        };
        let declared = declared
            .as_ref()
            .filter(|_| !is_only_reported)
            .map(declared_packages::describe);
        let declared = declared
            .map(|declared| format!("{declared}, and "))
            .unwrap_or_default();
        let line = if *is_only_reported {
            format!(
                "The program reports that `{interpreter}` has no `{package}` (not verified: nothing else names this package)"
            )
        } else {
            format!("Failed to setup environment: {declared}`{interpreter}` has no `{package}`")
        };
        self.explanation
            .insert(0, escape_invisible(&line).into_owned());
    }

    /// Adds to a failure the requirements that the run missed, which are its likely cause.
    pub(super) fn explain_missing_requirements(&mut self, artifacts: &ExecutionArtifacts) {
        if !self.is_success() {
            let missing = artifacts.missing_requirements();
            let lines = missing.map(|missing| format!("Missing requirement: {missing}"));
            let lines = lines.map(|line| escape_invisible(&line).into_owned());
            self.explanation.extend(lines);
        }
    }

    /// Adds what the user can do.
    pub(super) fn add_hints(&mut self, hints: impl IntoIterator<Item = String>) {
        let lines = hints.into_iter().map(|hint| format!("Hint: {hint}"));
        let lines = lines.map(|line| escape_invisible(&line).into_owned());
        self.explanation.extend(lines);
    }

    /// Returns the words about the run: how it ended, unless it succeeded, the explanation, and the
    /// files that it made, which a program names. Each is one line, also if it quotes the program.
    pub(crate) fn own_text(&self, ending: Option<&str>) -> String {
        let ending = ending.map(|line| escape_invisible(line).into_owned());
        let files = file_lines(&self.data["files_changed"]);
        let lines = ending.iter().chain(&self.explanation).chain(&files);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Prefixes the changed files with the directory name that a model knows.
    pub(crate) fn with_file_prefix(mut self, directory: &str) -> Self {
        self.files
            .iter_mut()
            .for_each(|path| *path = format!("{directory}/{path}"));
        let changed = self
            .data
            .get_mut("files_changed")
            .and_then(Value::as_array_mut);
        for (file, path) in changed.into_iter().flatten().zip(&self.files) {
            file["path"] = json!(path);
        }
        self
    }

    /// Builds the tool result with the fixed texts of the `skills_*` tools.
    pub(crate) fn into_tool_output(self, seconds: &str) -> ToolOutput {
        let failure = self.exit.failure(seconds);
        let mut own_text = self.own_text(failure.as_ref().map(|(line, _)| line.as_str()));
        let streams = [&self.stdout, &self.stderr].map(|text| strip_terminal_escapes(text));
        let printed: Vec<&str> = streams
            .iter()
            .map(|text| text.trim_end_matches('\n'))
            .filter(|text| !text.is_empty())
            .collect();
        let printed = printed.join("\n");
        if own_text.is_empty() && printed.trim().is_empty() {
            "(no output)".clone_into(&mut own_text);
        }
        self.into_result(own_text, printed, failure.map(|(_, error)| error))
    }

    /// Builds a result from the words about the run and what the program printed.
    pub(crate) fn into_result(
        self,
        own_text: String,
        printed: String,
        error: Option<ToolError>,
    ) -> ToolOutput {
        let result = match error {
            None => ToolOutput::new(own_text, Value::Object(self.data)),
            Some(error) => ToolOutput::error_with_data(own_text, self.data, &error),
        };
        let mut result = result
            .with_program_output(printed)
            .with_printed_bytes(self.printed_bytes);
        result.files = self.files;
        result.notes = self.notes;
        result.exit_status = Some(self.status);
        result.started_program = true;
        result
    }
}

impl ExitKind {
    fn new(status: &ExecutionStatus, path_map: &PathMap) -> Self {
        match status {
            ExecutionStatus::Success => Self::Exited(0),
            ExecutionStatus::Failed { termination } => Self::of_failure(termination, path_map),
            ExecutionStatus::Timeout { .. } => Self::TimedOut,
            // A status of a later version of the runtime is a failure, never a success.
            other => Self::Other(path_map.replace_in(&format!("{other:?}"))),
        }
    }

    fn of_failure(termination: &Termination, path_map: &PathMap) -> Self {
        match termination {
            Termination::Exited { code } => Self::Exited(*code),
            Termination::Cancelled => Self::Cancelled,
            Termination::DiskLimit(exceeded) => Self::QuotaExceeded(exceeded.to_string()),
            other => Self::Other(path_map.replace_in(&other.to_string())),
        }
    }

    /// Returns the first line of the text and the error of a failure, or `None` for a success.
    fn failure(&self, seconds: &str) -> Option<(String, ToolError)> {
        Some(match self {
            Self::Exited(0) => return None,
            Self::Exited(code) => (
                format!("Exit code: {code}"),
                ToolErrorCode::Failed.error(format!("the program failed with exit code {code}")),
            ),
            Self::TimedOut => {
                let message = format!("Command timed out after {seconds} seconds");
                (message.clone(), ToolErrorCode::TimedOut.error(message))
            }
            Self::Cancelled => (
                "Error: cancelled".to_owned(),
                ToolErrorCode::Cancelled.error("cancelled"),
            ),
            Self::QuotaExceeded(exceeded) => (
                format!("Error: the program was stopped: {exceeded}"),
                quota_exceeded_error(exceeded),
            ),
            Self::Other(reason) => (
                format!("Error: the program was stopped: {reason}"),
                ToolErrorCode::Failed.error(reason.clone()),
            ),
        })
    }
}

/// Returns the error of a run that exceeded its disk quota.
pub(crate) fn quota_exceeded_error(exceeded: &str) -> ToolError {
    ToolErrorCode::TooLarge
        .error(exceeded)
        .with_hint("write less data, or use another session, which has its own directory")
}

/// Returns the deadline that a program reached, in milliseconds.
pub(crate) fn reached_timeout_ms(artifacts: &ExecutionArtifacts) -> Option<u64> {
    match artifacts.exit_status {
        ExecutionStatus::Timeout { limit_ms } => Some(limit_ms),
        _ => None,
    }
}

/// Returns the data of a result; see `result_schema`.
fn structured_data(
    artifacts: &ExecutionArtifacts,
    exit: &ExitKind,
    stdout: &str,
    stderr: &str,
    path_map: &PathMap,
) -> Map<String, Value> {
    let exit_code = match exit {
        ExitKind::Exited(code) => Some(code),
        _ => None,
    };
    let refused = artifacts.explanation.refused();
    let refused = refused.filter(|(refused, _)| !refused.operation.is_probed());
    let refused = refused.map(|(refused, observer)| refused_data(refused, observer, path_map));
    let fields = [
        ("exit_code", json!(exit_code)),
        ("signal", json!(signal(&artifacts.exit_status))),
        ("stdout", json!(stdout)),
        ("stderr", json!(stderr)),
        ("stdout_truncated", json!(artifacts.stdout.is_truncated())),
        ("stderr_truncated", json!(artifacts.stderr.is_truncated())),
        ("timed_out", json!(*exit == ExitKind::TimedOut)),
        (
            "duration_ms",
            json!(u64::try_from(artifacts.duration.as_millis()).unwrap_or(u64::MAX)),
        ),
        ("sandbox", sandbox_data(artifacts.enforcement.as_ref())),
        ("files_changed", files_data(&artifacts.output_files)),
        ("notes", json!(limited_notes(artifacts, path_map))),
        ("refused", refused.collect()),
        ("explanation", explanation_data(artifacts, path_map)),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    fields.into_iter().collect()
}

fn signal(status: &ExecutionStatus) -> Option<i32> {
    match status {
        ExecutionStatus::Failed {
            termination: Termination::Signaled { signal },
        } => Some(*signal),
        _ => None,
    }
}

fn sandbox_data(report: Option<&EnforcementReport>) -> Value {
    let restrictions = report.iter().flat_map(|report| report.restrictions());
    let restrictions = restrictions.map(|restriction| {
        let is_enforced = restriction.status() == EnforcementStatus::Enforced;
        json!({"name": restriction.name(), "enforced": is_enforced})
    });
    json!({
        "backend": report.map(EnforcementReport::backend),
        "restrictions": restrictions.collect::<Vec<_>>(),
    })
}

fn files_data(output: &OutputFiles) -> Value {
    let files = output.files.iter();
    files
        .map(|file| json!({"path": file.path, "size": file.bytes, "created": file.is_created}))
        .collect()
}

/// Returns the notes of a run without host paths, of which its program can cause any number.
fn limited_notes(artifacts: &ExecutionArtifacts, path_map: &PathMap) -> Vec<String> {
    let all = || {
        artifacts
            .notes
            .iter()
            .chain(&artifacts.output_files.omitted)
    };
    let more = all().count().saturating_sub(MAX_NOTES);
    all()
        .take(MAX_NOTES)
        .map(|note| path_map.replace_in(note))
        .chain((more > 0).then(|| format!("and {more} more notes")))
        .collect()
}

fn refused_data(refused: &RefusedFact, observer: Evidence, path_map: &PathMap) -> Value {
    json!({
        "operation": path_map.replace_in(&refused.operation.to_string()),
        "observed": observer.is_observed(),
        "count": refused.count,
        "allow": refused.rule().map(|rule| path_map.replace_in(rule)),
    })
}

/// Returns the explanation with virtual paths, null if there is nothing to explain. Only results with
/// structured data contain it.
fn explanation_data(artifacts: &ExecutionArtifacts, path_map: &PathMap) -> Value {
    if artifacts.explanation.is_empty() {
        return Value::Null;
    }
    let mut data = json!(artifacts.explanation);
    map_texts(&mut data, &|text| path_map.replace_in(text));
    data
}

fn map_texts(value: &mut Value, map: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = map(text),
        Value::Array(values) => values.iter_mut().for_each(|value| map_texts(value, map)),
        Value::Object(fields) => fields.values_mut().for_each(|value| map_texts(value, map)),
        _ => {}
    }
}

/// Appends texts to a list of the data, which exists only if it has an entry.
fn add_texts(data: &mut Map<String, Value>, name: &str, texts: impl Iterator<Item = String>) {
    let mut texts = texts.peekable();
    if texts.peek().is_none() {
        return;
    }
    let list = data.entry(name).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.extend(texts.map(Value::from));
    }
}

/// Returns a line for each operation that a restriction stopped and for each note, which a model can
/// report to its user. Without hints of the host application, a line names the rules.
fn explanation_lines(
    explained: &ExplanationWords,
    artifacts: &ExecutionArtifacts,
    path_map: &PathMap,
    remedies: &Remedies,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        explained
            .refused
            .iter()
            .map(|text| format!("refused: {text}")),
    );
    lines.extend(explained.notes.iter().map(|text| format!("note: {text}")));
    if !remedies.is_described() {
        let remedies = artifacts.explanation.remedies.iter();
        let rules = remedies.flat_map(|remedy| match remedy {
            Remedy::Allow { rules } => rules.as_slice(),
            _ => &[],
        });
        let rules: Vec<String> = rules.map(|rule| format!("`{rule}`")).collect();
        if !rules.is_empty() {
            lines.push(format!("Hint: the user can allow {}", rules.join(", ")));
        }
    }
    lines
        .iter()
        .map(|line| path_map.replace_in(&escape_invisible(line)))
        .collect()
}

/// Converts a denial, with a code that tells whether an approval could still allow the run.
fn denial_error(denial: &Denial, path_map: &PathMap, remedies: &Remedies) -> ToolError {
    // An approval can change the other reasons, so the model may ask the user and retry.
    let is_refused = |decision: &PermissionDecision| {
        decision.is_final()
            || matches!(
                decision.reason(),
                DecisionReason::ApproverResponded {
                    response: Answer::Deny,
                    ..
                }
            )
    };
    let code = if denial.denied().any(is_refused) {
        ToolErrorCode::DeniedByPolicy
    } else {
        ToolErrorCode::ApprovalRequired
    };
    let message = format!("not run: {}", path_map.replace_in(&denial_words(denial)));
    code.error(message).with_hint(match code {
        ToolErrorCode::ApprovalRequired => {
            let remedy = remedies.for_denial(denial);
            let remedy = remedy.as_deref().unwrap_or("allow it");
            format!("{}, then retry", request_to_user(remedy))
        }
        _ => "do not retry; use another approach".to_owned(),
    })
}

/// Describes a denial for a reader that has a user, without operator-only details, such as approval
/// files that cannot be read. Not the words of the policy, which are for the user.
pub(super) fn denial_words(denial: &Denial) -> String {
    const MAX_LISTED: usize = 10;
    let content = denial
        .content_reason()
        .map(|_| "the user has not approved this content of the skill".to_owned());
    // Limited: a skill could request thousands of permissions.
    let denied = denial.denied().take(MAX_LISTED);
    let denied = denied.map(|decision| {
        let (permission, requesters) = (decision.permission(), decision.requesters());
        let reason = denial_reason(decision);
        format!("{permission} (requested by {requesters}): {reason}")
    });
    let more = denial.denied().count().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("and {more} more permissions"));
    let causes: Vec<String> = content.into_iter().chain(denied).chain(more).collect();
    format!("permission denied: {}", causes.join("; "))
}

/// Returns the reason of a denial. Rules with paths are replaced by their source, since paths in
/// rules are host paths.
fn denial_reason(decision: &PermissionDecision) -> String {
    let shown = |source: RuleSource, text: &str| match text.contains('/') {
        true => format!("a rule ({source})"),
        false => format!("rule `{text}`"),
    };
    let answer = match decision.reason() {
        DecisionReason::Rule { source, text } => {
            return format!("denied by {}", shown(*source, text));
        }
        DecisionReason::NoApprover | DecisionReason::ApproverFailed { .. } => {
            "the user could not be asked"
        }
        DecisionReason::NoResponse => "the user did not answer",
        DecisionReason::StrictMode => "the user is not asked in strict mode",
        DecisionReason::ApproverResponded {
            response: Answer::Deny,
            ..
        } => return "the user denied it".to_owned(),
        // The cause is a file of the host.
        DecisionReason::ApproverResponded { .. } => {
            return "the answer of the user could not be stored".to_owned();
        }
        DecisionReason::OtherDenied => {
            return "the user was not asked, because another permission is denied".to_owned();
        }
        DecisionReason::TooManyPermissions { count } => {
            return format!("{count} permissions are more than a user is asked for at once");
        }
        // A reason of the policy itself, and one of a later version.
        reason => return reason.to_string(),
    };
    match decision.ask_rule() {
        Some((source, text)) => format!("{} requires approval and {answer}", shown(source, text)),
        None => format!("no rule allows it and {answer}"),
    }
}

/// Converts the error of a run that did not start, or without a record of its end.
pub(crate) fn run_error(
    error: &RuntimeError,
    skill: Option<&str>,
    path_map: &PathMap,
) -> ToolError {
    let code = error_code(error);
    let message = match (code, skill) {
        // The error of the runtime contains the path of the directory.
        (ToolErrorCode::SkillNotFound, Some(skill)) => format!("skill `{skill}` not found"),
        _ => path_map.replace_in(&error.message_with_sources()),
    };
    let hint = error_hint(error).or_else(|| error.hint().map(|hint| path_map.replace_in(hint)));
    let mut tool_error = code.error(message);
    tool_error.is_after_start = error.artifacts().is_some();
    hint.into_iter().fold(tool_error, ToolError::with_hint)
}

fn error_code(error: &RuntimeError) -> ToolErrorCode {
    match (error.kind(), error.sandbox().map(|sandbox| sandbox.kind())) {
        (
            ErrorKind::UnknownSkill
            | ErrorKind::AmbiguousSkill
            | ErrorKind::InactiveSkill
            | ErrorKind::NotModelInvocable,
            _,
        ) => ToolErrorCode::SkillNotFound,
        (ErrorKind::NothingToRun | ErrorKind::UnknownProgram | ErrorKind::AmbiguousScript, _) => {
            ToolErrorCode::ScriptNotFound
        }
        (ErrorKind::MissingRequirements | ErrorKind::Packages, _) => ToolErrorCode::SetupFailed,
        (ErrorKind::ContentChanged | ErrorKind::Symlink, _) => ToolErrorCode::Conflict,
        (ErrorKind::InvalidRestriction, _) => ToolErrorCode::DeniedByPolicy,
        (ErrorKind::Cancelled, _) => ToolErrorCode::Cancelled,
        (ErrorKind::Sandbox, Some(SandboxErrorKind::InvalidProgram)) => ToolErrorCode::Failed,
        (ErrorKind::Sandbox, Some(SandboxErrorKind::ProgramNotFound)) => ToolErrorCode::NotFound,
        (ErrorKind::Sandbox, _) => ToolErrorCode::SandboxUnavailable,
        _ => ToolErrorCode::Internal,
    }
}

fn error_hint(error: &RuntimeError) -> Option<String> {
    let candidates = error.suggestions();
    match error.kind() {
        ErrorKind::UnknownProgram | ErrorKind::AmbiguousScript | ErrorKind::NothingToRun
            if !candidates.is_empty() =>
        {
            Some(format!("available: {}", candidates.join(", ")))
        }
        _ => None,
    }
}
