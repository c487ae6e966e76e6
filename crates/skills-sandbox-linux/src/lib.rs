//! A sandbox for scripts on Linux, built from namespaces, Landlock, seccomp and resource limits. It
//! needs no helper binary, no root and no fork of the host process.
//!
//! ```text
//! host: first run, or a probe if it fails --> IsolationLevel
//!                                            |
//! Job --Plan::new--> Plan (plain data) --ChildSetup--> descriptors, rootfs, ruleset, filter
//!                                                          |
//!       clone(VM) --> child in its namespaces --> setup steps --> execve
//! ```
//!
//! The setup steps are, in order: session, user namespace, network, `/proc`, cgroup, root file system,
//! streams, resource limits, capabilities, `no_new_privs`, Landlock, seccomp and signals. If the
//! kernel rejects any of them, nothing runs (fail closed).
//!
//! What the grants do not include is denied by the kernel, at one of two [`IsolationLevel`]s:
//!
//! - **Files**: with namespaces, a separate root file system that contains nothing else, and
//!   Landlock as a second restriction; otherwise Landlock alone. Readable are the granted
//!   directories, the interpreter and the libraries of the system. Writable are granted directories
//!   and a private scratch directory, which contains `HOME` and `TMPDIR`.
//! - **Network**: no Internet sockets to the host or beyond. With namespaces the processes of a run
//!   talk over local sockets, to which the host process connects; otherwise there are only connected
//!   pairs of local streams. Granted hosts are reached through a proxy, which is the only peer in a
//!   network namespace of the run; this needs namespaces.
//! - **Processes**: without a grant, no second process. With one, the programs that the grants
//!   name. A program allowlist is not a security boundary: a program can load any code it can read.
//!   All processes share the same restrictions.
//! - **Privileges**: no program can gain any. All capabilities are dropped, the user is never root
//!   in the sandbox, and about 90 system calls that scripts do not need fail.
//! - **Limits**: memory, file size, open files, processes, scratch space and time. The report says
//!   which of them the kernel counts per process only. At the deadline, after a normal exit, and
//!   when the host is killed, all processes of the run are killed.
//!
//! The [`EnforcementReport`](skills_sandbox::EnforcementReport) of a run lists the restrictions
//! that were in effect, why stronger ones were not, and how to enable those.
//!
//! This crate is empty on other systems. It must never know what a skill is.
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use skills_policy::{Authorization, Policy, Request};
//! use skills_sandbox::{Job, Program, Sandbox, ScriptType};
//! use skills_sandbox_linux::LinuxSandbox;
//!
//! let directory = tempfile::tempdir()?;
//! let script = directory.path().canonicalize()?.join("main.sh");
//! std::fs::write(&script, "echo hello; echo >> main.sh")?;
//!
//! // Without rules a script may read its own directory, and nothing else.
//! let request = Request::new(script.parent().unwrap());
//! let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
//!     panic!("reading the own directory needs no rule")
//! };
//! let sandbox = LinuxSandbox::new(directory.path());
//! // Nothing runs on a host that can enforce neither namespaces nor Landlock.
//! if sandbox.probe().is_ok() {
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     let job = Job::new(grants, Program::script(ScriptType::Shell, script));
//!     let output = runtime.block_on(sandbox.run(job))?;
//!     assert_eq!(output.stdout.text(), "hello\n");
//!     assert!(!output.termination.is_success());
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
#![cfg(target_os = "linux")]

mod certificate_rules;
mod cgroup;
mod child;
mod child_setup;
mod denied_settings;
mod descriptors;
mod disk_limits;
mod excluded_paths;
mod grant_checks;
mod granted_path;
mod hints;
mod home_files;
mod host_support;
mod init_image;
mod isolation;
mod key_rules;
mod landlock_abi;
mod landlock_ruleset;
mod layer;
mod local_sockets;
mod memory_use;
mod name_server;
mod observer;
mod path_rule;
mod plan;
#[cfg(test)]
mod plan_properties;
mod private_terminal;
mod proc_entries;
mod processors;
mod program_status;
mod report;
mod resident_monitor;
mod rlimits;
mod rootfs;
mod rootfs_plan;
mod run_network;
mod run_processes;
mod sandbox;
mod scratch_links;
mod setup_slot;
mod setup_step;
mod shared_mappings;
mod spawn;
mod spawner;
mod stack;
mod standard_streams;
mod system_paths;
mod user_ids;
mod watchdog;

pub use isolation::{IsolationLevel, IsolationMode};
pub use path_rule::{PathAccess, PathRule, PlanContext, SymlinkPolicy};
pub use plan::Plan;
pub use rootfs_plan::RootFsPlan;
pub use sandbox::LinuxSandbox;
#[cfg(feature = "fault-injection")]
pub use setup_step::SetupStep;
