//! `prompts/list`, `prompts/get`.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::Value;

use crate::Server;
use crate::about::shown;
use crate::caller::Era;
use crate::changes::List;

/// The prompt that says how to use skills.
pub(crate) const GUIDE: &str = "skill_guide";
/// The argument that all prompts of skills take.
pub(crate) const ARGUMENTS: &str = "arguments";

/// Lists the guide, and each skill that a user may call by its name.
pub(crate) async fn list(server: &Server, era: Era) -> Result<ListPromptsResult, ErrorData> {
    let mut result = ListPromptsResult::with_all_items(server.blocking(all).await?);
    (result.ttl_ms, result.cache_scope) = era.hints();
    Ok(result)
}

/// Lists them as they are now, and notes that clients are told so. Blocks on the disk.
pub(crate) fn all(server: &Server) -> Vec<Prompt> {
    let of_skill = |skill: skills_tools::SkillPrompt| {
        let hint = skill
            .argument_hint
            .unwrap_or_else(|| "What the skill is to work on".to_owned());
        let argument = PromptArgument::new(ARGUMENTS)
            .with_description(hint)
            .with_required(false);
        Prompt::new(skill.name, Some(skill.description), Some(vec![argument]))
    };
    let skills = server
        .shared
        .tools
        .prompts()
        .into_iter()
        .filter(|skill| skill.name != GUIDE)
        .map(of_skill);
    let guide = Prompt::new(GUIDE, Some("How to find, read and run skills here"), None)
        .with_title("Guide to skills");
    let prompts = std::iter::once(guide).chain(skills).collect();
    server.shared.changes.note(List::Prompts, &prompts);
    prompts
}

/// Writes a prompt.
pub(crate) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let GetPromptRequestParams {
        name, arguments, ..
    } = request;
    let arguments = arguments.unwrap_or_default();
    let known: &[&str] = if name == GUIDE { &[] } else { &[ARGUMENTS] };
    if let Some(unknown) = arguments.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(ErrorData::invalid_params(
            format!("prompt {} has no argument {}", shown(&name), shown(unknown)),
            None,
        ));
    }
    let words = match arguments.get(ARGUMENTS) {
        None => String::new(),
        Some(Value::String(words)) => words.clone(),
        Some(_) => {
            return Err(ErrorData::invalid_params(
                format!("the argument {ARGUMENTS:?} is text"),
                None,
            ));
        }
    };
    if name == GUIDE {
        let guide = server
            .blocking(|server| server.shared.tools.guide())
            .await?;
        return Ok(GetPromptResult::new(vec![PromptMessage::new_text(
            Role::User,
            guide,
        )]));
    }
    let prompted = server
        .blocking(move |server| server.shared.tools.prompt(&name, &words))
        .await?;
    let prompted = prompted.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    let messages =
        [prompted.text, prompted.request].map(|text| PromptMessage::new_text(Role::User, text));
    Ok(GetPromptResult::new(messages.into()).with_description(prompted.description))
}
