//! Scripts of skills as tools, as the script runner has them.

use serde_json::{Map, Value};
use skills_runtime::Workspace;

use super::result::{Ended, Finished, full, plain};
use super::{Deadline, Programs, Target, Usable, result_properties};
use crate::definition::{Annotations, Definition};
use crate::registry::Registered;
use crate::schema;
use crate::script::argv;
use crate::script::stem;
use crate::{CallContext, Code, Outcome, ToolError};

/// What a model is told of the tool of a script.
pub(crate) fn definition(registered: &Registered) -> Definition {
    let tool = &registered.tool;
    Definition {
        name: tool.name.clone(),
        title: format!("{}: {}", tool.skill, stem(&tool.file)),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: schema::output(
            result_properties(),
            &["exit_code", "stdout", "stderr", "timed_out"],
        ),
        annotations: Annotations::RUNS,
    }
}

impl Programs {
    /// Runs the script of a tool: arguments as words, in the private directory of the conversation,
    /// told of its skill and of nothing else.
    pub(crate) async fn script(
        &self,
        registered: &Registered,
        arguments: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<Outcome, ToolError> {
        let tool = &registered.tool;
        let deadline = Deadline::of(registered.timeout);
        let passed = argv::pass(arguments, &tool.arguments)
            .map_err(|error| ToolError::new(Code::InvalidArguments, error.to_string()))?;
        let skill = Usable::of(registered.entry.clone())?;
        let path = format!("scripts/{}", tool.file);
        skill.is_set_up(Some(&path))?;
        let session = self
            .sessions
            .directory(&self.runtime, context.session.as_deref())?;
        let mut options = self.options(context);
        options.script = Some(path);
        options.args = passed.args;
        options.stdin = passed.stdin.map(String::into_bytes);
        options.directory = Some(session.path().to_owned());
        let shown = self
            .surroundings(Some(&skill.entry))?
            .shown()
            .with(session.path(), "/session");
        options.workspace = Workspace::Session(session);
        let ran = self
            .execute(Target::Skill(&skill.entry), options, &deadline, &shown)
            .await?;
        Ok(outcome(ran.finished, &ran.seconds))
    }
}

/// Standard output is the result, standard error the reason of a failure.
fn outcome(finished: Finished, seconds: &str) -> Outcome {
    let text = failure(&finished, seconds);
    match text {
        None => Outcome {
            files: Vec::new(),
            ..Outcome::new(plain(&finished.stdout), Value::Object(finished.data))
        },
        Some(error) => Outcome::failed(error.message.clone(), finished.data, &error),
    }
}

/// Why a script failed, in the words of the script runner.
pub(super) fn failure(finished: &Finished, seconds: &str) -> Option<ToolError> {
    Some(match &finished.ended {
        Ended::Exited(0) => return None,
        Ended::Exited(code) => {
            let said =
                [&finished.stderr, &finished.stdout].map(|text| plain(text).trim().to_owned());
            let said = said.into_iter().find(|text| !text.is_empty());
            ToolError::new(
                Code::Failed,
                said.unwrap_or_else(|| format!("Script exited with code {code}")),
            )
        }
        Ended::TimedOut => ToolError::new(
            Code::TimedOut,
            format!("Script execution timed out after {seconds} seconds"),
        ),
        Ended::Cancelled => ToolError::new(Code::Cancelled, "cancelled"),
        Ended::Full(exceeded) => full(exceeded),
        Ended::Otherwise(ending) => {
            ToolError::new(Code::Failed, format!("the script was stopped: {ending}"))
        }
    })
}
