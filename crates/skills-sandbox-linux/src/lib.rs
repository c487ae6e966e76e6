//! Confines scripts on Linux, without a helper binary and without forking the host.
//!
//! ```text
//! Job --Plan::new--> Plan (plain data) --prepare--> ruleset, filters, pointers --clone(VM|VFORK)--> child --exec
//!                                                                                   |
//!                                     session, limits, capabilities, no_new_privs, Landlock, seccomp: each step or no exec
//! ```
//!
//! What the grants leave out is refused by the kernel:
//!
//! - **Files**: Landlock. Readable are the granted directories, the interpreter and the system's libraries; writable are granted
//!   directories and a private scratch directory, which is also `HOME` and `TMPDIR`.
//! - **Network**: no socket can be made but connected pairs of local streams. Grants for hosts are refused by this backend.
//! - **Processes**: without a grant, no second process. With one, the programs that the grants name; a list of programs is no wall, since a
//!   program may load any code that it can read, but every process stays behind the same walls.
//! - **Privileges**: none can be gained, all capabilities are dropped, and some 100 system calls that scripts have no use for fail.
//! - **Limits**: memory and file size per process, open files, time. At the deadline, and after a normal end too, the whole process group
//!   dies; no process can leave it.
//!
//! A step that the kernel refuses means that nothing runs. The [`Report`](skills_sandbox::Report) of a run says what stood, and what
//! this backend cannot do: names and sizes of other files can be seen, and the number of processes is not limited.
//!
//! This crate is empty on other systems. It must never know what a skill is.
#![cfg(target_os = "linux")]

mod child;
mod interpreter;
mod kernel;
mod plan;
mod prepared;
mod report;
mod ruleset;
mod sandbox;
mod seccomp;
mod spawn;
mod spawner;
mod stack;

pub use interpreter::Interpreters;
pub use kernel::require_landlock;
pub use plan::{PathRule, Plan, Right};
pub use sandbox::LinuxSandbox;
