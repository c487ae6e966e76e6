//! Tools with which a model finds, reads, writes, creates and runs skills, independent of the
//! protocol that carries the calls.
//!
//! ```text
//! ToolSet::definitions() --> names, schemas, annotations --> MCP | OpenAI-style | Anthropic-style
//! ToolSet::call(name, arguments, context)
//!      |  validate the arguments against the schema
//!      |-- files: virtual path -> mount -> handle -> bytes       no host path goes in or out
//!      `-- programs: argv -> SkillRuntime -> sandbox -> output   policy decides, never the model
//! ToolSet::published_skills() --> skills with the digests of all their files, for remote clients
//! ToolSet::prompts()          --> skills that a user invokes by name
//! ```
//!
//! This crate must not depend on JSON-RPC, standard input and output, or a particular sandbox
//! backend.

mod argument_validator;
mod coercion;
mod error;
mod files;
mod folded_paths;
mod guide;
mod kept_outputs;
mod loaded_files;
mod long_text;
mod mount;
mod nearest_name;
mod overrides;
mod path_map;
mod portable_schema;
mod publication;
mod registry;
mod run;
mod sanitize;
mod schema;
mod skill_text;
mod tool;
mod tool_definition;
mod tool_group;
mod tool_output;
mod tool_set;
mod tools;
mod user_prompt;
mod virtual_files;
mod virtual_path;
mod waiting_skills;

pub use error::{ToolError, ToolErrorCode};
pub use files::media::media_type_by_name;
pub use files::sensitive::protected_name;
pub use mount::{Mount, MountError};
pub use overrides::{OverrideError, OverrideStore, ToolOverride};
pub use publication::{
    Completion, PublicationError, PublicationErrorKind, PublishedContent, PublishedFile,
    PublishedSkill, PublishedSkills, UnpublishedSkill,
};
pub use registry::DefaultScriptState;
pub use run::{HookMode, ProgramOptions, WorkingDirectory};
/// The crate that finds and runs skills.
pub use skills_runtime as runtime;
pub use skills_runtime::CallContext;
pub use tool_definition::{Annotations, ToolDefinition, ToolFormat};
pub use tool_group::ToolGroup;
pub use tool_output::ToolOutput;
pub use tool_set::{ToolSet, ToolSetBuildError, ToolSetBuilder, UnknownTool};
pub use tools::starts_programs;
pub use user_prompt::{RenderedPrompt, SkillPrompt};
pub use virtual_files::SkillWrites;
pub use waiting_skills::WaitingSkills;
