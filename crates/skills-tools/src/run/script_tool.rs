//! Scripts of skills as tools.

use std::path::PathBuf;

use serde_json::{Map, Value};
use skills_runtime::{ExecutionOptions, RunTarget, Workspace};

use super::named_skills::NamedSkills;
use super::output::{
    ExitKind, ProgramOutput, mark_program_text, quota_exceeded_error, reached_timeout_ms,
};
use super::{Deadline, ProgramTools, Remedy, RunnableSkill, WorkingDirectory, result_schema};
use crate::mount::Access;
use crate::path_map::PathMap;
use crate::portable_schema::to_portable;
use crate::registry::{DEFAULT_TIMEOUT, ScriptToolEntry};
use crate::sanitize::strip_terminal_escapes;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};
use skills_script::build_argv;
use skills_script::stem;

/// Returns the definition of a script tool.
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

impl ProgramTools {
    /// Runs the script of a tool, with its arguments on the command line, in the workspace or else
    /// in the private directory of the session.
    pub(crate) async fn run_script_tool(
        &self,
        entry: &ScriptToolEntry,
        arguments: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let tool = &entry.tool;
        let timeout = entry.timeout.or(self.options.timeout);
        let deadline = Deadline::after(timeout.unwrap_or(DEFAULT_TIMEOUT));
        let script_argv = build_argv(arguments, &tool.arguments)
            .map_err(|error| ToolErrorCode::InvalidArguments.error(error.to_string()))?;
        let skill = RunnableSkill::try_new(entry.entry.clone())?;
        let mut options = self.base_options(context);
        options.target = RunTarget::Script(format!("scripts/{}", tool.file));
        options.args = script_argv.args;
        options.stdin = script_argv.stdin.map(String::into_bytes);
        let visible_dirs = self.visible_dirs(Some(&skill.entry), &NamedSkills::default())?;
        if self.options.working_directory != WorkingDirectory::Session {
            visible_dirs.add_to(&mut options);
        }
        let path_map = self.set_directories(&mut options, visible_dirs.path_map())?;
        let is_in_workspace = matches!(options.workspace, Workspace::Directory(_));
        let mut completed = self
            .execute_skill(&skill, options, &deadline, &path_map)
            .await?;
        if completed.output.exit == ExitKind::TimedOut {
            let limit_ms = reached_timeout_ms(&completed.artifacts).unwrap_or_default();
            let remedy = self.remedies.describe(&Remedy::Timeout { limit_ms });
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
    pub(super) fn script_workspace(&self) -> Option<PathBuf> {
        let workspace = self.files.workspace()?;
        let is_given = match self.options.working_directory {
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
        &self,
        options: &mut ExecutionOptions,
        path_map: PathMap,
    ) -> Result<PathMap, ToolError> {
        let starts_in_skill = self.options.working_directory == WorkingDirectory::Skill;
        let (workspace, directory, path_map) = match self.script_workspace() {
            Some(path) => (Workspace::Directory(path.clone()), path, path_map),
            None => {
                let session_id = options.context.session_id();
                let session = self.sessions.get_or_create(&self.runtime, session_id)?;
                let path = session.path().to_owned();
                let path_map = path_map.add(&path, "/session");
                (Workspace::Session(session), path, path_map)
            }
        };
        options.workspace = workspace;
        options.current_dir = (!starts_in_skill).then_some(directory);
        Ok(path_map)
    }
}

/// Converts the result: standard output is the text of a success, standard error the reason of a
/// failure. A script that was stopped has its output after the reason.
fn tool_output(output: ProgramOutput, timeout_seconds: &str) -> ToolOutput {
    let error = script_error(&output, timeout_seconds);
    match error {
        None => {
            let text = output.with_explanation(&success_text(&output));
            ToolOutput::new(text, Value::Object(output.data))
                .with_files(output.files)
                .with_notes(output.notes)
        }
        Some(error) => {
            let so_far = match output.exit {
                ExitKind::Exited(_) => String::new(),
                _ => mark_program_text(strip_terminal_escapes(&output.stdout).trim_end()),
            };
            let mut text = error.message.clone();
            if !so_far.is_empty() {
                text = format!("{text}\n{so_far}");
            }
            ToolOutput::error_with_data(text, output.data, &error)
                .with_files(output.files)
                .with_notes(output.notes)
        }
    }
}

/// Returns the output of a script that succeeded: standard output, else standard error, on which
/// some scripts report what they have done.
pub(super) fn success_text(output: &ProgramOutput) -> String {
    let stdout = strip_terminal_escapes(&output.stdout);
    if stdout.trim().is_empty() {
        strip_terminal_escapes(&output.stderr)
    } else {
        stdout
    }
}

/// Returns the reason of a failure, with the fixed texts of the script runner.
pub(super) fn script_error(output: &ProgramOutput, timeout_seconds: &str) -> Option<ToolError> {
    Some(match &output.exit {
        ExitKind::Exited(0) => return None,
        ExitKind::Exited(code) => exit_error(output, *code),
        ExitKind::TimedOut => ToolErrorCode::TimedOut.error(output.with_explanation(&format!(
            "Script execution timed out after {timeout_seconds} seconds"
        ))),
        ExitKind::Cancelled => ToolErrorCode::Cancelled.error("cancelled"),
        ExitKind::QuotaExceeded(exceeded) => quota_exceeded_error(exceeded),
        ExitKind::Other(reason) => ToolErrorCode::Failed
            .error(output.with_explanation(&format!("the script was stopped: {reason}"))),
    })
}

/// Returns the error of a script that exited with a code other than 0.
fn exit_error(output: &ProgramOutput, exit_code: i32) -> ToolError {
    // Scripts that print errors to standard output are common.
    let message = [&output.stderr, &output.stdout]
        .map(|text| strip_terminal_escapes(text).trim().to_owned())
        .into_iter()
        .find(|text| !text.is_empty());
    let message = message.unwrap_or_else(|| format!("Script exited with code {exit_code}"));
    let code = if output.lacks_package {
        ToolErrorCode::SetupFailed
    } else {
        ToolErrorCode::Failed
    };
    code.error(output.with_explanation(&message))
}
