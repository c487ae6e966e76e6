//! Sandboxes scripts on macOS with the system's `sandbox-exec`.
//!
//! ```text
//! Job + ExecutableSet --Plan::new--> Plan (plain data): Profile, arguments, environment
//!                                      |  up to here on every system, below on macOS
//!                                      +--> profile file --> sandbox-exec --> RunOutput
//! ```
//!
//! The profile follows the OpenSkills flow: everything is denied, then kernel values, the system's
//! libraries, temporary directories, the skill (read-only), granted directories and code
//! directories are allowed; processes only with a grant. Added are the few permissions without
//! which no interpreter starts. It differs where the flow is unsafe:
//!
//! - **Paths** of callers are never part of the text: they are parameters, so no path can end a
//!   string or start a rule.
//! - **Deny rules are emitted last**; in SBPL the last match wins. They protect the skill, files in
//!   writable directories that other programs execute later (Git hooks and configuration, shell
//!   startup files, agent settings), the interpreter and its libraries, and the profiles of other
//!   runs.
//! - **Programs**: without a grant the interpreter is the only program, and it cannot fork. A list
//!   of programs allows exactly these, by their resolved paths; programs that they start must be in
//!   the list as well.
//! - **Hosts**: a profile cannot name them. With granted hosts the only allowed connection is to a
//!   local port ([`ProxyAccess`]), where a proxy ([`skills_egress`]) checks them during
//!   the run.
//!
//! The profile is written to `/tmp/openskills-seatbelt-{random}.sb`, a new file that only
//! its owner can read, and is removed however the run ends. At the deadline, and after a normal
//! exit too, the whole process group is killed. If `sandbox-exec` fails, the run fails; a program
//! is never started without it.
//!
//! Not possible on macOS: memory, file size and the number of processes are not limited, sandboxes
//! do not nest, and a process that a granted program moved out of the group survives the deadline,
//! still sandboxed. `/tmp` is shared, as in the flow. Other programs on the host can find the port
//! of the proxy and connect to the granted hosts through it during the run. The
//! [`EnforcementReport`](skills_sandbox::EnforcementReport) of each run says so.
//!
//! The profile is tested with an SBPL evaluator, not on macOS; the backend is tested on every
//! system with a stub for `sandbox-exec`.
//!
//! This crate must not know what a skill is.
//!
//! ```
//! use skills_policy::{Authorization, Policy, Request};
//! use skills_sandbox::{Job, Program, ScriptType};
//! use skills_sandbox_seatbelt::{ExecutableSet, Plan, PlanContext, ProxyAccess};
//!
//! let request = Request::new("/skills/pdf");
//! let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
//!     panic!("granted by default")
//! };
//! let job = Job::new(grants, Program::script(ScriptType::Python, "/skills/pdf/scripts/run.py"));
//! let python = ExecutableSet::new("/usr/bin/python3");
//! let context = PlanContext {
//!     scratch: "/private/var/scratch".into(),
//!     profile_path: "/tmp/openskills-seatbelt-1-0.sb".into(),
//!     network: ProxyAccess::None,
//!     keys: Vec::new(),
//! };
//! let plan = Plan::new(&job, &python, &context)?;
//! let profile = plan.profile().to_string();
//! assert!(profile.contains("(allow file-read* (subpath (param \"SKILL_ROOT\")))"));
//! assert!(plan.args().contains(&"SKILL_ROOT=/skills/pdf".to_owned()));
//! assert_eq!(plan.args().last().unwrap(), "/skills/pdf/scripts/run.py");
//! # Ok::<(), skills_sandbox::SandboxError>(())
//! ```

mod error;
mod executable_set;
mod parameter;
mod plan;
mod profile;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod resolve;
mod rule;
#[cfg(unix)]
mod sandbox;
#[cfg(all(test, unix))]
mod tests;

pub use error::ProfileError;
pub use executable_set::{Executable, ExecutableSet};
pub use parameter::{Parameter, ProfilePath};
pub use plan::{Plan, PlanContext};
pub use profile::{Profile, ProfileInput, ProxyAccess};
pub use rule::{Filter, Operation, Rule};
#[cfg(unix)]
pub use sandbox::SeatbeltSandbox;
