//! Scripts of skills as tools.

use serde_json::{Map, Value};
use skills_runtime::Workspace;

use super::output::{ExitKind, ProgramOutput, quota_exceeded_error, strip_terminal_escapes};
use super::{Deadline, ProgramTools, RunSubject, RunnableSkill, result_schema};
use crate::registry::ScriptToolEntry;
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
        input_schema: tool.input_schema.clone(),
        output_schema: result_schema(),
        annotations: Annotations::EXECUTES,
    }
}

impl ProgramTools {
    /// Runs the script of a tool, with its arguments on the command line, in the private directory
    /// of the session.
    pub(crate) async fn run_script_tool(
        &self,
        entry: &ScriptToolEntry,
        arguments: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let tool = &entry.tool;
        let deadline = Deadline::after(entry.timeout);
        let script_argv = build_argv(arguments, &tool.arguments)
            .map_err(|error| ToolErrorCode::InvalidArguments.error(error.to_string()))?;
        let skill = RunnableSkill::try_new(entry.entry.clone())?;
        let path = format!("scripts/{}", tool.file);
        skill.check_dependencies(Some(&path))?;
        let session = self
            .sessions
            .get_or_create(&self.runtime, context.session_id())?;
        let mut options = self.base_options(context);
        options.target = skills_runtime::RunTarget::Script(path);
        options.args = script_argv.args;
        options.stdin = script_argv.stdin.map(String::into_bytes);
        // Relative output paths of the script then end up in the directory of the session, which
        // later calls can read.
        options.current_dir = Some(session.path().to_owned());
        let path_map = self
            .visible_dirs(Some(&skill.entry))?
            .path_map()
            .add(session.path(), "/session");
        options.workspace = Workspace::Session(session);
        let completed = self
            .execute(
                RunSubject::Skill(&skill.entry),
                options,
                &deadline,
                &path_map,
            )
            .await?;
        Ok(tool_output(completed.output, &completed.timeout_seconds))
    }
}

/// Converts the result: standard output is the text of a success, standard error the reason of a
/// failure.
fn tool_output(output: ProgramOutput, timeout_seconds: &str) -> ToolOutput {
    let error = script_error(&output, timeout_seconds);
    match error {
        None => ToolOutput {
            files: Vec::new(),
            ..ToolOutput::new(
                strip_terminal_escapes(&output.stdout),
                Value::Object(output.data),
            )
        },
        Some(error) => ToolOutput::error_with_data(error.message.clone(), output.data, &error),
    }
}

/// Returns the reason of a failure, with the fixed texts of the script runner.
pub(super) fn script_error(output: &ProgramOutput, timeout_seconds: &str) -> Option<ToolError> {
    Some(match &output.exit {
        ExitKind::Exited(0) => return None,
        ExitKind::Exited(code) => {
            // Scripts that print errors to standard output are common.
            let message = [&output.stderr, &output.stdout]
                .map(|text| strip_terminal_escapes(text).trim().to_owned());
            let message = message.into_iter().find(|text| !text.is_empty());
            ToolErrorCode::Failed
                .error(message.unwrap_or_else(|| format!("Script exited with code {code}")))
        }
        ExitKind::TimedOut => ToolErrorCode::TimedOut.error(format!(
            "Script execution timed out after {timeout_seconds} seconds"
        )),
        ExitKind::Cancelled => ToolErrorCode::Cancelled.error("cancelled"),
        ExitKind::QuotaExceeded(exceeded) => quota_exceeded_error(exceeded),
        ExitKind::Other(reason) => {
            ToolErrorCode::Failed.error(format!("the script was stopped: {reason}"))
        }
    })
}
