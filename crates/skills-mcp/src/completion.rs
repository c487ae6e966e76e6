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
    let CompleteRequestParams {
        r#ref,
        argument,
        context,
        ..
    } = request;
    let template = match r#ref {
        Reference::Resource(reference) => reference.uri,
        // Prompts take free text only.
        Reference::Prompt(_) => return Ok(CompleteResult::default()),
        _ => {
            return Err(ErrorData::invalid_params(
                "invalid reference: expected a prompt or a resource template",
                None,
            ));
        }
    };
    if !list_templates(Lifecycle::Legacy)
        .resource_templates
        .iter()
        .any(|known| known.uri_template == template)
    {
        return Err(ErrorData::invalid_params(
            "resource template not found",
            None,
        ));
    }
    let skill = context.and_then(|context| context.get_argument("name").cloned());
    let found = server.run_blocking(move |server| match (argument.name.as_str(), skill) {
        ("name", _) => server.inner.tools.complete_skill(&argument.value),
        ("path", Some(skill)) => server.inner.tools.complete_path(&skill, &argument.value),
        _ => Completion::default(),
    });
    let Completion {
        values, has_more, ..
    } = found.await?;
    let mut completion = CompletionInfo::new(values).unwrap_or_default();
    completion.has_more = Some(has_more);
    Ok(CompleteResult::new(completion))
}
