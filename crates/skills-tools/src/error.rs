//! Errors that a model can act on.

use serde::Serialize;

/// Error of a tool call, written for the model that made the call.
///
/// A model reads `message` and `hint` and can correct the call, so an error is an ordinary result
/// ([`ToolOutput`](crate::ToolOutput)). Programs match on `code`. No field contains a path of the
/// host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolError {
    /// The class of the error.
    pub code: ToolErrorCode,
    /// What failed and why, in one sentence.
    pub message: String,
    /// The virtual path concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What to do about it, in the imperative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// Whether the call failed after its program was started.
    #[serde(skip)]
    pub(crate) is_after_start: bool,
}

/// Classifies a [`ToolError`].
///
/// Codes are stable and contained in the `error` member of results; [`as_str`](Self::as_str)
/// returns their text, such as `not_found`. Later versions may add codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorCode {
    /// The arguments do not match the input schema.
    InvalidArguments,
    /// The path is not valid: it contains `..`, control characters, backslashes or similar.
    InvalidPath,
    /// The path is not in the workspace, a skill or a mount.
    PathOutsideMounts,
    /// The path does not exist.
    NotFound,
    /// The path is not a directory.
    NotADirectory,
    /// The path is a directory.
    IsADirectory,
    /// The file system or a rule of the tools forbids the access.
    PermissionDenied,
    /// The mount or skill is read-only.
    ReadOnly,
    /// The content exceeds a limit.
    TooLarge,
    /// The file is not text.
    BinaryFile,
    /// The name already exists.
    AlreadyExists,
    /// The name is not valid for a skill.
    InvalidName,
    /// The file changed since it was read.
    Conflict,
    /// The skill does not exist, or its name is ambiguous.
    SkillNotFound,
    /// The skill has no such script.
    ScriptNotFound,
    /// The deadline was reached.
    TimedOut,
    /// The caller cancelled the call.
    Cancelled,
    /// The program ran and failed.
    Failed,
    /// A policy rule denies the call.
    DeniedByPolicy,
    /// The call needs an approval that was not given.
    ApprovalRequired,
    /// No sandbox backend is available.
    SandboxUnavailable,
    /// A requirement of the program is missing.
    SetupFailed,
    /// The caller has as many running calls as allowed.
    TooManyCalls,
    /// An internal failure that the caller cannot fix.
    Internal,
}

impl ToolErrorCode {
    /// Creates an error of this class, without path and hint.
    pub fn error(self, message: impl Into<String>) -> ToolError {
        ToolError {
            code: self,
            message: message.into(),
            path: None,
            hint: None,
            retryable: matches!(
                self,
                Self::Conflict | Self::TimedOut | Self::ApprovalRequired | Self::TooManyCalls
            ),
            is_after_start: false,
        }
    }

    /// Creates an error of this class that concerns a virtual path.
    pub(crate) fn error_at(self, path: impl Into<String>, message: impl Into<String>) -> ToolError {
        ToolError {
            path: Some(path.into()),
            ..self.error(message)
        }
    }

    /// Returns the code as text, as it is in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::InvalidPath => "invalid_path",
            Self::PathOutsideMounts => "path_outside_mounts",
            Self::NotFound => "not_found",
            Self::NotADirectory => "not_a_directory",
            Self::IsADirectory => "is_a_directory",
            Self::PermissionDenied => "permission_denied",
            Self::ReadOnly => "read_only",
            Self::TooLarge => "too_large",
            Self::BinaryFile => "binary_file",
            Self::AlreadyExists => "already_exists",
            Self::InvalidName => "invalid_name",
            Self::Conflict => "conflict",
            Self::SkillNotFound => "skill_not_found",
            Self::ScriptNotFound => "script_not_found",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::DeniedByPolicy => "denied_by_policy",
            Self::ApprovalRequired => "approval_required",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::SetupFailed => "setup_failed",
            Self::TooManyCalls => "too_many_calls",
            Self::Internal => "internal",
        }
    }
}

impl ToolError {
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}
