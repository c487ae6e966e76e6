//! What the scripted model does: calls of tools in a fixed order, then a text.

use serde_json::{Value, json};

use super::dialect::{OfferedTool, Reply};

/// An argument that Gemini CLI adds to each tool and tells the model to set.
const ADDED_ARGUMENT: &str = "wait_for_previous";

/// The word of a result that tells a model to repeat its call.
const AGAIN: &str = "again";

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
    may_repeat: bool,
}

impl Step {
    pub(crate) fn new(tool: &'static str, arguments: Value, expected: &'static str) -> Self {
        Self {
            tool,
            arguments,
            expected,
            note: "",
            may_repeat: false,
        }
    }

    fn is_repeated_after(&self, result: &str) -> bool {
        self.may_repeat && !result.contains(self.expected) && result.contains(AGAIN)
    }

    /// Lets the model make the call again if the result says so.
    pub(crate) fn repeatable(self) -> Self {
        Self {
            may_repeat: true,
            ..self
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
    /// Returns what the model answers after it has seen `results`; a call has the id `number`.
    ///
    /// # Errors
    /// If no tool has the name of the step.
    pub(crate) fn next(
        &self,
        tools: &[OfferedTool],
        results: &[String],
        number: usize,
    ) -> Result<Reply, String> {
        let Some(step) = self.step_after(results) else {
            return Ok(Reply::Text("The plan is complete.".to_owned()));
        };
        let tool = find(tools, step.tool)
            .ok_or_else(|| format!("the model is offered no tool `{}`", step.tool))?;
        let mut arguments = step.arguments.clone();
        if tool.schema["properties"].get(ADDED_ARGUMENT).is_some() {
            arguments[ADDED_ARGUMENT] = json!(true);
        }
        Ok(Reply::Call {
            number,
            tool: Box::new(tool.clone()),
            arguments,
        })
    }
}

impl Plan {
    /// Returns for each result the step that it belongs to.
    ///
    /// A result that is not as expected and says to call again is followed by the same call, once.
    pub(crate) fn steps_of(&self, results: &[String]) -> Vec<&Step> {
        let mut steps = Vec::new();
        let mut results = results.iter().peekable();
        for step in &self.steps {
            let Some(result) = results.next() else {
                break;
            };
            steps.push(step);
            if step.is_repeated_after(result) && results.next().is_some() {
                steps.push(step);
            }
        }
        steps
    }

    /// Returns the call that follows `results`, if any.
    pub(crate) fn step_after(&self, results: &[String]) -> Option<&Step> {
        let mut results = results.iter();
        for step in &self.steps {
            let Some(result) = results.next() else {
                return Some(step);
            };
            if step.is_repeated_after(result) && results.next().is_none() {
                return Some(step);
            }
        }
        None
    }
}

/// Returns the tool whose name ends with `name`; of several, the one with the shortest name.
fn find<'a>(tools: &'a [OfferedTool], name: &str) -> Option<&'a OfferedTool> {
    tools
        .iter()
        .filter(|tool| tool.name.ends_with(name))
        .min_by_key(|tool| tool.name.len())
}
