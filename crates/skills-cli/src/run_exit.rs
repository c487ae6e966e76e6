//! Exit codes of commands that pass on the code of a program.

use serde_json::{Value, json};
use skills_runtime::{ExecutionStatus, StopSignal, Termination};

/// The code of a program that the kernel kills.
const KILLED: u8 = 128 + 9;
/// The signal of a program that aborts.
const ABORT: u8 = 6;

/// The exit code of a run. That of the program is passed on. The others are those by which
/// `timeout`, `env` and `docker run` report what is not from their program. A program can exit with
/// each of them, so JSON documents have the [origin](Self::to_json) as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunExit {
    /// The program exited with this code.
    Exited(u8),
    /// This signal ended the program.
    Signaled(u8),
    /// The program, which is WebAssembly, trapped. The code is that of an abort, as of `wasmtime`.
    Trapped,
    /// The program exceeded a limit other than time. The code is that of a killed program.
    Limit,
    /// The program exceeded its deadline, whatever it exited with afterwards.
    Deadline,
    /// The command failed, possibly after the program ended: its result is incomplete or not
    /// recorded.
    Failed,
    /// The policy, the user or a hook denied the run. The code is that of a failed command: 126
    /// says that the system refuses to execute a file that was found, and here nothing was
    /// executed. With `docker run`, the code of a request that the daemon denies is 125, too.
    Denied,
    /// The program was found and could not be started.
    NotStarted,
    /// The skill, its script or a program was not found.
    NotFound,
    /// This signal ended the command, whatever the program exited with afterwards.
    Interrupted(StopSignal),
}

impl RunExit {
    /// Returns the code of a result.
    pub(crate) fn from_status(status: &ExecutionStatus) -> Self {
        let termination = match status {
            ExecutionStatus::Success => return Self::Exited(0),
            ExecutionStatus::Timeout { .. } => return Self::Deadline,
            ExecutionStatus::PermissionDenied { .. } => return Self::Denied,
            ExecutionStatus::Failed { termination } => termination,
            _ => return Self::Failed,
        };
        match termination {
            // Systems with larger codes than a byte do not report success as a failure.
            Termination::Exited { code } => Self::Exited(u8::try_from(*code).unwrap_or(1)),
            Termination::Signaled { signal } => {
                u8::try_from(*signal).map_or(Self::Failed, Self::Signaled)
            }
            Termination::Trapped { .. } | Termination::StackOverflow => Self::Trapped,
            Termination::MemoryLimit { .. }
            | Termination::OutputLimit { .. }
            | Termination::DiskLimit(_)
            | Termination::HandleLimit { .. } => Self::Limit,
            _ => Self::Failed,
        }
    }

    /// Returns the code of an error, by its code in JSON documents.
    pub(crate) fn from_error_code(code: &str) -> Self {
        match code {
            "unknown-skill" | "no-program" | "unknown-program" | "program-not-found"
            | "not-found" => Self::NotFound,
            "load" | "sandbox-setup" => Self::NotStarted,
            "denied" => Self::Denied,
            _ => Self::Failed,
        }
    }

    /// Returns the code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128_u8.saturating_add(signal),
            Self::Trapped => 128 + ABORT,
            Self::Limit => KILLED,
            Self::Deadline => 124,
            Self::Failed | Self::Denied => 125,
            Self::NotStarted => 126,
            Self::NotFound => 127,
            Self::Interrupted(signal) => 128 + signal.number(),
        }
    }

    /// Returns the code with its origin as JSON: `program` or `skills`, and the reason.
    pub(crate) fn to_json(self) -> Value {
        let from = if self.is_of_program() {
            "program"
        } else {
            "skills"
        };
        json!({"code": self.code(), "from": from, "reason": self.reason()})
    }

    /// Returns true if the program ended by itself, with this code.
    pub(crate) fn is_of_program(self) -> bool {
        matches!(self, Self::Exited(_) | Self::Signaled(_) | Self::Trapped)
    }

    /// Returns the stable word for the reason.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signaled(_) => "signaled",
            Self::Trapped => "trapped",
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::NotStarted => "not-started",
            Self::NotFound => "not-found",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(termination: Termination) -> Value {
        RunExit::from_status(&ExecutionStatus::Failed { termination }).to_json()
    }

    #[test]
    fn codes_of_programs_are_passed_on_with_their_origin() {
        let of_program = |code, reason| json!({"code": code, "from": "program", "reason": reason});
        for code in [1, 2, 42, 124, 125, 126, 127, 130, 255] {
            let exited = failed(Termination::Exited { code });
            assert_eq!(exited, of_program(code, "exited"));
        }
        let signaled = failed(Termination::Signaled { signal: 11 });
        assert_eq!(signaled, of_program(139, "signaled"));
        let status = ExecutionStatus::Success;
        let success = RunExit::from_status(&status).to_json();
        assert_eq!(success, of_program(0, "exited"));
    }

    #[test]
    fn codes_of_the_command_have_a_reason() {
        let of_skills = |code, reason| json!({"code": code, "from": "skills", "reason": reason});
        let limit = failed(Termination::MemoryLimit { limit_bytes: 1 });
        assert_eq!(limit, of_skills(137, "limit"));
        let timeout = RunExit::from_status(&ExecutionStatus::Timeout { limit_ms: 1 });
        assert_eq!(timeout.to_json(), of_skills(124, "deadline"));
        assert_eq!(failed(Termination::Unknown), of_skills(125, "failed"));
        for (signal, code) in [
            (StopSignal::Hangup, 129),
            (StopSignal::Interrupt, 130),
            (StopSignal::Terminate, 143),
        ] {
            let interrupted = RunExit::Interrupted(signal).to_json();
            assert_eq!(interrupted, of_skills(code, "interrupted"));
        }
    }
}
