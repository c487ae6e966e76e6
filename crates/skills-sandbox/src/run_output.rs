//! What came of a run.

use std::fmt;
use std::time::Duration;

use crate::{CapturedOutput, EnforcementReport, QuotaExceeded};

/// What came of a run. A program that fails is an outcome like any other.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct RunOutput {
    /// How it ended.
    pub termination: Termination,
    /// What it wrote to standard output.
    pub stdout: CapturedOutput,
    /// What it wrote to standard error.
    pub stderr: CapturedOutput,
    /// From before the program was started until it was gone.
    pub duration: Duration,
    /// The walls around it.
    pub enforcement: EnforcementReport,
    /// What the caller should know of the run: protected paths that the program created or changed.
    /// One line each.
    pub notes: Vec<String>,
}

impl RunOutput {
    /// Puts an outcome together.
    pub fn new(
        ending: Termination,
        stdout: CapturedOutput,
        stderr: CapturedOutput,
        duration: Duration,
        report: EnforcementReport,
    ) -> Self {
        Self {
            termination: ending,
            stdout,
            stderr,
            duration,
            enforcement: report,
            notes: Vec::new(),
        }
    }

    /// Adds what the caller should know.
    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Termination {
    /// By itself, with this exit code; 0 is success.
    Exited {
        /// The code.
        code: i32,
    },
    /// By a signal that the sandbox did not send for one of the reasons below.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
    /// By itself, but how is not known: the host collected it before the sandbox could.
    Unknown,
    /// The deadline came, and the whole process tree was killed.
    TimedOut {
        /// The deadline, in milliseconds.
        limit_ms: u64,
    },
    /// It wanted more memory than it may have.
    MemoryLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// It wrote more than it may, and was stopped.
    OutputLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// A directory that it may write held more than its [quota](crate::Quota) allows, and it was
    /// stopped.
    DiskLimit(QuotaExceeded),
    /// It held more files, streams and other handles than it may, and was stopped.
    HandleLimit {
        /// The limit.
        limit: u64,
    },
    /// Whoever started it [cancelled](crate::CancellationToken) it.
    Cancelled,
    /// The WebAssembly program called itself too deeply.
    StackOverflow,
    /// The WebAssembly program trapped.
    Trapped {
        /// What happened.
        reason: String,
        /// The functions it was in, the innermost first, where the program names them. At most 16.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        frames: Vec<String>,
    },
    /// A part of this host that served the program panicked. Other runs go on.
    HostPanic {
        /// What the panic said.
        message: String,
    },
}

impl Termination {
    /// Says whether the program ended by itself with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exited { code: 0 }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signaled { signal } => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("ended, and the host took its exit code"),
            Self::TimedOut { limit_ms } => write!(f, "timed out after {limit_ms} ms"),
            Self::MemoryLimit { limit_bytes } => {
                write!(f, "stopped at its memory limit of {limit_bytes} bytes")
            }
            Self::OutputLimit { limit_bytes } => {
                write!(f, "stopped at its output limit of {limit_bytes} bytes")
            }
            Self::DiskLimit(exceeded) => write!(f, "stopped: {exceeded}"),
            Self::HandleLimit { limit } => write!(
                f,
                "stopped at its limit of {limit} open files and other handles"
            ),
            Self::Cancelled => f.write_str("cancelled"),
            Self::StackOverflow => f.write_str("trapped: its calls went too deep"),
            Self::Trapped { reason, frames } if frames.is_empty() => write!(f, "trapped: {reason}"),
            Self::Trapped { reason, frames } => {
                write!(f, "trapped: {reason}, in {}", frames.join(" < "))
            }
            Self::HostPanic { message } => write!(
                f,
                "stopped, since this host failed while serving it: {message}"
            ),
        }
    }
}
