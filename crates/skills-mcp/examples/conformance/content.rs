//! Tools with immediate results of every content type, and tools for schemas only.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents, Tool};
use serde_json::{Value, json};

/// An image of one red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// A sound of one sample.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

pub(crate) fn tools() -> Vec<Tool> {
    let plain = [
        ("test_simple_text", "Returns text"),
        ("test_image_content", "Returns an image"),
        ("test_audio_content", "Returns audio"),
        ("test_embedded_resource", "Returns a resource"),
        (
            "test_multiple_content_types",
            "Returns text, an image and a resource",
        ),
        ("test_error_handling", "Always fails"),
    ];
    let plain = plain.map(|(name, description)| tool(name, description, json!({})));
    plain
        .into_iter()
        .chain([with_header(), with_whole_schema()])
        .collect()
}

pub(crate) fn call(name: &str) -> Option<CallToolResult> {
    let content = match name {
        "test_simple_text" | "test_header_parameter" | SCHEMA => vec![ContentBlock::text(
            "This is a simple text response for testing.",
        )],
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            vec![resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]
        }
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            return Some(CallToolResult::error(vec![ContentBlock::text(
                "This tool intentionally returns an error for testing",
            )]));
        }
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

/// Defines a tool by the properties of its arguments; all that are not optional are required.
pub(crate) fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let required: Vec<String> = properties
        .as_object()
        .into_iter()
        .flat_map(JsonObject::keys)
        .cloned()
        .collect();
    with_schema(
        name,
        description,
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
    )
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}

fn with_schema(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema))
}

/// A tool with an argument that is repeated in a header.
fn with_header() -> Tool {
    let value = json!({"type": "string", "x-mcp-header": "Value"});
    tool(
        "test_header_parameter",
        "Has an argument that clients repeat in a header",
        json!({ "value": value }),
    )
}

const SCHEMA: &str = "json_schema_2020_12_tool";

/// A tool whose schema uses features that only JSON Schema 2020-12 has.
fn with_whole_schema() -> Tool {
    let text = || json!({"type": "string"});
    let address = json!({"$anchor": "addressDef", "type": "object", "properties": {"street": text(), "city": text()}});
    let properties = json!({
        "name": text(),
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": text(),
        "email": text(),
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": address},
        "properties": properties,
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    with_schema(SCHEMA, "Has a schema with all features", schema)
}
