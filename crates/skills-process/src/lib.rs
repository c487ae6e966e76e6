//! Process supervision, interpreter search and quotas for sandbox backends that run native programs.
//!
//! ```text
//! Job --ProgramFinder--> ResolvedProgram --backend--> restricted process
//!                                                       |          |
//!             SupervisedOutput <--supervise-------------+          +--> directories
//!                                                                         |
//!                                              quotas <--QuotaMonitor-----+
//! ```
//!
//! - [`SCRATCH_PREFIX`] and [`memory_scratch_parent`] say how the private temporary directories of
//!   runs are named, and where small ones are.
//! - `ProtectedEntries` finds protected paths in writable directories, and what a run changed of them.
//!   On Unix.
//! - `KeyFiles` finds files in granted directories that may hold keys. On Unix.
//! - [`QuotaMonitor`] measures directories against their [`Quota`](skills_sandbox::Quota).
//! - `ProgramFinder` finds interpreters and other programs by reading files only. On Unix.
//! - `supervise` feeds and captures a process until it ends or exceeds a limit, and kills its whole
//!   group. On Unix.
//!
//! This crate restricts nothing: a backend creates the restricted process and hands it over. It
//! must never depend on a backend, and must not know what a skill is.
//!
//! ```
//! use skills_process::QuotaMonitor;
//! use skills_sandbox::Quota;
//!
//! let scratch = tempfile::tempdir()?;
//! let monitor = QuotaMonitor::open(&[Quota::new(scratch.path(), 1 << 20)])?;
//! std::fs::write(scratch.path().join("a"), "temporary")?;
//! assert!(monitor.measure().is_ok());
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(unix)]
mod change_clock;
#[cfg(unix)]
mod disk_reserve;
#[cfg(unix)]
mod entry_state;
#[cfg(unix)]
mod git_config;
#[cfg(unix)]
mod git_named_files;
#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
mod key_files;
#[cfg(unix)]
mod open_directory;
#[cfg(unix)]
mod protected_entries;
mod quota_monitor;
#[cfg(unix)]
mod regular_file;
mod scratch_location;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod small_executable;
#[cfg(unix)]
mod supervise;

#[cfg(unix)]
pub use interpreter::{
    ProgramFinder, ResolvedProgram, installed_program, interpreter_args, interpreter_names,
};
#[cfg(unix)]
pub use key_files::{KeyFile, KeyFiles, KeySearchLimit, holds_key_by_content};
#[cfg(unix)]
pub use protected_entries::{ProtectedChanges, ProtectedEntries, SearchLimit};
pub use quota_monitor::QuotaMonitor;
pub use scratch_location::{SCRATCH_PREFIX, memory_scratch_parent};
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use small_executable::small_executable;
#[cfg(unix)]
pub use supervise::{
    Bounds, GroupLeader, InputEnd, Leader, LeaderStatus, OutputEnd, Process, QuotaWatch,
    SpawnedGroup, Streams, SupervisedOutput, supervise,
};
#[cfg(target_os = "linux")]
pub use supervise::{PidfdChild, PidfdLeader};
