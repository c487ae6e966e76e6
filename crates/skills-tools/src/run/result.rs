//! What came of a program, for people, models and programs.

use serde_json::{Map, Value, json};
use skills_runtime::policy::{Answer, Denial, Reason, Verdict};
use skills_runtime::{
    Captured, Ending, ErrorKind, ExecutionArtifacts, ExecutionStatus, RuntimeError,
    SandboxErrorKind, Status,
};

use crate::shown::Shown;
use crate::{Code, Outcome, ToolError};

/// The most notes that a result has.
const MAX_NOTES: usize = 20;

/// What came of a program, without any path of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ended: Ended,
    /// The data of the result.
    pub(crate) data: Map<String, Value>,
    /// The files that it made or changed, relative to its workspace.
    pub(crate) files: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this exit code.
    Exited(i32),
    /// At its deadline.
    TimedOut,
    /// Because the caller gave up.
    Cancelled,
    /// Because its private workspace held more than its quota allows.
    Full(String),
    /// In another way: a signal, a limit.
    Otherwise(String),
}

impl Finished {
    /// Reads what came of a program.
    ///
    /// # Errors
    /// When it did not run: the policy denies it.
    pub(crate) fn of(artifacts: &ExecutionArtifacts, shown: &Shown) -> Result<Self, ToolError> {
        let ended = match &artifacts.exit_status {
            ExecutionStatus::Success => Ended::Exited(0),
            ExecutionStatus::Failed {
                ending: Ending::Exited { code },
            } => Ended::Exited(*code),
            ExecutionStatus::Failed {
                ending: Ending::Cancelled,
            } => Ended::Cancelled,
            ExecutionStatus::Failed {
                ending: Ending::DiskLimit(exceeded),
            } => Ended::Full(exceeded.to_string()),
            ExecutionStatus::Failed { ending } => Ended::Otherwise(shown.text(&ending.to_string())),
            ExecutionStatus::Timeout { .. } => Ended::TimedOut,
            ExecutionStatus::PermissionDenied { denial } => return Err(denied(denial, shown)),
            other => Ended::Otherwise(shown.text(&format!("{other:?}"))),
        };
        let text = |captured: &Captured| shown.text(&captured.text());
        let (stdout, stderr) = (text(&artifacts.stdout), text(&artifacts.stderr));
        let files: Vec<String> = artifacts
            .files
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let data = data(artifacts, &ended, &stdout, &stderr, shown);
        Ok(Self {
            stdout,
            stderr,
            ended,
            data,
            files,
        })
    }

    pub(crate) fn is_success(&self) -> bool {
        self.ended == Ended::Exited(0)
    }

    /// Names the changed files below the directory that a model knows.
    pub(crate) fn in_directory(mut self, directory: &str) -> Self {
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

    /// Puts the texts together that the skills tools are known for; `merge` joins the two streams.
    pub(crate) fn outcome(self, seconds: &str, merge: impl Fn(&str, &str) -> String) -> Outcome {
        let (stdout, stderr) = (plain(&self.stdout), plain(&self.stderr));
        let merged = merge(stdout.trim_end_matches('\n'), stderr.trim_end_matches('\n'));
        let below = |first: String| {
            if merged.is_empty() {
                first
            } else {
                format!("{first}\n{merged}")
            }
        };
        let (text, error) = match &self.ended {
            Ended::Exited(0) => {
                let text = if merged.is_empty() {
                    "(no output)".to_owned()
                } else {
                    merged
                };
                return Outcome {
                    files: self.files,
                    ..Outcome::new(text, Value::Object(self.data))
                };
            }
            Ended::Exited(code) => (
                below(format!("Exit code: {code}")),
                ToolError::new(
                    Code::Failed,
                    format!("the program ended with exit code {code}"),
                ),
            ),
            Ended::TimedOut => {
                let message = format!("Command timed out after {seconds} seconds");
                (
                    below(message.clone()),
                    ToolError::new(Code::TimedOut, message),
                )
            }
            Ended::Cancelled => (
                below("Error: cancelled".to_owned()),
                ToolError::new(Code::Cancelled, "cancelled"),
            ),
            Ended::Full(exceeded) => (
                below(format!("Error: the program was stopped: {exceeded}")),
                full(exceeded),
            ),
            Ended::Otherwise(ending) => (
                below(format!("Error: the program was stopped: {ending}")),
                ToolError::new(Code::Failed, ending.clone()),
            ),
        };
        Outcome {
            files: self.files,
            ..Outcome::failed(text, self.data, &error)
        }
    }
}

/// Says that a program wrote more than it may keep.
pub(crate) fn full(exceeded: &str) -> ToolError {
    ToolError::new(Code::TooLarge, exceeded)
        .hint("write less, or begin another conversation, which has a directory of its own")
}

/// The deadline that a program reached, in milliseconds.
pub(crate) fn reached(artifacts: &ExecutionArtifacts) -> Option<u64> {
    match artifacts.exit_status {
        ExecutionStatus::Timeout { limit_ms } => Some(limit_ms),
        _ => None,
    }
}

fn data(
    artifacts: &ExecutionArtifacts,
    ended: &Ended,
    stdout: &str,
    stderr: &str,
    shown: &Shown,
) -> Map<String, Value> {
    let (exit_code, signal) = match (&artifacts.exit_status, ended) {
        (_, Ended::Exited(code)) => (json!(code), Value::Null),
        (
            ExecutionStatus::Failed {
                ending: Ending::Signalled { signal },
            },
            _,
        ) => (Value::Null, json!(signal)),
        _ => (Value::Null, Value::Null),
    };
    let layers = artifacts.report.iter().flat_map(|report| report.layers());
    let layers: Vec<Value> = layers
        .map(|layer| json!({"name": layer.name(), "enforced": layer.status() == Status::Enforced}))
        .collect();
    let files = artifacts
        .files
        .files
        .iter()
        .map(|file| json!({"path": file.path, "size": file.bytes, "created": file.is_new}));
    let notes: Vec<&String> = artifacts
        .notes
        .iter()
        .chain(&artifacts.files.left_out)
        .collect();
    let more = notes.len().saturating_sub(MAX_NOTES);
    let notes = notes
        .into_iter()
        .take(MAX_NOTES)
        .map(|note| shown.text(note))
        .chain((more > 0).then(|| format!("and {more} notes more")));
    let value = json!({
        "exit_code": exit_code,
        "signal": signal,
        "stdout": stdout,
        "stderr": stderr,
        "stdout_truncated": artifacts.stdout.is_truncated(),
        "stderr_truncated": artifacts.stderr.is_truncated(),
        "timed_out": *ended == Ended::TimedOut,
        "duration_ms": u64::try_from(artifacts.duration.as_millis()).unwrap_or(u64::MAX),
        "sandbox": {"backend": artifacts.report.as_ref().map(|report| report.backend()), "layers": layers},
        "files_changed": files.collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Tells what the policy denies, and whether somebody could still allow it.
fn denied(denial: &Denial, shown: &Shown) -> ToolError {
    let is_final = |reason: &Reason| {
        matches!(
            reason,
            Reason::Rule { .. }
                | Reason::Never { .. }
                | Reason::TooMany { .. }
                | Reason::Answered {
                    answer: Answer::Deny,
                    ..
                }
        )
    };
    let code = if denial.refusals().any(|verdict| is_final(verdict.reason())) {
        Code::DeniedByPolicy
    } else {
        Code::ApprovalRequired
    };
    let message = format!("it was not started: {}", told(denial, shown));
    match code {
        Code::ApprovalRequired => ToolError::new(code, message)
            .hint("a person has to allow it; ask them, and call again when they have"),
        _ => {
            ToolError::new(code, message).hint("do it in another way; asking again changes nothing")
        }
    }
}

/// What was decided and why, without what only people who keep the host can mend, such as approvals
/// that cannot be read.
fn told(denial: &Denial, shown: &Shown) -> String {
    const MAX_SHOWN: usize = 10;
    // What failed stands behind a colon, and may name files of this machine.
    let first = |reason: &str| reason.split(": ").next().unwrap_or_default().to_owned();
    let content = denial.content().map(|reason| {
        format!(
            "nobody approved its content for what rules would give it: {}",
            first(reason)
        )
    });
    let refused = denial.refusals().take(MAX_SHOWN);
    let refused = refused.map(|verdict| {
        format!(
            "may not {} (asked by {}): {}",
            verdict.permission(),
            verdict.asked(),
            because(verdict)
        )
    });
    let more = denial.refusals().count().saturating_sub(MAX_SHOWN);
    let more = (more > 0).then(|| format!("and {more} things more"));
    shown.text(
        &content
            .into_iter()
            .chain(refused)
            .chain(more)
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// Why something is denied. People write rules of places that no model knows: of a rule with a path
/// only whose it is is told.
fn because(verdict: &Verdict) -> String {
    let because = verdict.because();
    let rule = match verdict.reason() {
        Reason::Rule { layer, text } => Some((*layer, text.as_str())),
        _ => verdict.wants_asked(),
    };
    let because = match rule.filter(|(_, text)| text.contains('/')) {
        Some((layer, text)) => {
            because.replace(&format!("the rule `{text}`"), &format!("a rule ({layer})"))
        }
        None => because,
    };
    match verdict.reason() {
        Reason::AskingFailed { error }
        | Reason::Answered {
            not_stored: Some(error),
            ..
        } => because.replace(&format!(": {error}"), ""),
        _ => because,
    }
}

/// Tells why nothing ran.
pub(crate) fn not_run(error: &RuntimeError, skill: Option<&str>, shown: &Shown) -> ToolError {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let code = code(error);
    let message = match (code, skill) {
        (Code::SkillNotFound, Some(skill)) => format!("skill '{skill}' not found"),
        _ => shown.text(&message),
    };
    let hint = error
        .sandbox()
        .and_then(|sandbox| sandbox.hint())
        .map(|hint| shown.text(hint));
    let hint = hint.or_else(|| hint_of(error));
    let told = ToolError::new(code, message);
    hint.into_iter().fold(told, ToolError::hint)
}

fn code(error: &RuntimeError) -> Code {
    match (error.kind(), error.sandbox().map(|sandbox| sandbox.kind())) {
        (
            ErrorKind::UnknownSkill
            | ErrorKind::AmbiguousSkill
            | ErrorKind::InactiveSkill
            | ErrorKind::NotOffered,
            _,
        ) => Code::SkillNotFound,
        (ErrorKind::NoProgram | ErrorKind::UnknownProgram | ErrorKind::AmbiguousScript, _) => {
            Code::ScriptNotFound
        }
        (ErrorKind::Requirements, _) => Code::SetupFailed,
        (ErrorKind::Changed | ErrorKind::Symlink, _) => Code::Conflict,
        (ErrorKind::Restricted, _) => Code::DeniedByPolicy,
        (ErrorKind::Cancelled, _) => Code::Cancelled,
        (ErrorKind::Sandbox, Some(SandboxErrorKind::Load)) => Code::Failed,
        (ErrorKind::Sandbox, Some(SandboxErrorKind::NoProgram)) => Code::NotFound,
        (ErrorKind::Sandbox, _) => Code::SandboxUnavailable,
        _ => Code::Internal,
    }
}

fn hint_of(error: &RuntimeError) -> Option<String> {
    let candidates = error.candidates();
    match error.kind() {
        ErrorKind::UnknownProgram | ErrorKind::AmbiguousScript if !candidates.is_empty() => {
            Some(format!("there are: {}", candidates.join(", ")))
        }
        _ => None,
    }
}

/// Takes out of a text what would steer a terminal or hide text from people: escape sequences,
/// control and invisible characters.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut characters),
            '\u{9b}' => skip_until(&mut characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
            '\n' | '\t' => out.push(c),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            c if skills_runtime::is_hidden(c) && !is_joiner(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Text of several scripts and emoji is joined by these.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Skips the rest of an escape sequence: `[ … letter`, `] … BEL` or `ESC \`, or one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => skip_until(characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = characters.next() {
                if c == '\u{7}'
                    || c == '\u{9c}'
                    || (c == '\u{1b}' && characters.next_if_eq(&'\\').is_some())
                {
                    return;
                }
                // A line that is lost with an unended sequence is one line.
                if c == '\n' {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn skip_until(
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    is_end: impl Fn(char) -> bool,
) {
    for c in characters.by_ref() {
        if is_end(c) || c == '\n' {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        assert_eq!(
            plain(
                "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\u{0}\u{8}c\r\nd\re\u{202e}f"
            ),
            "red abc\nd\nef"
        );
        assert_eq!(plain("\u{9b}2Jx\u{1b}Ÿy\u{1b}[31"), "xy");
        assert_eq!(
            plain("tab\tline\n日本 👩\u{200d}🚀"),
            "tab\tline\n日本 👩\u{200d}🚀"
        );
    }
}
