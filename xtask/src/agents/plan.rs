//! What the scripted model does: calls of tools in a fixed order, then a text.

use serde_json::{Value, json};

use super::dialect::{OfferedTool, Reply};

/// An argument that Gemini CLI adds to each tool and tells the model to set.
const ADDED_ARGUMENT: &str = "wait_for_previous";

/// One call of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The end of the name of the tool; agents put the name of the server before it.
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// A text that the result contains if it is as intended.
    pub(crate) expected: &'static str,
    /// What the call is, for a reader, if the name of the tool does not say it.
    pub(crate) note: &'static str,
}

impl Step {
    pub(crate) fn new(tool: &'static str, arguments: Value, expected: &'static str) -> Self {
        Self {
            tool,
            arguments,
            expected,
            note: "",
        }
    }

    pub(crate) fn with_note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

/// The calls of one conversation.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// Returns what the model answers after it has seen `done` results.
    ///
    /// # Errors
    /// If no tool has the name of the step.
    pub(crate) fn next<'a>(
        &self,
        tools: &'a [OfferedTool],
        done: usize,
    ) -> Result<Reply<'a>, String> {
        let Some(step) = self.steps.get(done) else {
            return Ok(Reply::Text("The plan is complete.".to_owned()));
        };
        let tool = find(tools, step.tool)
            .ok_or_else(|| format!("the model is offered no tool `{}`", step.tool))?;
        let mut arguments = step.arguments.clone();
        if tool.schema["properties"].get(ADDED_ARGUMENT).is_some() {
            arguments[ADDED_ARGUMENT] = json!(true);
        }
        Ok(Reply::Call {
            number: done,
            tool,
            arguments,
        })
    }
}

/// Returns the tool whose name ends with `name`; of several, the one with the shortest name.
fn find<'a>(tools: &'a [OfferedTool], name: &str) -> Option<&'a OfferedTool> {
    tools
        .iter()
        .filter(|tool| tool.name.ends_with(name))
        .min_by_key(|tool| tool.name.len())
}
