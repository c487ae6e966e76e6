//! Scripts of skills as tools.

use std::path::PathBuf;

use serde_json::{Map, Value};
use skills_runtime::{ExecutionOptions, Remedy, RunTarget, Workspace};

use super::output::{ExitKind, ProgramOutput, quota_exceeded_error, reached_timeout_ms};
use super::visible_dirs::VisibleDirs;
use super::{Deadline, ProgramRunner, RunnableSkill, WorkingDirectory, result_schema};
use crate::mount::Access;
use crate::path_map::PathMap;
use crate::portable_schema::to_portable;
use crate::registry::{DEFAULT_TIMEOUT, ScriptToolEntry};
use crate::sanitize::strip_terminal_escapes;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};
use skills_script::build_argv;
use skills_script::stem;

pub(crate) fn definition(entry: &ScriptToolEntry) -> ToolDefinition {
    let tool = &entry.tool;
    ToolDefinition {
        name: tool.name.clone(),
        title: format!("{}: {}", tool.skill, stem(&tool.file)),
        description: tool.description.clone(),
        input_schema: to_portable(tool.input_schema.clone()),
        output_schema: result_schema(),
        annotations: Annotations::EXECUTES,
    }
}

/// Runs the script of a tool, with its arguments on the command line, in the workspace or else
/// in the private directory of the session.
pub(crate) async fn call(
    programs: &ProgramRunner,
    entry: &ScriptToolEntry,
    arguments: &Map<String, Value>,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let tool = &entry.tool;
    let timeout = entry.timeout.or(programs.options.timeout);
    let deadline = Deadline::after(timeout.unwrap_or(DEFAULT_TIMEOUT));
    let script_argv = build_argv(arguments, &tool.arguments)
        .map_err(|error| ToolErrorCode::InvalidArguments.error(error.to_string()))?;
    let skill = RunnableSkill::try_new(entry.entry.clone())?;
    let mut options = programs.base_options(context);
    options.target = RunTarget::Script(format!("scripts/{}", tool.file));
    options.args = script_argv.args;
    options.stdin = script_argv.stdin.map(String::into_bytes);
    let visible_dirs = VisibleDirs::new(&programs.files, Some(&skill.entry), [])?;
    if programs.options.working_directory != WorkingDirectory::Session {
        visible_dirs.add_to(&mut options);
    }
    let path_map = set_directories(programs, &mut options, visible_dirs.path_map())?;
    let is_in_workspace = matches!(options.workspace, Workspace::Directory(_));
    let mut completed = programs
        .execute_skill(&skill, options, &deadline, &path_map)
        .await?;
    if completed.output.exit == ExitKind::TimedOut {
        let limit_ms = reached_timeout_ms(&completed.artifacts).unwrap_or_default();
        let remedy = programs.remedies.describe(&Remedy::Timeout { limit_ms });
        completed.output.add_hints(remedy);
    }
    let mut output = completed.output;
    if is_in_workspace {
        output = output.with_file_prefix("/workspace");
    } else {
        // Only the scripts of the session can read its directory.
        output.files.clear();
    }
    Ok(tool_output(output, &completed.timeout_seconds))
}

/// Returns the workspace that scripts get.
pub(crate) fn script_workspace(programs: &ProgramRunner) -> Option<PathBuf> {
    let workspace = programs.files.mounts.workspace()?;
    let is_given = match programs.options.working_directory {
        // A script that can write nowhere would fail in a read-only workspace.
        WorkingDirectory::Workspace => workspace.access == Access::ReadWrite,
        WorkingDirectory::Skill => true,
        WorkingDirectory::Session => false,
    };
    is_given.then(|| workspace.path.clone())
}

/// Sets workspace and working directory of a script. Relative paths of its arguments and its
/// output files are then in a directory that later calls can read.
fn set_directories(
    programs: &ProgramRunner,
    options: &mut ExecutionOptions,
    path_map: PathMap,
) -> Result<PathMap, ToolError> {
    let starts_in_skill = programs.options.working_directory == WorkingDirectory::Skill;
    let (workspace, directory, path_map) = match script_workspace(programs) {
        Some(path) => (Workspace::Directory(path.clone()), path, path_map),
        None => {
            let session_id = options.context.session_id();
            let session = programs
                .sessions
                .get_or_create(&programs.files.runtime, session_id)?;
            let path = session.path().to_owned();
            let path_map = path_map.add(&path, "/session");
            (Workspace::Session(session), path, path_map)
        }
    };
    options.workspace = workspace;
    options.current_dir = (!starts_in_skill).then_some(directory);
    Ok(path_map)
}

/// Converts the result: standard output is the output of a success, standard error that of a
/// failure.
fn tool_output(output: ProgramOutput, timeout_seconds: &str) -> ToolOutput {
    let error = script_error(&output, timeout_seconds);
    let own_text = match &error {
        None => output.own_text(None),
        Some(error) => error.message.clone(),
    };
    let mut printed = printed_text(&output);
    if error.is_some() {
        printed = printed.trim().to_owned();
    }
    output.into_result(own_text, printed, error)
}

/// Returns the stream of a script that answers the call: standard error of a script that exited with
/// an error, else standard output. If the script printed only to the other one, it is that.
pub(crate) fn printed_text(output: &ProgramOutput) -> String {
    let mut streams = [&output.stdout, &output.stderr];
    if matches!(output.exit, ExitKind::Exited(code) if code != 0) {
        streams.reverse();
    }
    let [first, second] = streams.map(|text| strip_terminal_escapes(text));
    if first.trim().is_empty() {
        second
    } else {
        first
    }
}

/// Returns the reason of a failure, with the fixed texts of the script runner and the explanation of
/// the run, without text of the script.
pub(crate) fn script_error(output: &ProgramOutput, timeout_seconds: &str) -> Option<ToolError> {
    let mut error = match &output.exit {
        ExitKind::Exited(0) => return None,
        ExitKind::Exited(code) => {
            let class = if output.lacks_package {
                ToolErrorCode::SetupFailed
            } else {
                ToolErrorCode::Failed
            };
            class.error(format!("Script exited with code {code}"))
        }
        ExitKind::TimedOut => ToolErrorCode::TimedOut.error(format!(
            "Script execution timed out after {timeout_seconds} seconds"
        )),
        ExitKind::Cancelled => ToolErrorCode::Cancelled.error("cancelled"),
        ExitKind::QuotaExceeded(exceeded) => quota_exceeded_error(exceeded),
        ExitKind::Other(reason) => {
            ToolErrorCode::Failed.error(format!("the script was stopped: {reason}"))
        }
    };
    error.message = output.own_text(Some(&error.message));
    Some(error)
}
