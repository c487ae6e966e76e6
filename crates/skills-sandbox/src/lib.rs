//! The contract between callers that run a program and backends that sandbox it.
//!
//! ```text
//! Job: Grants + Program + input --Sandbox::run--> RunOutput: termination, captured output, EnforcementReport
//!                                  |         \--> SandboxError: nothing ran
//!                                  \--> RunEvent, as it comes
//! ```
//!
//! A backend denies everything that the [`Grants`](skills_policy::Grants) of a [`Job`] do not
//! allow, or rejects the job with a [`SandboxError`]; it never falls back to a weaker restriction.
//! A program that fails, is stopped or is killed is a [`RunOutput`], not an error.
//!
//! A [`Job`] cannot exist without grants, and only an authorization by policy creates grants that
//! allow anything.
//!
//! This crate must never depend on a backend, and must not know what a skill is.
//!
//! ```
//! use skills_policy::{Authorization, Policy, Request};
//! use skills_sandbox::{Job, Program, ScriptType};
//!
//! let request = Request::new("/skills/greet");
//! let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
//!     panic!("granted by default")
//! };
//! let job = Job::new(grants, Program::script(ScriptType::Python, "/skills/greet/scripts/hello.py"))
//!     .env("SKILL_NAME", "greet")
//!     .stdin(br#"{"who":"world"}"#.to_vec());
//! assert_eq!(job.stdin_bytes(), br#"{"who":"world"}"#);
//! ```

mod cancellation;
mod capture;
mod changed_entries;
mod env_variable;
mod error;
mod job;
mod job_of_user;
mod kept_input;
mod locale;
mod program;
mod program_environment;
mod program_streams;
mod program_terminal;
mod quota;
mod refusal;
mod report;
mod run_events;
mod run_output;
mod sandbox;
mod shebang;

pub use cancellation::{CancellationToken, StopSignal, wait_cancelled};
pub use capture::CapturedOutput;
pub use changed_entries::{ChangedEntries, ChangedFile};
pub use error::{SandboxError, SandboxErrorKind};
pub use job::Job;
pub use locale::Locale;
pub use program::{Program, ScriptType};
pub use program_environment::Environment;
pub use program_streams::{InputSink, InputStream, ProgramStreams};
pub use program_terminal::{ProgramTerminal, TerminalSize, TerminalStreams};
pub use quota::{Quota, QuotaExceeded, QuotaPart};
pub use refusal::{Evidence, NeverAllowed, Refusal, Refusals, RefusedOperation};
pub use report::{EnforcementReport, EnforcementStatus, ReportField, Restriction};
pub use run_events::{
    EventReceiver, EventSender, EventsClosed, OutputStream, RunEvent, run_events,
};
pub use run_output::{
    ChangedKeyLink, ExecutedFile, ExecutedFiles, HostConnections, PrivateHome, RunOutput,
    Termination,
};
pub use sandbox::{Preparation, PrepareFuture, RunFuture, Sandbox};
pub use shebang::Shebang;
