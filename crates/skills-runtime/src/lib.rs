//! Discovers, loads and runs skills.
//!
//! ```text
//! SkillRuntime                                    covers most uses
//!   discover_skills -> SkillDescriptor ...        the model chooses by name and description
//!   get_skill(name) -> LoadedSkill                the model reads the instructions
//!   execute_skill(name) -> ExecutionArtifacts     authorize, run in a sandbox, record
//!   start_session(name) -> SkillSession           hooks around tools; a fork returns a summary
//!     |-- library() -> Library                    catalog, generations, requirements
//!     |-- prompt() -> PromptRenderer              skills section, mentions, injections, turns
//!     `-- executor() -> Executor                  plans, previews, approvals, commands, backends
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
//! use skills_runtime::SkillRuntime;
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir(directory.path().join("greet"))?;
//! # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
//! let runtime = SkillRuntime::from_directory(directory.path());
//! let skills = runtime.discover_skills();
//! assert_eq!(skills[0].id, "greet");
//! assert_eq!(runtime.get_skill("greet")?.instructions, "Hi\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approval_store;
mod builder;
mod key_links;
mod question_text;
mod runtime;
mod sanitize;
mod session;

pub use approval_store::FileApprovalStore;
pub use builder::Builder;
pub use key_links::{holds_key_by_content, is_link_of_keys};
pub use question_text::{QuestionTooLong, format_question, format_question_in_full, shell_quote};
pub use runtime::SkillRuntime;
pub use sanitize::{escape_line, escape_terminal};
pub use session::{
    AgentEvent, DeclaredHooks, HookDecision, HookOptions, HookPreview, HookReport, HookRun,
    SessionEnd, SessionEvent, SessionSummary, SkillSession,
};

/// The audit log.
pub use skills_audit as audit;
/// Packages that skills declare.
#[cfg(all(feature = "packages", unix))]
pub use skills_deps as deps;
/// Discovery of skills.
pub use skills_discovery as discovery;
pub use skills_discovery::{Catalog, Entry, Root, Scope};
pub use skills_egress::{InvalidProxy, SystemConnector, UpstreamProxies};
pub use skills_executor::{
    Allowance, CallContext, Cause, DeclaredPackages, ErrorKind, ExecutionArtifacts, ExecutionMode,
    ExecutionOptions, ExecutionStatus, Executor, ExplanationWords, Fact, FactKind, FileOwner,
    HostCommand, InputFile, InputProtocol, LimitKind, LocalModulePlace, MissingPackage, OutputFile,
    OutputFiles, OutputReporter, OutsideLink, OutsideLinkKind, PlannedRun, Precompile, Preview,
    ProgramFiles, ProgressReporter, RefusedFact, Remedy, RunExplanation, RunHandle, RunTarget,
    RuntimeError, SessionDirectory, Settings, UnreadableSkill, WithheldVariable, Workspace,
    default_memory_bytes, detect_execution_mode,
};
#[cfg(all(feature = "packages", unix))]
pub use skills_executor::{PackageConfig, PackagePlan, PackageStatus};
/// The ledger of how skills are used.
pub use skills_ledger as ledger;
pub use skills_library::{
    ActivationResult, EnvFileWarning, ForkPrompt, InjectionFormat, Injections, Library,
    LibraryError, LibraryErrorKind, LoadedSkill, MentionDecision, OnMissing, PreparedTurn,
    PrivateFile, PromptRenderer, ScriptLanguage, ScriptProblem, ScriptProblemKind, Secrets,
    SkillDescriptor, SkillPrograms, TextPart, TurnInput, TurnMention, TurnSession, UnusableReason,
    UnusableScript, UsageRecorder, check_scripts, ledger_scope, unusable_scripts, without_launcher,
};
#[cfg(feature = "search")]
pub use skills_library::{ListPaths, ListRequest, ReferenceSearch, SkillIndex, SkillSearch};
/// Parsing of `SKILL.md`.
pub use skills_manifest as manifest;
pub use skills_manifest::{Manifest, is_invisible, is_invisible_after};
#[cfg(all(feature = "packages", unix))]
pub use skills_packages as packages;
/// Permissions and policy.
pub use skills_policy as policy;
pub use skills_policy::{
    Answer, Approver, Authorization, Capability, Denial, PermissionManager, Policy, ResourceLimits,
    SandboxChoice, Secret,
};
#[cfg(all(feature = "native", unix))]
pub use skills_process::{ProgramFinder, installed_program, memory_scratch_parent};
/// Prompts for models, and mentions in user input.
pub use skills_prompt as prompt;
pub use skills_prompt::{Budget, SkillList};
pub use skills_sandbox::SandboxErrorKind;
pub use skills_sandbox::{
    CancellationToken, CapturedOutput, ChangedKeyLink, EnforcementReport, EnforcementStatus,
    Evidence, InputSink, InputStream, Locale, NeverAllowed, OutputStream, Preparation,
    ProgramTerminal, Quota, QuotaExceeded, QuotaPart, Refusal, Refusals, RefusedOperation,
    Restriction, RunEvent, Sandbox, SandboxError, ScriptType, StopSignal, TerminalSize,
    TerminalStreams, Termination,
};
#[cfg(all(feature = "container", target_os = "linux"))]
pub use skills_sandbox_container::{ContainerSandbox, ImageReference};
#[cfg(feature = "wasm")]
pub use skills_sandbox_wasm::{
    CacheUsage, CodeCache, CodeCacheError, CompileCommand, WasmProfile, compile_child,
};
/// Ranking of skills and of sections of their references by a request.
#[cfg(feature = "search")]
pub use skills_search as search;
