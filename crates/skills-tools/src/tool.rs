//! The definition of a built-in tool, which is in a file of its own.

use std::path::PathBuf;
use std::pin::Pin;

use serde::de::DeserializeOwned;
use serde_json::Value;
use skills_runtime::Entry;

use crate::kept_outputs::KeptOutputs;
use crate::run::ProgramRunner;
use crate::tool_definition::Annotations;
use crate::virtual_files::VirtualFiles;
use crate::{CallContext, ToolError, ToolErrorCode, ToolGroup, ToolOutput};

/// A built-in tool: its definition for a model, and the function that executes a call.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// The groups that it belongs to.
    pub(crate) groups: &'static [ToolGroup],
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) annotations: Annotations,
    /// Returns the schema of the arguments. Validation applies all of it; a model does not see the
    /// bounds of sizes.
    pub(crate) input_schema: fn() -> Value,
    pub(crate) output_schema: fn() -> Value,
    /// Whether the schema of the argument `name` lists the available skills.
    pub(crate) lists_skills: bool,
    /// Its texts in the guide, by the step of the work.
    pub(crate) guide: &'static [(GuideStep, &'static str)],
    /// Its calls as hooks see them; `None` for a tool that only finds and reads skills.
    pub(crate) hooks: Option<HookView>,
    pub(crate) call: Call,
}

/// A step of using skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuideStep {
    Find,
    ReadInstructions,
    ReadFiles,
    Run,
    KeepResults,
}

/// A call as hooks see it: they are written for the tools of Claude Code.
#[derive(Clone, Copy)]
pub(crate) struct HookView {
    /// The tool of Claude Code with the same purpose.
    pub(crate) tool: &'static str,
    /// Returns the fields of that tool which the arguments lack.
    pub(crate) fields: fn(&Value) -> Vec<(&'static str, Value)>,
    /// Returns the skill that runs.
    pub(crate) skill: fn(&ProgramRunner, &Value) -> Option<Entry>,
}

impl HookView {
    /// A view without further fields and without a skill.
    pub(crate) const fn new(tool: &'static str) -> Self {
        Self {
            tool,
            fields: |_| Vec::new(),
            skill: |_, _| None,
        }
    }
}

/// The function that executes a call, with arguments that match the input schema.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// Reads and writes files, on a blocking thread.
    Files(fn(FileCall<'_>, Value) -> Result<ToolOutput, ToolError>),
    /// Runs a program of a skill, which the call names: it is found in a catalog that is refreshed
    /// once, before the hooks and approvals of the call.
    SkillProgram(ProgramCall),
    /// Runs a command.
    Command(ProgramCall),
}

type ProgramCall = for<'a> fn(&'a ProgramRunner, Value, &'a CallContext) -> ProgramFuture<'a>;

/// The future of a call that runs a program. On the heap, since it is large.
pub(crate) type ProgramFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// The context of a call of a tool for files.
#[derive(Clone, Copy)]
pub(crate) struct FileCall<'a> {
    pub(crate) files: &'a VirtualFiles,
    pub(crate) session: Option<&'a str>,
    /// The directories of the skills that the session has loaded, the latest last.
    pub(crate) loaded: &'a [PathBuf],
    /// The output of programs that sessions can read.
    pub(crate) outputs: Option<&'a KeptOutputs>,
    /// How many bytes of text the client of the model shows.
    pub(crate) max_text_bytes: Option<usize>,
}

/// Parses the arguments of a tool.
///
/// # Errors
/// `invalid_arguments`.
pub(crate) fn parse_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolErrorCode::InvalidArguments.error(format!("invalid arguments: {error}"))
    })
}

/// Returns a text among arguments, empty if it is missing.
pub(crate) fn text_argument<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}
