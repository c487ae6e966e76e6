//! The Chat Completions API of OpenAI.

use serde_json::{Value, json};

use super::{Dialect, OfferedTool, Reply, Response, call_id, is_streamed, items, text_of};

pub(super) struct Chat;

impl Dialect for Chat {
    fn tools(&self, request: &Value) -> Vec<OfferedTool> {
        items(&request["tools"])
            .filter_map(|tool| {
                Some(OfferedTool {
                    namespace: None,
                    name: tool["function"]["name"].as_str()?.to_owned(),
                    schema: tool["function"]["parameters"].clone(),
                    definition: tool.clone(),
                })
            })
            .collect()
    }

    fn results(&self, request: &Value) -> Vec<String> {
        items(&request["messages"])
            .filter(|message| message["role"] == "tool")
            .map(|message| text_of(&message["content"]))
            .collect()
    }

    fn respond(&self, _path: &str, request: &Value, reply: &Reply) -> Response {
        let (content, finish_reason) = match reply {
            Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Reply::Call {
                number,
                tool,
                arguments,
            } => (
                json!({"role": "assistant", "content": null, "tool_calls": [{
                    "index": 0,
                    "id": call_id(*number),
                    "type": "function",
                    "function": {"name": tool.name, "arguments": arguments.to_string()},
                }]}),
                "tool_calls",
            ),
        };
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        let completion = |object: &str, choice: Value| {
            json!({
                "id": "chatcmpl-1",
                "object": object,
                "created": 1,
                "model": request["model"],
                "choices": [choice],
                "usage": usage,
            })
        };
        if !is_streamed(request) {
            let choice = json!({"index": 0, "message": content, "finish_reason": finish_reason});
            return Response::json(&completion("chat.completion", choice));
        }
        let object = "chat.completion.chunk";
        let mut response = Response::events(&[
            completion(
                object,
                json!({"index": 0, "delta": content, "finish_reason": null}),
            ),
            completion(
                object,
                json!({"index": 0, "delta": {}, "finish_reason": finish_reason}),
            ),
        ]);
        response.body.push_str("data: [DONE]\n\n");
        response
    }
}
