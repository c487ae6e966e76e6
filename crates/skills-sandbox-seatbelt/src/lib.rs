//! Confines scripts on macOS with the system's own `sandbox-exec`.
//!
//! ```text
//! Job + Executables --Plan::new--> Plan (plain data): Profile, arguments, environment
//!                                    |  on every system up to here, on macOS from here
//!                                    +--> profile file --> sandbox-exec -f … -D NAME=PATH … -- interpreter script --> Outcome
//! ```
//!
//! The profile is that of the OpenSkills flow: everything denied, then values of the kernel, the
//! system's libraries, temporary directories, the skill read-only, granted directories, where code
//! is loaded from; processes only with a grant. To that come the few things without which no
//! interpreter starts. It differs where the flow is unsafe:
//!
//! - **Paths** of callers never stand in the text: they are parameters, so no path can end a string
//!   or start a rule.
//! - **Denials come last**, and the last match wins: nothing writes to the skill, nor to what
//!   others run later in a directory that may be written (hooks and settings of Git, start files of
//!   shells, settings of agents), nor to the interpreter and its libraries, nor to the profile of
//!   another run.
//! - **Programs**: without a grant the interpreter is the only program, and no process is made. A
//!   list of programs means these, by their resolved paths; what they start in turn must be on the
//!   list as well.
//! - **Hosts**: a profile cannot name them. With grants for hosts the one thing that is reached is
//!   a port of this machine ([`ProxyAccess`]), behind which a proxy knows them
//!   ([`skills_sandbox::egress`]) as long as the run lasts.
//!
//! The profile lies in `/tmp/openskills-seatbelt-{pid}-{attempt}.sb`, a new file that only its
//! owner reads, and is removed however the run ends. At the deadline, and after a normal end too,
//! the whole process group dies. `sandbox-exec` that fails is an error; nothing is ever tried
//! without it.
//!
//! What macOS cannot do: memory, the size of files and the number of processes are not limited,
//! sandboxes do not nest, and a process that a granted program moved out of the group outlives the
//! deadline behind the same walls. `/tmp` is shared, as the flow has it. Other programs of this
//! machine can find the port of the proxy and reach the listed hosts through it while the run
//! lasts, and no others. The [`Report`](skills_sandbox::Report) of each run says so.
//!
//! The profile has been held against its language, not against a kernel: its tests evaluate it on
//! every system and drive the backend with a stand-in for `sandbox-exec`.
//!
//! This crate must never know what a skill is.
//!
//! ```
//! use skills_policy::{Decision, Request, Rules};
//! use skills_sandbox::{Job, Program, ScriptKind};
//! use skills_sandbox_seatbelt::{Executables, Ground, Network, Plan};
//!
//! let Decision::Granted(grants) = Rules::default().decide(&Request::new("/skills/pdf")) else { panic!("granted") };
//! let job = Job::new(grants, Program::script(ScriptKind::Python, "/skills/pdf/scripts/run.py"));
//! let python = Executables::new("/usr/bin/python3");
//! let ground = Ground { scratch: "/private/var/scratch".into(), profile: "/tmp/openskills-seatbelt-1-0.sb".into(), network: Network::None };
//! let plan = Plan::new(&job, &python, &ground)?;
//! assert!(plan.profile().to_string().contains("(allow file-read* (subpath (param \"SKILL_ROOT\")))"));
//! assert!(plan.arguments().contains(&"SKILL_ROOT=/skills/pdf".to_owned()));
//! assert!(plan.arguments().ends_with(&["--".to_owned(), "/usr/bin/python3".into(), "/skills/pdf/scripts/run.py".into()]));
//! # Ok::<(), skills_sandbox::SandboxError>(())
//! ```

mod error;
mod executable_set;
mod parameter;
mod plan;
mod profile;
#[cfg(unix)]
mod profile_file;
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
