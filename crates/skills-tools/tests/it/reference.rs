//! `docs/tool-reference.md` is generated from the definitions of the built-in tools.

use std::fmt::Write;

use serde_json::Value;
use skills_runtime::SkillRuntime;
use skills_tools::{ToolDefinition, ToolGroup, ToolSet};

#[test]
fn the_tool_reference_is_up_to_date() {
    let tools = ToolSet::builder(SkillRuntime::builder().build())
        .tool_groups(ToolGroup::ALL)
        .build()
        .unwrap();
    let page = page(&tools.definitions().unwrap());
    skills_test_support::assert_document("docs/tool-reference.md", &page);
}

fn page(definitions: &[ToolDefinition]) -> String {
    let mut page =
        "# Tool reference\n\nGenerated from the definitions of all tools; see [tools](tools.md) for those that are enabled by default, and for limits of \
         sizes. Each script of a skill is an additional tool, whose [name](tools.md#scripts-as-tools) consists of skill and script.\n"
            .to_owned();
    for definition in definitions {
        let ToolDefinition {
            name,
            title,
            description,
            input_schema,
            annotations,
            ..
        } = definition;
        let hints = [
            (annotations.read_only_hint, "read-only"),
            (annotations.destructive_hint, "may change or remove data"),
            (annotations.idempotent_hint, "idempotent"),
            (annotations.open_world_hint, "may use the network"),
        ];
        let hints: Vec<&str> = hints
            .into_iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, hint)| hint)
            .collect();
        write!(page, "\n## `{name}`\n\n{description}\n\nTitle: {title}.").unwrap();
        if !hints.is_empty() {
            write!(page, " Annotations: {}.", hints.join(", ")).unwrap();
        }
        page.push_str("\n\n| parameter | type | required | description |\n|---|---|---|---|\n");
        for (argument, schema) in input_schema["properties"].as_object().unwrap() {
            let required = input_schema["required"]
                .as_array()
                .is_some_and(|names| names.contains(&argument.as_str().into()));
            let required = if required { "yes" } else { "no" };
            writeln!(
                page,
                "| `{argument}` | {} | {required} | {} |",
                kind(schema),
                meaning(schema)
            )
            .unwrap();
        }
    }
    page
}

/// Returns the type with its bounds.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let mut text = schema["type"].as_str().unwrap_or("any").to_owned();
    for (low, high, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ] {
        match (schema.get(low), schema.get(high)) {
            (Some(low), Some(high)) => write!(text, ", {low} to {high}{unit}").unwrap(),
            (None, Some(high)) => write!(text, ", at most {high}{unit}").unwrap(),
            (Some(low), None) => write!(text, ", at least {low}{unit}").unwrap(),
            (None, None) => {}
        }
    }
    text
}

fn meaning(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .replace('|', "\\|")
        .replace('\n', " ")
}
