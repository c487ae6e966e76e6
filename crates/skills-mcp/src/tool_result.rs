//! Results of tool calls, as clients receive them.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Resource};
use serde_json::Value;
use skills_tools::{ToolOutput, media_type_by_name};

use crate::caller::Caller;
use crate::uri;

/// Key of the report in `_meta` of a result.
const REPORT_KEY: &str = "skills/report";
/// Fields of the structured data that describe a call without repeating its text.
const REPORT_FIELDS: [&str; 12] = [
    "error",
    "exit_code",
    "signal",
    "timed_out",
    "duration_ms",
    "stdout_truncated",
    "stderr_truncated",
    "sandbox",
    "refused",
    "notes",
    "help",
    "files_changed",
];

/// Line after a text that its client would otherwise parse, and then reject.
const END_OF_OUTPUT: &str = "(end of output)";

/// Where the structured data of a result goes.
///
/// Most agents hand their model the structured data instead of the text, or both, so that a line of
/// output costs some 30 times its tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultData {
    /// The text is the whole content. `_meta` has a report for programs, under `skills/report`:
    /// error code, exit code, restrictions, refusals. Tools have no output schema. The default.
    #[default]
    Meta,
    /// `structuredContent` has all data, and tools have an output schema. For clients that evaluate
    /// results by program.
    Structured,
}

/// Converts the output of a tool for this caller.
pub(crate) fn to_mcp_result(
    output: ToolOutput,
    data: ResultData,
    caller: &Caller,
) -> CallToolResult {
    // One block, since some clients show their model only the first one, and others join them.
    let mut text = output.text().into_owned();
    if caller.shows_raw_results && is_json_without_fields(&text) {
        text = format!("{text}\n{END_OF_OUTPUT}");
    }
    let mut content = vec![ContentBlock::text(text)];
    if caller.supports_resource_links {
        content.extend(output.files.iter().map(|path| resource_link(path)));
    }
    let mut result = if output.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    match data {
        ResultData::Meta if caller.shows_raw_results => {}
        ResultData::Meta => result.meta = report(output.structured),
        ResultData::Structured => result.structured_content = Some(output.structured),
    }
    result
}

/// Returns true if a text is JSON that is not an object, such as a list that a program printed.
fn is_json_without_fields(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| !value.is_object())
}

fn resource_link(path: &str) -> ContentBlock {
    let name = path.rsplit('/').next().unwrap_or(path);
    let link = Resource::new(uri::file_uri(path), name);
    ContentBlock::resource_link(link.with_mime_type(media_type_by_name(name)))
}

/// Returns the fields that describe the call, without empty ones.
fn report(structured: Value) -> Option<MetaObject> {
    let Value::Object(structured) = structured else {
        return None;
    };
    let fields = structured.into_iter();
    let report: JsonObject = fields
        .filter(|(name, value)| REPORT_FIELDS.contains(&name.as_str()) && !is_empty(value))
        .collect();
    if report.is_empty() {
        return None;
    }
    let report = (REPORT_KEY.to_owned(), Value::Object(report));
    Some(MetaObject(JsonObject::from_iter([report])))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Agents pay for what their client hands to a model.
    #[test]
    fn an_explanation_is_in_structured_data_only() {
        let data = json!({"exit_code": 1, "stdout": "x", "explanation": {"facts": []}});
        let report = report(data).unwrap();
        let report = report.0[REPORT_KEY].as_object().unwrap();
        assert_eq!(report.keys().collect::<Vec<_>>(), ["exit_code"]);
    }
}
