//! What went wrong, in words that a model can act on.

use serde::Serialize;

/// Why a tool did not do what it was asked.
///
/// This is a result like any other: a model reads it and tries again. No path of this machine is in
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolError {
    /// The class.
    pub code: ToolErrorCode,
    /// What happened, in one sentence.
    pub message: String,
    /// The virtual path that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// The classes of [`ToolError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorCode {
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// The path is none: it holds `..`, control characters, backslashes and the like.
    InvalidPath,
    /// The path lies in no mount.
    PathOutsideMounts,
    /// Nothing is there.
    NotFound,
    /// It is a file.
    NotADirectory,
    /// It is a directory.
    IsADirectory,
    /// The system or a rule of the tools forbids it.
    PermissionDenied,
    /// The mount may only be read.
    ReadOnly,
    /// It is longer than the tool takes.
    TooLarge,
    /// It is no text.
    BinaryFile,
    /// Something of that name is there already.
    AlreadyExists,
    /// The name is none for a skill.
    InvalidName,
    /// It changed meanwhile.
    Conflict,
    /// There is no such skill, or several.
    SkillNotFound,
    /// The skill has no such script.
    ScriptNotFound,
    /// The deadline came.
    TimedOut,
    /// The caller gave up.
    Cancelled,
    /// The program ran and failed.
    Failed,
    /// The policy forbids it.
    DeniedByPolicy,
    /// Somebody has to allow it first.
    ApprovalRequired,
    /// No sandbox can be had here.
    SandboxUnavailable,
    /// What the program needs is not here.
    SetupFailed,
    /// Something failed that the caller cannot mend.
    Internal,
}

impl ToolErrorCode {
    /// Returns the code as results show it.
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
            Self::Internal => "internal",
        }
    }
}

impl ToolError {
    pub(crate) fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        let retryable = matches!(
            code,
            ToolErrorCode::Conflict | ToolErrorCode::TimedOut | ToolErrorCode::ApprovalRequired
        );
        Self {
            code,
            message: message.into(),
            path: None,
            hint: None,
            retryable,
        }
    }

    /// Says which virtual path it is about.
    pub(crate) fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Says what can be done about it.
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
