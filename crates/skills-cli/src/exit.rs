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
    Interrupted = 130,
}

impl Exit {
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
