//! The Responses API of OpenAI.

use serde_json::{Value, json};

use super::{Dialect, OfferedTool, Reply, Response, call_id, is_streamed, items, text_of};

pub(super) struct Responses;

impl Dialect for Responses {
    fn tools(&self, request: &Value) -> Vec<OfferedTool> {
        items(&request["tools"])
            .flat_map(|tool| {
                if tool["type"] == "namespace" {
                    items(&tool["tools"])
                        .filter_map(|inner| function(inner, tool["name"].as_str()))
                        .collect::<Vec<_>>()
                } else {
                    function(tool, None).into_iter().collect()
                }
            })
            .collect()
    }

    fn results(&self, request: &Value) -> Vec<String> {
        items(&request["input"])
            .filter(|item| {
                item["type"]
                    .as_str()
                    .is_some_and(|kind| kind.ends_with("_call_output"))
            })
            .map(|item| text_of(&item["output"]))
            .collect()
    }

    fn respond(&self, _path: &str, request: &Value, reply: &Reply) -> Response {
        let item = match reply {
            Reply::Text(text) => json!({
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }),
            Reply::Call {
                number,
                tool,
                arguments,
            } => {
                let mut item = json!({
                    "type": "function_call",
                    "id": format!("fc_{number}"),
                    "status": "completed",
                    "call_id": call_id(*number),
                    "name": tool.name,
                    "arguments": arguments.to_string(),
                });
                if let Some(namespace) = &tool.namespace {
                    item["namespace"] = json!(namespace);
                }
                item
            }
        };
        let response = json!({
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": request["model"],
            "output": [item],
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        });
        if is_streamed(request) {
            Response::events(&events(&response, &item))
        } else {
            Response::json(&response)
        }
    }
}

fn function(tool: &Value, namespace: Option<&str>) -> Option<OfferedTool> {
    Some(OfferedTool {
        namespace: namespace.map(str::to_owned),
        name: tool["name"].as_str()?.to_owned(),
        schema: tool["parameters"].clone(),
        definition: tool.clone(),
    })
}

fn events(response: &Value, item: &Value) -> [Value; 4] {
    let mut created = response.clone();
    created["status"] = json!("in_progress");
    created["output"] = json!([]);
    [
        json!({"type": "response.created", "sequence_number": 0, "response": created}),
        json!({
            "type": "response.output_item.added",
            "sequence_number": 1,
            "output_index": 0,
            "item": item,
        }),
        json!({
            "type": "response.output_item.done",
            "sequence_number": 2,
            "output_index": 0,
            "item": item,
        }),
        json!({"type": "response.completed", "sequence_number": 3, "response": response}),
    ]
}
