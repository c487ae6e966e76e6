//! The contract between whoever runs a skill's program and whatever confines it.
//!
//! ```text
//! Job: Grants + Program + input --Sandbox::run--> Outcome: ending, captured output, report of enforced layers
//!                                            \--> SandboxError: nothing ran
//! ```
//!
//! A backend enforces what the [`Grants`](skills_policy::Grants) of a [`Job`] leave out, or refuses
//! with a [`SandboxError`]; it never falls back to something weaker. A program that fails, is
//! stopped or is killed is an [`RunOutput`], not an error.
//!
//! A [`Job`] cannot exist without grants, and grants that grant anything come only from a decision
//! of the policy.
//!
//! This crate must never know which backends exist or what a skill is.
//!
//! ```
//! use skills_policy::{Decision, Request, Rules};
//! use skills_sandbox::{Job, Program, ScriptKind};
//!
//! let Decision::Granted(grants) = Rules::default().decide(&Request::new("/skills/greet")) else { panic!("granted") };
//! let job = Job::new(grants, Program::script(ScriptKind::Python, "/skills/greet/scripts/hello.py"))
//!     .environment("SKILL_NAME", "greet")
//!     .input(br#"{"who":"world"}"#.to_vec());
//! assert_eq!(job.input_bytes(), br#"{"who":"world"}"#);
//! ```

mod cancellation;
mod capture;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "egress")]
pub mod egress;
mod environment;
mod error;
#[cfg(all(feature = "process", unix))]
pub mod interpreter;
mod job;
#[cfg(all(feature = "process", unix))]
pub mod process;
mod quota;
mod report;
mod run_output;
mod sandbox;
mod scratch_dir;

pub use cancellation::CancellationToken;
pub use capture::CapturedOutput;
pub use environment::Environment;
pub use error::{ErrorKind, SandboxError};
pub use job::{Job, Program, ScriptType};
pub use quota::{Quota, QuotaExceeded, QuotaMonitor, QuotaPart};
pub use report::{EnforcementReport, EnforcementStatus, ReportField, Restriction};
pub use run_output::{RunOutput, Termination};
pub use sandbox::{Preparation, PrepareFuture, RunFuture, Sandbox};
pub use scratch_dir::ScratchDir;
