//! The tools that a model calls to find, read, write, make and run skills, whatever carries the
//! calls.
//!
//! ```text
//! ToolSet::definitions() --> names, schemas, annotations --> MCP | OpenAI-style | Anthropic-style
//! ToolSet::call(name, arguments, context)
//!      |  arguments against the schema
//!      |-- files: virtual path -> mount -> handle -> bytes        no path of this machine goes in or out
//!      `-- programs: words -> SkillRuntime -> sandbox -> Outcome  policy decides, never the model
//! ToolSet::publications() --> skills with the digests of all their files, for hosts elsewhere
//! ToolSet::prompts()      --> skills that a user calls by name
//! ```
//!
//! This crate must never know JSON-RPC, standard input and output, or which backend confines a
//! program.

mod builtin;
mod call_context;
mod catalog_cache;
mod catalog_tools;
mod error;
mod file_tools;
mod files;
mod guide;
mod hidden_dirs;
mod mount;
mod overrides;
mod path_map;
mod publication;
mod registry;
mod run;
mod schema;
mod script;
mod tool_definition;
mod tool_output;
mod tool_set;
mod user_prompt;
mod virtual_path;
#[cfg(feature = "watch")]
mod watch;

pub use call_context::CallContext;
pub use error::{ToolError, ToolErrorCode};
pub use file_tools::{KeyFileAccess, SkillWrites};
pub use files::sensitive::protected_name;
pub use mount::{Mount, MountError};
pub use overrides::{OverrideError, OverrideStore, ToolOverride};
pub use publication::{
    Completion, PublicationError, PublicationErrorKind, PublishedContent, PublishedFile,
    PublishedSkill, PublishedSkills,
};
pub use run::executor::ScriptExecutor;
pub use run::run_skill_script::ScriptResult;
/// The layer that finds and runs skills.
pub use skills_runtime as runtime;
pub use tool_definition::{Annotations, ToolDefinition, ToolFormat};
pub use tool_output::ToolOutput;
pub use tool_set::{
    DefaultScriptState, MissingEnv, ToolGroup, ToolSet, ToolSetBuildError, ToolSetBuilder,
    UnknownTool,
};
pub use user_prompt::{RenderedPrompt, SkillPrompt};
#[cfg(feature = "watch")]
pub use watch::WatchHandle;
