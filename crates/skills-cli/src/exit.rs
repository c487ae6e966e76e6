//! Exit codes of the command.

use std::process::ExitCode;

use crate::run_exit::RunExit;

/// The exit code of the command. A later variant goes before an earlier one if a command has several
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// The command did what it was called for.
    Success,
    /// The skill or the command failed, or something that was named was not found.
    Failed,
    /// Invalid usage, or input that cannot be read or parsed.
    Usage,
    /// Denied by policy or by the user, or no sandbox is available.
    Denied,
    /// A program reached its time limit.
    Timeout,
    /// Only of `skills audit verify`: the records are intact, but a crash left a part of another.
    Incomplete,
    /// A signal or the user ended the command.
    Interrupted,
    /// The code of a run, of a command that passes on the code of a program.
    Run(RunExit),
}

/// Which exit codes a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCodes {
    /// Those that the help lists.
    OfCommand,
    /// Those of a run: the codes that are not from the program differ from those of most programs.
    OfRun,
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
            Self::OF_ALL_COMMANDS.map(|(exit, meaning)| format!("{} {meaning}", exit.code()));
        format!(
            "Exit codes: {}; those of `run` and `call` are in their help",
            codes.join(", ")
        )
    }

    /// Returns the code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Timeout => 4,
            Self::Incomplete => 5,
            Self::Interrupted => 130,
            Self::Run(exit) => exit.code(),
        }
    }

    /// Returns the code and the message of a failure whose cause is on standard error; `None` for
    /// success.
    pub(crate) fn failure(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Success | Self::Run(RunExit::Exited(0)) => return None,
            Self::Failed => ("failed", "the command failed; standard error has the cause"),
            Self::Usage => ("usage", "invalid usage; standard error has the cause"),
            Self::Denied | Self::Run(RunExit::Denied) => {
                ("denied", "denied; standard error has the cause")
            }
            Self::Timeout => ("timeout", "the time limit was exceeded"),
            Self::Incomplete => ("incomplete", "the last audit record is incomplete"),
            Self::Interrupted | Self::Run(RunExit::Interrupted(_)) => {
                ("interrupted", "interrupted")
            }
            Self::Run(_) => ("failed", "the run failed; standard error has the cause"),
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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
