//! Scripts of skills as tools.

use serde_json::{Map, Value};
use skills_runtime::Workspace;

use super::output::{ExitKind, ProgramOutput, quota_exceeded_error, strip_terminal_escapes};
use super::{Deadline, ProgramTools, RunTarget, RunnableSkill, result_properties};
use crate::registry::ScriptToolEntry;
use crate::schema;
use crate::script::argv;
use crate::script::stem;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

/// Returns the definition of a script tool.
pub(crate) fn definition(registered: &ScriptToolEntry) -> ToolDefinition {
    let tool = &registered.tool;
    ToolDefinition {
        name: tool.name.clone(),
        title: format!("{}: {}", tool.skill, stem(&tool.file)),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: schema::output_schema(
            result_properties(),
            &["exit_code", "stdout", "stderr", "timed_out"],
        ),
        annotations: Annotations::EXECUTES,
    }
}

impl ProgramTools {
    /// Runs the script of a tool, with its arguments on the command line, in the private directory
    /// of the session.
    pub(crate) async fn run_script_tool(
        &self,
        registered: &ScriptToolEntry,
        arguments: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let tool = &registered.tool;
        let deadline = Deadline::after(registered.timeout);
        let passed = argv::build_argv(arguments, &tool.arguments)
            .map_err(|error| ToolError::new(ToolErrorCode::InvalidArguments, error.to_string()))?;
        let skill = RunnableSkill::try_new(registered.entry.clone())?;
        let path = format!("scripts/{}", tool.file);
        skill.check_dependencies(Some(&path))?;
        let session = self
            .sessions
            .get_or_create(&self.runtime, context.session.as_deref())?;
        let mut options = self.base_options(context);
        options.script = Some(path);
        options.args = passed.args;
        options.stdin = passed.stdin.map(String::into_bytes);
        options.current_dir = Some(session.path().to_owned());
        let shown = self
            .visible_dirs(Some(&skill.entry))?
            .path_map()
            .add(session.path(), "/session");
        options.workspace = Workspace::Session(session);
        let ran = self
            .execute(RunTarget::Skill(&skill.entry), options, &deadline, &shown)
            .await?;
        Ok(tool_output(ran.output, &ran.timeout_seconds))
    }
}

/// Converts the result: standard output is the text of a success, standard error the reason of a
/// failure.
fn tool_output(finished: ProgramOutput, seconds: &str) -> ToolOutput {
    let text = script_error(&finished, seconds);
    match text {
        None => ToolOutput {
            files: Vec::new(),
            ..ToolOutput::new(
                strip_terminal_escapes(&finished.stdout),
                Value::Object(finished.data),
            )
        },
        Some(error) => ToolOutput::error_with_data(error.message.clone(), finished.data, &error),
    }
}

/// Returns the reason of a failure, with the fixed texts of the script runner.
pub(super) fn script_error(finished: &ProgramOutput, seconds: &str) -> Option<ToolError> {
    Some(match &finished.exit {
        ExitKind::Exited(0) => return None,
        ExitKind::Exited(code) => {
            let said = [&finished.stderr, &finished.stdout]
                .map(|text| strip_terminal_escapes(text).trim().to_owned());
            let said = said.into_iter().find(|text| !text.is_empty());
            ToolError::new(
                ToolErrorCode::Failed,
                said.unwrap_or_else(|| format!("Script exited with code {code}")),
            )
        }
        ExitKind::TimedOut => ToolError::new(
            ToolErrorCode::TimedOut,
            format!("Script execution timed out after {seconds} seconds"),
        ),
        ExitKind::Cancelled => ToolError::new(ToolErrorCode::Cancelled, "cancelled"),
        ExitKind::QuotaExceeded(exceeded) => quota_exceeded_error(exceeded),
        ExitKind::Other(ending) => ToolError::new(
            ToolErrorCode::Failed,
            format!("the script was stopped: {ending}"),
        ),
    })
}
