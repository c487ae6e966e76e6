//! Discovers, loads and runs skills.
//!
//! ```text
//! Roots --discover_skills--> SkillDescriptor ...   the model chooses by name and description
//! name  --get_skill-------> LoadedSkill           the model reads the instructions
//! name  --execute_skill---> ExecutionArtifacts    authorize, run in a sandbox, record
//!             |
//!                         detect mode -> rules, approvals, approver -> job -> backend
//! name  --start_session---> SkillSession           hooks around tools; a forked session returns a summary
//! ```
//!
//! The names follow the OpenSkills API. This crate connects the layers below: manifests, discovery,
//! policy, prompts, audit and sandboxes. Backends are cargo features, `wasm` and `native`, both
//! enabled by default; without its backend a program fails with an error and never runs unconfined.
//! Scripts run on Linux and macOS; WebAssembly runs on all systems.
//!
//! This crate must not depend on MCP, tool schemas or the terminal.
//!
//! ```
//! use skills_runtime::{Root, Scope, SkillRuntime};
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir(directory.path().join("greet"))?;
//! # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
//! let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::Repo)).build();
//! let skills = runtime.discover_skills();
//! assert_eq!(skills[0].id, "greet");
//! assert_eq!(runtime.get_skill("greet")?.instructions, "Hi\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approval_prompt;
mod approval_queue;
mod approval_store;
mod artifacts;
mod backends;
mod builder;
mod catalog;
mod error;
mod execute;
mod hooks;
mod host_command;
mod input_protocol;
mod job;
mod mode;
mod opened_skill;
mod optional_mounts;
mod options;
mod output_files;
mod precompile;
mod preview;
mod private_file;
mod program_detection;
mod prompting;
mod requirements;
mod run_plan;
mod run_record;
mod run_target;
mod runtime;
mod sanitize;
mod secrets;
mod session;
mod session_directory;
mod skill;
mod skill_copies;
mod tool_access;
mod workspace;

pub use approval_prompt::{
    PromptTooLong, format_approval_request, format_approval_request_in_full,
};
pub use approval_store::FileApprovalStore;
pub use artifacts::{ExecutionArtifacts, ExecutionStatus};
pub use builder::Builder;
pub use error::{ErrorKind, RuntimeError};
pub use hooks::{AgentEvent, HookDecision, HookReport, HookRun};
pub use host_command::HostCommand;
pub use input_protocol::InputProtocol;
pub use mode::ExecutionMode;
pub use options::{ExecutionOptions, InputFile, Workspace};
pub use output_files::{OutputFile, OutputFiles};
pub use precompile::Precompile;
pub use preview::Preview;
pub use private_file::PrivateFile;
pub use program_detection::detect_execution_mode;
pub use prompting::{ActivationResult, InjectionFormat, Injections};
pub use requirements::OnMissing;
pub use runtime::SkillRuntime;
pub use sanitize::{escape_line, escape_terminal};
pub use secrets::{EnvFileWarning, Secrets};
pub use session::{SessionEnd, SessionEvent, SessionSummary, SkillSession};
pub use session_directory::SessionDirectory;
pub use skill::{LoadedSkill, SkillDescriptor};
pub use tool_access::ToolAccess;

/// The audit log.
pub use skills_audit as audit;
/// Discovery of skills.
pub use skills_discovery as discovery;
pub use skills_discovery::{Catalog, Entry, Root, Scope};
/// Parsing of `SKILL.md`.
pub use skills_manifest as manifest;
pub use skills_manifest::{Manifest, is_invisible};
/// Permissions and policy.
pub use skills_policy as policy;
pub use skills_policy::{
    ApprovalResponse, Approver, Authorization, Capability, Denial, PermissionManager, Policy,
    ResourceLimits,
};
#[cfg(all(feature = "native", unix))]
pub use skills_process::ProgramFinder;
/// Prompts for models, and mentions in user input.
pub use skills_prompt as prompt;
pub use skills_prompt::{Budget, Secret, SkillList};
pub use skills_sandbox::SandboxErrorKind;
pub use skills_sandbox::{
    CancellationToken, CapturedOutput, EnforcementReport, EnforcementStatus, Preparation, Quota,
    QuotaExceeded, QuotaPart, Restriction, Sandbox, SandboxError, ScriptType, Termination,
};
#[cfg(feature = "wasm")]
pub use skills_sandbox_wasm::{
    CacheUsage, CodeCache, CodeCacheError, CompileCommand, WasmProfile, compile_child,
};
