//! Runs programs of skills, and commands, in sandboxes.
//!
//! ```text
//! options --> Planned --> Checked --> Authorized --> Ready --> Finished --> ExecutionArtifacts
//!                |                                    |
//!       PlannedRun, Preview                        RunEvent, as it comes
//! ```
//!
//! Each stage consumes the one before and never changes. An [`Executor`] plans a run from the current
//! files of a skill, checks what the host has for it, asks the policy and the approver, runs it in the
//! backend for its type, and records it. Programs that fail or are denied are results, not errors.
//!
//! This crate must not depend on MCP, tool schemas or the terminal. `skills-runtime` assembles it with
//! the other layers, and shows it in use.

mod approval_queue;
mod artifacts;
mod authorize;
mod backends;
mod call_context;
mod cancellation;
mod check;
mod collect;
mod confinement;
mod content;
mod drive;
mod error;
mod execution_mode;
mod executor;
mod explain;
mod grant_checks;
mod host_command;
mod input_protocol;
mod job;
mod local_module;
mod machine;
mod missing_paths;
mod next_attempt;
mod optional_mounts;
mod options;
mod output_files;
mod output_lines;
#[cfg(all(feature = "packages", unix))]
mod package_plans;
#[cfg(all(feature = "packages", unix))]
mod packages;
#[cfg(not(all(feature = "packages", unix)))]
#[path = "no_packages.rs"]
mod packages;
mod plan;
mod planned_run;
mod precompile;
mod prepare;
mod preview;
mod program_detection;
mod python_path;
mod readable_skills;
mod redacted_texts;
mod redaction;
mod request;
mod run_handle;
mod run_notes;
mod run_record;
mod run_streams;
mod run_subject;
mod run_use;
mod script_repair;
mod services;
mod session_directory;
mod skill_copies;
mod workspace;

pub use artifacts::{ExecutionArtifacts, ExecutionStatus, UnreadableSkill};
pub use backends::{Backends, NetworkConfig, WasmConfig};
pub use call_context::{CallContext, OutputReporter, ProgressReporter};
pub use error::{ErrorKind, RuntimeError};
pub use execution_mode::ExecutionMode;
pub use executor::Executor;
pub use explain::{
    Allowance, Cause, DeclaredPackages, ExplanationWords, Fact, FactKind, FileOwner, LimitKind,
    LocalModulePlace, MissingPackage, OutsideLink, OutsideLinkKind, ProgramFiles, RefusedFact,
    Remedy, RunExplanation, Settings, WithheldVariable,
};
pub use host_command::HostCommand;
pub use input_protocol::InputProtocol;
pub use machine::default_memory_bytes;
pub use options::{ExecutionOptions, InputFile, RunTarget, Workspace};
pub use output_files::{OutputFile, OutputFiles};
#[cfg(all(feature = "packages", unix))]
pub use package_plans::{PackagePlan, PackageStatus};
#[cfg(all(feature = "packages", unix))]
pub use packages::PackageConfig;
pub use planned_run::PlannedRun;
pub use precompile::{Precompile, spawn_precompile};
pub use preview::Preview;
pub use program_detection::detect_execution_mode;
pub use run_handle::RunHandle;
pub use run_record::Recorder;
pub use services::ExecutorConfig;
pub use session_directory::SessionDirectory;
pub use skill_copies::CopyDirectories;
