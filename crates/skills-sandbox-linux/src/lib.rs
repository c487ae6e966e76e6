//! Confines scripts on Linux, without a helper binary and without forking the host.
//!
//! ```text
//! Machine: the real steps, tried once --> Tier
//!                                          |
//! Job --Plan::new--> Plan (plain data) --prepare--> descriptors, tree, ruleset, filter --clone(VM|VFORK)--> child --exec
//!                                                                                            |
//!           session, control group, user, file tree, network, limits, capabilities, no_new_privs, Landlock, seccomp: each step or no exec
//! ```
//!
//! What the grants leave out is refused by the kernel, in one of two [`IsolationLevel`]s:
//!
//! - **Files**: isolated, a file tree of the program's own, in which nothing else exists, and
//!   Landlock as a second wall; else Landlock alone. Readable are the granted directories, the
//!   interpreter and the system's libraries; writable are granted directories and a private scratch
//!   space, which holds `HOME` and `TMPDIR`.
//! - **Network**: no socket can be made but connected pairs of local streams. Granted hosts are
//!   reached, in the isolated tier alone, through a proxy that is the only thing in a network of
//!   the program's own.
//! - **Processes**: without a grant, no second process. With one, the programs that the grants
//!   name; a list of programs is no wall, since a program may load any code that it can read, but
//!   every process stays behind the same walls.
//! - **Privileges**: none can be gained, all capabilities are dropped, nobody is root inside, and
//!   some 90 system calls that scripts have no use for fail.
//! - **Limits**: memory, file size, open files, processes, scratch space, time; what the kernel
//!   counts only per process is said to be so. At the deadline, after a normal end, and when the
//!   host is killed, every process of the run dies.
//!
//! A step that the kernel refuses means that nothing runs. The [`EnforcementReport`](skills_sandbox::EnforcementReport)
//! of a run says what stood, why it was not more, and what to do about it.
//!
//! This crate is empty on other systems. It must never know what a skill is.
#![cfg(target_os = "linux")]

mod cgroup;
mod child;
mod child_setup;
mod granted_path;
mod hints;
mod host_support;
mod isolation;
mod landlock_abi;
mod landlock_ruleset;
mod plan;
#[cfg(test)]
mod properties;
mod protected_entries;
mod report;
mod resident_monitor;
mod rlimits;
mod rootfs;
mod rootfs_plan;
mod sandbox;
mod seccomp;
mod setup_step;
mod spawn;
mod spawner;
mod stack;
mod user_ids;
mod watchdog;

pub use isolation::{IsolationLevel, IsolationMode};
pub use plan::{PathAccess, PathRule, Plan, PlanContext, SymlinkPolicy};
pub use rootfs_plan::RootFsPlan;
pub use sandbox::LinuxSandbox;
#[cfg(feature = "fault-injection")]
pub use setup_step::SetupStep;
