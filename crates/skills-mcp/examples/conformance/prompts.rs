//! Prompts that the suite expects by name.

use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt,
    PromptArgument, PromptMessage, RequestStateCodec, ResourceContents, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use crate::content::PNG;
use crate::input_required::{PROMPT, Progress};

pub(crate) fn all() -> Vec<Prompt> {
    let prompt = |name: &str, description: &str, arguments: &[&str]| {
        let argument = |name: &&str| {
            PromptArgument::new(*name)
                .with_description("Text that the prompt repeats")
                .with_required(true)
        };
        Prompt::new(
            name,
            Some(description),
            Some(arguments.iter().map(argument).collect()),
        )
    };
    vec![
        prompt("test_simple_prompt", "Has no arguments", &[]),
        prompt(
            "test_prompt_with_arguments",
            "Repeats two arguments",
            &["arg1", "arg2"],
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            "Holds a resource",
            &["resourceUri"],
        ),
        prompt("test_prompt_with_image", "Holds a picture", &[]),
        prompt(PROMPT.name(), PROMPT.description(), &[]),
    ]
}

/// Renders a prompt, if it is one of these.
pub(crate) fn get(
    request: &GetPromptRequestParams,
    seal: &RequestStateCodec,
    context: &RequestContext<RoleServer>,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    let argument = |name: &str| {
        request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get(name)?.as_str())
            .unwrap_or_default()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = ResourceContents::text(
                "Embedded resource content for testing.",
                argument("resourceUri"),
            );
            let resource = ContentBlock::resource(resource.with_mime_type("text/plain"));
            vec![
                PromptMessage::new(Role::User, resource),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => {
            let image = ContentBlock::image(PNG, "image/png");
            vec![
                PromptMessage::new(Role::User, image),
                text("Please analyze the image above."),
            ]
        }
        name if name == PROMPT.name() => return Some(with_user_input(request, seal, context)),
        _ => return None,
    };
    Some(Ok(GetPromptResult::new(messages).into()))
}

fn with_user_input(
    request: &GetPromptRequestParams,
    seal: &RequestStateCodec,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    Ok(
        match PROMPT.advance(
            seal,
            request.input_responses.clone(),
            request.request_state.clone(),
            context,
        )? {
            Progress::InputRequired(result) => result.into(),
            Progress::Complete(responses) => {
                GetPromptResult::new(vec![text(&format!("The context: {}", json!(responses)))])
                    .into()
            }
        },
    )
}

fn text(text: &str) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
