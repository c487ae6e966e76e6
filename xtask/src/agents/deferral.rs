//! Tools that an agent does not offer to its model before the model has searched for them.

use serde_json::{Value, json};

use super::dialect::{OfferedTool, Reply};
use super::plan::{Plan, Step};

/// The tools of agents that search for deferred tools.
const SEARCHES: [&str; 2] = ["ToolSearch", "tool_search"];
/// The tool of an agent that calls a deferred tool.
const CALLER: &str = "tool_call";

/// What the model has searched for in a conversation.
#[derive(Debug, Default)]
pub(crate) struct Deferral {
    /// The positions of the results of searches among all results.
    searches: Vec<usize>,
}

/// Returns whether a model can search for further tools.
pub(crate) fn offers_search(offered: &[OfferedTool]) -> bool {
    find(offered, &SEARCHES).is_some()
}

/// Returns whether the model sees no more of a tool than its name.
pub(crate) fn is_deferred(tool: &OfferedTool) -> bool {
    tool.definition["defer_loading"] == true
}

impl Deferral {
    /// Returns the results of calls that are part of the plan.
    pub(crate) fn without_searches(&self, results: Vec<String>) -> Vec<String> {
        results
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !self.searches.contains(index))
            .map(|(_, text)| text)
            .collect()
    }

    /// Returns the search for all tools of the plan, or afterwards the call of the one for `step`.
    ///
    /// `None` if the model cannot search.
    pub(crate) fn next(
        &mut self,
        plan: &Plan,
        step: &Step,
        offered: &[OfferedTool],
        prefix: &str,
        number: usize,
    ) -> Option<Reply> {
        let search = find(offered, &SEARCHES)?;
        let call = |tool: OfferedTool, arguments| Reply::Call {
            number,
            tool: Box::new(tool),
            arguments,
        };
        let full_name = |step: &Step| format!("{prefix}{}", step.tool);
        if self.searches.is_empty() {
            self.searches.push(number);
            let mut names = plan.steps.iter().map(full_name).collect::<Vec<_>>();
            names.sort();
            names.dedup();
            let query = json!({
                "query": format!("select:{}", names.join(",")),
                "max_results": names.len(),
            });
            return Some(call(search.clone(), query));
        }
        let name = full_name(step);
        if let Some(caller) = find(offered, &[CALLER]) {
            let arguments = json!({"name": name, "arguments": step.arguments});
            return Some(call(caller.clone(), arguments));
        }
        let found = OfferedTool {
            namespace: None,
            name,
            schema: Value::Null,
            definition: Value::Null,
        };
        Some(call(found, step.arguments.clone()))
    }
}

fn find<'a>(offered: &'a [OfferedTool], names: &[&str]) -> Option<&'a OfferedTool> {
    offered
        .iter()
        .find(|tool| names.contains(&tool.name.as_str()))
}
