//! `completion/complete`: completes URI templates.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use skills_tools::Completion;

use crate::Server;
use crate::caller::Lifecycle;
use crate::resources::list_templates;

/// Completes names of skills and paths of their files.
pub(crate) async fn complete(
    server: &Server,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let invalid = |message: &'static str| Err(ErrorData::invalid_params(message, None));
    let template = match request.r#ref {
        Reference::Resource(reference) => reference.uri,
        // Prompts take free text only.
        Reference::Prompt(_) => return Ok(CompleteResult::default()),
        _ => return invalid("invalid reference: expected a prompt or a resource template"),
    };
    let templates = list_templates(Lifecycle::Legacy).resource_templates;
    if !templates.iter().any(|known| known.uri_template == template) {
        return invalid("resource template not found");
    }
    let argument = request.argument;
    let skill = request
        .context
        .and_then(|context| context.get_argument("name").cloned());
    let found = server.run_blocking(move |server| match (argument.name.as_str(), skill) {
        ("name", _) => server.tools().complete_skill(&argument.value),
        ("path", Some(skill)) => server.tools().complete_path(&skill, &argument.value),
        _ => Completion::default(),
    });
    let found = found.await?;
    let mut completion = CompletionInfo::new(found.values).unwrap_or_default();
    completion.has_more = Some(found.has_more);
    Ok(CompleteResult::new(completion))
}
