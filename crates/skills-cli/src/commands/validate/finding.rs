//! A finding about a skill.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use skills_ref_compat::{Diagnostic, Severity};
use skills_runtime::ScriptProblem;

use crate::lint;
use crate::skill_path::SkillPath;

/// An error or warning about a skill.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    #[serde(skip)]
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    /// The file, if it is not the skill file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    pub(super) line: Option<usize>,
    pub(super) column: Option<usize>,
    pub(super) message: String,
    /// What a rule found in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<Value>,
}

impl Finding {
    pub(super) fn of_client(found: Diagnostic) -> Self {
        Self {
            severity: found.severity,
            ..Self::error(found.code, found.message).at(found.line)
        }
    }

    pub(super) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            path: None,
            line: None,
            column: None,
            message: message.into(),
            found: None,
        }
    }

    pub(super) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    pub(super) fn of_text(found: &skills_lint::Finding, is_denied: bool) -> Self {
        let severity = if is_denied {
            Severity::Error
        } else {
            Severity::Warning
        };
        let is_skill_file = found.path().eq_ignore_ascii_case("SKILL.md");
        Self {
            severity,
            path: (!is_skill_file).then(|| found.path().to_owned()),
            line: Some(found.line()),
            found: Some(lint::to_json(found)),
            ..Self::error(found.rule(), lint::message(found))
        }
    }

    pub(super) fn of_script(problem: ScriptProblem) -> Self {
        Self {
            line: Some(problem.line),
            ..Self::warning(problem.kind.code(), problem.to_string())
        }
        .in_file(problem.path)
    }

    fn in_file(self, path: String) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    pub(super) fn file(&self, target: &SkillPath) -> PathBuf {
        let name = self
            .path
            .clone()
            .unwrap_or_else(|| target.file_name().to_string());
        target.directory().join(name)
    }

    pub(super) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    pub(super) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
