//! Tools that send requests to the client, as in protocol versions up to 2025-11-25.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, CreateMessageRequestParams,
    ElicitRequestParams, SamplingMessage, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::content::tool;

pub(crate) fn tools() -> Vec<Tool> {
    let text = || json!({"type": "string"});
    vec![
        tool(
            "test_sampling",
            "Requests a completion of the client's model",
            json!({"prompt": text()}),
        ),
        tool(
            "test_elicitation",
            "Prompts the user",
            json!({"message": text()}),
        ),
        tool(
            DEFAULTS,
            "Prompts the user, with a default for each type of field",
            json!({}),
        ),
        tool(
            ENUMS,
            "Prompts the user to choose, with all types of enums",
            json!({}),
        ),
    ]
}

pub(crate) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    let argument = |name: &str| {
        request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get(name)?.as_str())
            .unwrap_or("?")
            .to_owned()
    };
    let answered = match &*request.name {
        "test_sampling" => sampled(context, argument("prompt")).await,
        "test_elicitation" => elicited(context, &argument("message"), username()).await,
        DEFAULTS => elicited(context, "Please check the defaults", defaults()).await,
        ENUMS => elicited(context, "Please choose", enums()).await,
        _ => return None,
    };
    let text = |text| vec![ContentBlock::text(text)];
    Some(answered.map_or_else(
        |error| CallToolResult::error(text(error)),
        |answer| CallToolResult::success(text(answer)),
    ))
}

async fn sampled(context: &RequestContext<RoleServer>, prompt: String) -> Result<String, String> {
    let message = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    let result = context
        .peer
        .create_message(message)
        .await
        .map_err(|error| error.to_string())?;
    Ok(format!("LLM response: {}", json!(result.message)))
}

async fn elicited(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<String, String> {
    let form = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let form: ElicitRequestParams =
        serde_json::from_value(form).map_err(|error| error.to_string())?;
    let result = context
        .peer
        .create_elicitation(form)
        .await
        .map_err(|error| error.to_string())?;
    Ok(format!(
        "Elicitation completed: action={}, content={}",
        json!(result.action),
        json!(result.content)
    ))
}

fn username() -> Value {
    let field = |description: &str| json!({"type": "string", "description": description});
    let properties =
        json!({"username": field("User's response"), "email": field("User's email address")});
    json!({"type": "object", "properties": properties, "required": ["username", "email"]})
}

const DEFAULTS: &str = "test_elicitation_sep1034_defaults";

fn defaults() -> Value {
    let properties = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    });
    json!({"type": "object", "properties": properties})
}

const ENUMS: &str = "test_elicitation_sep1330_enums";

fn enums() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = |word: &str| {
        let titled = |(value, number)| json!({"const": value, "title": format!("{number} {word}")});
        [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ]
        .map(titled)
    };
    let properties = json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    });
    json!({"type": "object", "properties": properties})
}
