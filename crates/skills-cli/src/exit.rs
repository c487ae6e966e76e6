//! Exit codes of the command.

use std::process::ExitCode;

use skills_runtime::ExecutionStatus;

/// The exit code of the command. A later variant goes before an earlier one if a command has several
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    Failed = 1,
    Usage = 2,
    Denied = 3,
    Timeout = 4,
    Incomplete = 5,
    Interrupted = 130,
}

impl Exit {
    /// Returns the code and the message of a failure whose cause is on standard error; `None` for
    /// success.
    pub(crate) fn failure(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Success => return None,
            Self::Failed => ("failed", "the command failed; standard error has the cause"),
            Self::Usage => ("usage", "invalid usage; standard error has the cause"),
            Self::Denied => ("denied", "denied; standard error has the cause"),
            Self::Timeout => ("timeout", "the time limit was exceeded"),
            Self::Incomplete => ("incomplete", "the last audit record is incomplete"),
            Self::Interrupted => ("interrupted", "interrupted"),
        })
    }

    pub(crate) fn from_status(status: &ExecutionStatus) -> Self {
        match status {
            ExecutionStatus::Success => Self::Success,
            ExecutionStatus::Timeout { .. } => Self::Timeout,
            ExecutionStatus::PermissionDenied { .. } => Self::Denied,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
