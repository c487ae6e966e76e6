//! Results of tool calls, as clients receive them.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Resource};
use serde_json::{Value, json};
use skills_tools::{ToolOutput, media_type_by_name};

use crate::caller::Caller;
use crate::uri;

/// Key of the report in `_meta` of a result.
const REPORT_KEY: &str = "skills/report";
/// Fields of the structured data that programs branch on. All others are in the text, or only in
/// structured results: some clients hand `_meta` to their model.
const REPORT_FIELDS: [&str; 4] = ["error", "exit_code", "signal", "timed_out"];

/// Line after a text that its client would otherwise parse, and then reject.
const END_OF_OUTPUT: &str = "(end of output)";

/// Where the structured data of a result goes.
///
/// Most agents hand their model the structured data instead of the text, or both, so that a line of
/// output costs some 30 times its tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultData {
    /// The text is the whole content. `_meta` has a report for programs, under `skills/report`: error
    /// code, exit code or signal, and whether the time was up, at most 160 characters. Tools have no
    /// output schema. The default.
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
    let text = match data {
        ResultData::Meta => output.text_within(caller.max_text_bytes),
        ResultData::Structured => output.text(),
    };
    let mut text = text.into_owned();
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
        ResultData::Meta => result.meta = report(&output.structured),
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

/// Returns what programs branch on. Values of a fixed set and integers only, so that no skill and
/// no program makes it longer.
fn report(structured: &Value) -> Option<MetaObject> {
    let field = |name: &str| match (name, &structured[name]) {
        ("error", error) => error["code"].as_str().map(|code| json!({"code": code})),
        (_, value @ Value::Number(_)) => Some(value.clone()),
        (_, Value::Bool(true)) => Some(json!(true)),
        _ => None,
    };
    let report: JsonObject = REPORT_FIELDS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), field(name)?)))
        .collect();
    if report.is_empty() {
        return None;
    }
    let report = (REPORT_KEY.to_owned(), Value::Object(report));
    Some(MetaObject(JsonObject::from_iter([report])))
}

#[cfg(test)]
mod tests {
    use skills_tools::ToolErrorCode;

    use super::*;

    /// The most characters of a report, 40 tokens: some clients hand it to their model.
    const MAX_REPORT_CHARS: usize = 160;

    /// A skill names files, requirements and errors, and a program prints and is refused what it
    /// wants.
    #[test]
    fn a_report_has_nothing_that_a_skill_or_program_chooses() {
        let chosen = "x".repeat(1000);
        let data = json!({
            "error": {"code": ToolErrorCode::SandboxUnavailable, "message": chosen, "hint": chosen, "path": chosen},
            "exit_code": i32::MIN,
            "signal": i32::MIN,
            "timed_out": true,
            "stdout": chosen,
            "stdout_truncated": true,
            "sandbox": {"backend": chosen, "restrictions": [chosen]},
            "refused": [{"operation": chosen}],
            "notes": [chosen],
            "help": [chosen],
            "files_changed": [{"path": chosen}],
            "explanation": {"facts": [chosen]},
        });
        let report = serde_json::to_string(&report(&data).unwrap()).unwrap();
        assert!(!report.contains("xx"), "{report}");
        assert!(
            report.len() <= MAX_REPORT_CHARS,
            "{} {report}",
            report.len()
        );
    }

    #[test]
    fn a_report_has_what_programs_branch_on() {
        let check = |data: Value, expected: Value| {
            let report = report(&data).map(|report| report.0[REPORT_KEY].clone());
            assert_eq!(report.unwrap_or_default(), expected);
        };
        check(json!({"skills": [], "total": 0}), Value::Null);
        check(
            json!({"exit_code": 0, "timed_out": false}),
            json!({"exit_code": 0}),
        );
        check(
            json!({"exit_code": null, "signal": 9, "timed_out": true, "error": {"code": "timed_out"}}),
            json!({"error": {"code": "timed_out"}, "signal": 9, "timed_out": true}),
        );
        // Of a tool that has a field of the same name, but not its meaning.
        check(
            json!({"error": "text", "exit_code": "text", "signal": ["text"]}),
            Value::Null,
        );
    }
}
