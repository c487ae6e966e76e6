//! Exit codes of the command.

use std::process::ExitCode;

use skills_runtime::ExecutionStatus;

/// The exit code of the command. A later variant goes before an earlier one if a command has several
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command did what it was called for.
    Success = 0,
    /// The skill or the command failed, or something that was named was not found.
    Failed = 1,
    /// Invalid usage, or input that cannot be read or parsed.
    Usage = 2,
    /// Denied by policy or by the user, or no sandbox is available.
    Denied = 3,
    /// A program reached its time limit.
    Timeout = 4,
    /// Only of `skills audit verify`: the records are intact, but a crash left a part of another.
    Incomplete = 5,
    /// A signal or the user ended the command.
    Interrupted = 130,
}

impl Exit {
    /// The codes of all commands, with their meaning. Others are in the help of their command.
    const OF_ALL_COMMANDS: [(Self, &'static str); 6] = [
        (Self::Success, "success"),
        (Self::Failed, "failure or not found"),
        (Self::Usage, "usage"),
        (Self::Denied, "denied or no sandbox"),
        (Self::Timeout, "timeout"),
        (Self::Interrupted, "interrupted"),
    ];

    /// Returns the line of the help that lists the exit codes.
    pub(crate) fn help() -> String {
        let codes =
            Self::OF_ALL_COMMANDS.map(|(exit, meaning)| format!("{} {meaning}", exit as u8));
        format!("Exit codes: {}", codes.join(", "))
    }

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

    /// Returns success if everything is as it should be, else failure.
    pub(crate) fn success_if(is_successful: bool) -> Self {
        if is_successful {
            Self::Success
        } else {
            Self::Failed
        }
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
