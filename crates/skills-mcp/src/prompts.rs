//! `prompts/list` and `prompts/get`.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::Value;
use skills_tools::runtime::ledger::{ActivatedBy, Activity};

use crate::Server;
use crate::caller::Lifecycle;
use crate::list_changes::ListKind;
use crate::server_info::quote_for_error;

/// The prompt that explains how to use skills.
pub(crate) const GUIDE_PROMPT: &str = "skill_guide";
/// The argument of all skill prompts.
pub(crate) const ARGUMENTS_PARAMETER: &str = "arguments";
/// The argument of the guide.
pub(crate) const TASK_PARAMETER: &str = "task";

/// Lists the guide and all user-invocable skills.
pub(crate) async fn list(
    server: &Server,
    lifecycle: Lifecycle,
) -> Result<ListPromptsResult, ErrorData> {
    let mut result = ListPromptsResult::with_all_items(server.run_blocking(list_and_track).await?);
    (result.ttl_ms, result.cache_scope) = lifecycle.cache_hints();
    Ok(result)
}

/// Lists the current prompts and records them as served. Performs blocking I/O.
pub(crate) fn list_and_track(server: &Server) -> Vec<Prompt> {
    let of_skill = |skill: skills_tools::SkillPrompt| {
        let hint = skill
            .argument_hint
            .unwrap_or_else(|| "Task or input for the skill".to_owned());
        let argument = PromptArgument::new(ARGUMENTS_PARAMETER)
            .with_description(hint)
            .with_required(false);
        Prompt::new(skill.name, Some(skill.description), Some(vec![argument]))
    };
    let skills = server
        .tools()
        .prompts()
        .into_iter()
        // A skill must not replace the guide of the server.
        .filter(|skill| skill.name != GUIDE_PROMPT)
        .map(of_skill);
    let task = PromptArgument::new(TASK_PARAMETER)
        .with_description("Task for which fitting skills are listed")
        .with_required(false);
    let guide = Prompt::new(
        GUIDE_PROMPT,
        Some("How to find, read and run skills on this server"),
        Some(vec![task]),
    )
    .with_title("Guide to skills");
    let prompts = std::iter::once(guide).chain(skills).collect();
    let lists = &server.inner.list_tracker;
    lists.update(ListKind::Prompts, &prompts);
    prompts
}

/// Renders a prompt. A skill that is rendered is active in the session from then on.
pub(crate) async fn get(
    server: &Server,
    session: Option<String>,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
    let invalid = |message: String| Err(ErrorData::invalid_params(message, None));
    // Unknown arguments are an error, since clients could expect them to have an effect.
    let known = if name == GUIDE_PROMPT {
        TASK_PARAMETER
    } else {
        ARGUMENTS_PARAMETER
    };
    if let Some(unknown) = arguments.keys().find(|key| *key != known) {
        let (unknown, name) = (quote_for_error(unknown), quote_for_error(&name));
        return invalid(format!("unknown argument {unknown} of prompt {name}"));
    }
    let words = match arguments.get(known) {
        None => String::new(),
        Some(Value::String(words)) => words.clone(),
        Some(_) => {
            return invalid(format!("invalid argument `{known}`: expected a string"));
        }
    };
    if name == GUIDE_PROMPT {
        let guide = server.run_blocking(move |server| {
            let tools = server.tools();
            match words.trim() {
                "" => tools.guide(),
                task => format!("{}\n\n{}", tools.guide(), tools.skill_list(task)),
            }
        });
        let guide = PromptMessage::new_text(Role::User, guide.await?);
        return Ok(GetPromptResult::new(vec![guide]));
    }
    let rendered = server
        .run_blocking(move |server| {
            let tools = server.tools();
            let rendered = tools.prompt(&name, &words)?;
            let activated = Activity::Activated(ActivatedBy::User);
            tools.record_use([name.as_str()], activated, session.as_deref());
            if let Some(session) = session {
                tools.activate(&session, &name);
            }
            Ok::<_, skills_tools::ToolError>(rendered)
        })
        .await?;
    let rendered = rendered.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    // Two messages, so that the text of the author is not mistaken for the words of the user.
    let messages =
        [rendered.text, rendered.request].map(|text| PromptMessage::new_text(Role::User, text));
    Ok(GetPromptResult::new(messages.into()).with_description(rendered.description))
}
