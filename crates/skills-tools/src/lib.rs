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

mod context;
mod definition;
mod error;
mod file_tools;
mod files;
mod fixed;
mod guide;
mod hidden;
mod knowledge;
mod looks;
mod mount;
mod outcome;
mod overrides;
mod path;
mod publication;
mod registry;
mod run;
mod schema;
mod script;
mod shown;
mod tool_set;
mod user_prompt;
#[cfg(feature = "watch")]
mod watch;

pub use context::CallContext;
pub use definition::{Annotations, Definition, Flavour};
pub use error::{Code, ToolError};
pub use file_tools::{KeyFiles, SkillWrites};
pub use files::guard::protected_name;
pub use mount::{Mount, MountError};
pub use outcome::Outcome;
pub use overrides::{Override, OverrideError, Overrides};
pub use publication::{
    Completion, Publication, PublicationError, PublicationErrorKind, Publications, PublishedBytes,
    PublishedFile,
};
pub use run::engine::ScriptResult;
pub use run::executor::ScriptExecutor;
/// The layer that finds and runs skills.
pub use skills_runtime as runtime;
pub use tool_set::{BuildError, Builder, MissingEnv, NewScripts, ToolSet, Toolbox, UnknownTool};
pub use user_prompt::{Prompted, SkillPrompt};
#[cfg(feature = "watch")]
pub use watch::Watching;
