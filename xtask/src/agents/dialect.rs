//! The four model APIs that agents use: reads their requests and writes scripted replies.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

/// A function that a request offers to the model.
#[derive(Debug, Clone)]
pub(crate) struct OfferedTool {
    /// The group of the tool, for APIs that have groups.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// The JSON schema of the arguments.
    pub(crate) schema: Value,
    /// The tool as the request contains it, which is what costs tokens.
    pub(crate) definition: Value,
}

impl OfferedTool {
    /// Returns namespace and name in one string.
    pub(crate) fn full_name(&self) -> String {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        format!("{namespace}{}", self.name)
    }
}

/// What the scripted model answers.
#[derive(Debug)]
pub(crate) enum Reply {
    Text(String),
    Call {
        /// A number that no other call of the conversation has.
        number: usize,
        tool: Box<OfferedTool>,
        arguments: Value,
    },
}

/// A response of the endpoint.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

/// One API for models.
pub(crate) trait Dialect: Sync {
    /// Returns the tools that a request offers.
    fn tools(&self, request: &Value) -> Vec<OfferedTool>;
    /// Returns the tool results in a request as the model sees them, in their order.
    fn results(&self, request: &Value) -> Vec<String>;
    /// Returns the response to a request to `path`.
    fn respond(&self, path: &str, request: &Value, reply: &Reply) -> Response;
}

/// Returns the API of a path, if the endpoint serves it.
pub(crate) fn of_path(path: &str) -> Option<&'static dyn Dialect> {
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/messages") {
        Some(&anthropic::Anthropic)
    } else if path.ends_with("/responses") {
        Some(&responses::Responses)
    } else if path.ends_with("/chat/completions") {
        Some(&chat::Chat)
    } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
        Some(&gemini::Gemini)
    } else {
        None
    }
}

impl Response {
    fn json(body: &Value) -> Self {
        Self {
            content_type: "application/json",
            body: body.to_string(),
        }
    }

    /// Server-sent events, each with the `type` of its data as its name, where it has one.
    fn events(events: &[Value]) -> Self {
        let event = |data: &Value| match data["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {data}\n\n"),
            None => format!("data: {data}\n\n"),
        };
        Self {
            content_type: "text/event-stream",
            body: events.iter().map(event).collect(),
        }
    }
}

fn call_id(number: usize) -> String {
    format!("call_{number}")
}

fn is_streamed(request: &Value) -> bool {
    request["stream"] == true
}

/// Returns the items of a JSON array; none for any other value.
pub(crate) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the text of a string, or of a list of content parts; other parts are shown as JSON.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| {
                part["text"]
                    .as_str()
                    .map_or_else(|| part.to_string(), str::to_owned)
            })
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(path: &str, request: &Value, name: &str, result: &str) {
        let dialect = of_path(path).unwrap();
        let tools = dialect.tools(request);
        assert_eq!(tools.len(), 1, "{path}");
        assert_eq!(tools[0].full_name(), name);
        assert_eq!(tools[0].schema["type"], "object");
        assert_eq!(dialect.results(request), [result]);
        let call = Reply::Call {
            number: 1,
            tool: Box::new(tools[0].clone()),
            arguments: json!({"path": "a\nb"}),
        };
        let body = dialect.respond(path, request, &call).body;
        assert!(body.contains(&tools[0].name), "{body}");
        let text = Reply::Text("the end".to_owned());
        assert!(
            dialect
                .respond(path, request, &text)
                .body
                .contains("the end")
        );
    }

    #[test]
    fn tools_and_results_of_each_api_are_read() {
        let schema = json!({"type": "object"});
        check(
            "/v1/messages?beta=true",
            &json!({
                "stream": true,
                "tools": [{"name": "mcp__s__ls", "input_schema": schema}],
                "messages": [{"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "x"}]}
                ]}],
            }),
            "mcp__s__ls",
            "x",
        );
        check(
            "/v1/responses",
            &json!({
                "tools": [{"type": "namespace", "name": "mcp__s__", "tools": [
                    {"type": "function", "name": "ls", "parameters": schema}
                ]}],
                "input": [{"type": "function_call_output", "output": "x"}],
            }),
            "mcp__s__ls",
            "x",
        );
        check(
            "/v1/chat/completions",
            &json!({
                "tools": [{"type": "function", "function": {"name": "s_ls", "parameters": schema}}],
                "messages": [{"role": "tool", "content": "x"}],
            }),
            "s_ls",
            "x",
        );
        check(
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            &json!({
                "tools": [{"functionDeclarations": [
                    {"name": "s_ls", "parametersJsonSchema": schema}
                ]}],
                "contents": [{"parts": [
                    {"functionResponse": {"name": "s_ls", "response": {"output": "x"}}}
                ]}],
            }),
            "s_ls",
            "x",
        );
    }

    #[test]
    fn other_paths_have_no_api() {
        assert!(of_path("/v1/models").is_none());
        assert!(of_path("/v1/messages/count_tokens").is_none());
    }
}
