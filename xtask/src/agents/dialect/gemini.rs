//! The content generation API of Gemini.

use serde_json::{Value, json};

use super::{Dialect, OfferedTool, Reply, Response, items};

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn tools(&self, request: &Value) -> Vec<OfferedTool> {
        items(&request["tools"])
            .flat_map(|group| items(&group["functionDeclarations"]))
            .filter_map(|tool| {
                let schema = tool
                    .get("parametersJsonSchema")
                    .unwrap_or(&tool["parameters"]);
                Some(OfferedTool {
                    namespace: None,
                    name: tool["name"].as_str()?.to_owned(),
                    schema: schema.clone(),
                    definition: tool.clone(),
                })
            })
            .collect()
    }

    fn results(&self, request: &Value) -> Vec<String> {
        items(&request["contents"])
            .flat_map(|content| items(&content["parts"]))
            .filter_map(|part| part["functionResponse"].get("response"))
            .map(|response| {
                // The usual form has one member with the text.
                let text = ["output", "error"]
                    .iter()
                    .find_map(|key| response[key].as_str());
                text.map_or_else(|| response.to_string(), str::to_owned)
            })
            .collect()
    }

    fn respond(&self, path: &str, _request: &Value, reply: &Reply) -> Response {
        let part = match reply {
            Reply::Text(text) => json!({"text": text}),
            Reply::Call {
                tool, arguments, ..
            } => json!({"functionCall": {"name": tool.name, "args": arguments}}),
        };
        let content = json!({
            "candidates": [{
                "content": {"role": "model", "parts": [part]},
                "finishReason": "STOP",
                "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 1,
                "candidatesTokenCount": 1,
                "totalTokenCount": 2,
            },
        });
        if path.contains(":stream") {
            Response::events(&[content])
        } else {
            Response::json(&content)
        }
    }
}
