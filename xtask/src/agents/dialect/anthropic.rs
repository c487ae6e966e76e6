//! The Messages API of Anthropic.

use serde_json::{Value, json};

use super::{Dialect, OfferedTool, Reply, Response, call_id, is_streamed, items, text_of};

pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn tools(&self, request: &Value) -> Vec<OfferedTool> {
        items(&request["tools"])
            .filter_map(|tool| {
                Some(OfferedTool {
                    namespace: None,
                    name: tool["name"].as_str()?.to_owned(),
                    schema: tool["input_schema"].clone(),
                    definition: tool.clone(),
                })
            })
            .collect()
    }

    fn results(&self, request: &Value) -> Vec<String> {
        items(&request["messages"])
            .flat_map(|message| items(&message["content"]))
            .filter(|part| part["type"] == "tool_result")
            .map(|part| text_of(&part["content"]))
            .collect()
    }

    fn respond(&self, _path: &str, request: &Value, reply: &Reply) -> Response {
        let (block, stop_reason) = match reply {
            Reply::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
            Reply::Call {
                number,
                tool,
                arguments,
            } => (
                json!({
                    "type": "tool_use",
                    "id": call_id(*number),
                    "name": tool.name,
                    "input": arguments,
                }),
                "tool_use",
            ),
        };
        let message = json!({
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [block],
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        if is_streamed(request) {
            Response::events(&events(&message))
        } else {
            Response::json(&message)
        }
    }
}

fn events(message: &Value) -> [Value; 6] {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut block = message["content"][0].clone();
    // A block starts empty, and its content follows.
    let delta = if block["type"] == "text" {
        let text = std::mem::replace(&mut block["text"], json!(""));
        json!({"type": "text_delta", "text": text})
    } else {
        let input = std::mem::replace(&mut block["input"], json!({}));
        json!({"type": "input_json_delta", "partial_json": input.to_string()})
    };
    [
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null},
            "usage": message["usage"],
        }),
        json!({"type": "message_stop"}),
    ]
}
