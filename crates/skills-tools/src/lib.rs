//! The tools that a model calls to find, read, write, make and run skills, whatever carries the calls.
//!
//! ```text
//! ToolSet::definitions() --> names, schemas, annotations --> MCP | OpenAI-style | Anthropic-style
//! ToolSet::call(name, arguments, context)
//!      |  arguments against the schema
//!      |-- files: virtual path -> mount -> handle -> bytes        no path of this machine goes in or out
//!      `-- programs: words -> SkillRuntime -> sandbox -> Outcome  policy decides, never the model
//! ```
//!
//! This crate must never know JSON-RPC, standard input and output, or which backend confines a program.

mod definition;
mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the set of tools is not there yet"))]
mod file_tools;
mod files;
#[cfg_attr(not(test), expect(dead_code, reason = "the set of tools is not there yet"))]
mod mount;
mod outcome;
mod path;
mod script;

pub use definition::{Annotations, Definition, Flavour};
pub use error::{Code, ToolError};
pub use file_tools::{KeyFiles, SkillWrites};
pub use mount::{Mount, MountError};
pub use outcome::Outcome;
