//! `tools/call`: calls a tool, with approval prompts.
//!
//! `skills_tools::ToolSet::call` starts the run; see `skills-tools/src/run.rs`.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, InputRequest,
    InputRequiredResult, InputResponses,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use skills_tools::runtime::CancellationToken;
use skills_tools::{CallContext, ToolErrorCode, ToolOutput};

use crate::Server;
use crate::caller::{Caller, Lifecycle};
use crate::elicitation::{
    AllowedResponses, Elicitation, ElicitationApprover, ElicitationChannel, PERMISSION_KEY,
    Unresolved,
};
use crate::progress::{CallPhase, while_waiting, with_progress};
use crate::project_question::{AskingCall, ProjectQuestion};
use crate::request_state::CallBinding;
use crate::server::Tenancy;
use crate::tool_list::SessionTools;
use crate::tool_result::{ResultData, to_mcp_result};

/// What the calls of a connection share.
#[derive(Default)]
pub(crate) struct SessionState {
    /// The tools that its client has listed.
    pub(crate) tools: SessionTools,
    pub(crate) project: ProjectQuestion,
}

/// Calls a tool. If policy requires an approval, asks the user of the client; then returns the
/// result. Notifies the client first if it has further tools now.
pub(crate) async fn call(
    server: &Server,
    caller: &Caller,
    session: &SessionState,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let inner = &server.inner;
    let to_result = |output| to_mcp_result(output, inner.result_data, caller).into();
    // Before anything else, so that a rejected call costs nothing and uses up no request state.
    let permit = inner.call_limiter.acquire(&caller.principal);
    let Some(_permit) = while_waiting(permit, context).await.flatten() else {
        return Ok(to_result(too_many_calls(inner.call_limiter.max())));
    };
    let arguments = request.arguments.unwrap_or_default();
    let binding = CallBinding::new(&caller.principal, &request.name, &arguments);
    let (state, responses) = (request.request_state, request.input_responses);
    let response = take_response(server, caller, binding.clone(), state, responses).await?;
    let has_response = response.is_some();
    let channel = match caller.lifecycle {
        _ if !caller.supports_elicitation => ElicitationChannel::None,
        Lifecycle::Stateless => ElicitationChannel::Result(response),
        Lifecycle::Legacy => ElicitationChannel::Request(Box::new(context.peer.clone())),
    };
    let allowed_responses = AllowedResponses {
        session: caller.session.is_some(),
        // The approval store belongs to the operator; one of several users must not decide for the
        // others.
        always: inner.tenancy == Tenancy::SingleUser,
    };
    // One approver per call: a response for one call can never reach another.
    let approver = Arc::new(ElicitationApprover::new(
        channel,
        allowed_responses,
        Arc::clone(&inner.trust_command),
    ));
    let cancellation = CancellationToken::new();
    let phase = CallPhase::default();
    let mut call_context = caller_context(caller, context);
    // Clients that are programs continue a part at the offset that they asked for.
    if inner.result_data == ResultData::Meta {
        call_context = call_context.max_text_bytes(caller.max_text_bytes);
    }
    let call_context = phase
        .record(call_context, context)
        .approver(Arc::clone(&approver) as _)
        .cancellation(cancellation.clone());
    let tools = server.tools();
    let asking = AskingCall {
        tool: &request.name,
        arguments: &arguments,
        has_response,
    };
    let call = async {
        let project = &session.project;
        project
            .ask(server, caller, asking, &approver, context)
            .await;
        // The client shows it and calls again.
        if !has_response && matches!(approver.unresolved(), Some(Unresolved::Prompt(_))) {
            return None;
        }
        let arguments = Value::Object(arguments.clone());
        Some(tools.call(&request.name, arguments, &call_context).await)
    };
    let output = with_progress(
        call,
        &approver,
        &phase,
        &cancellation,
        &inner.cancel_calls,
        context,
    )
    .await;
    let Some(output) = output else {
        return match approver.unresolved() {
            Some(Unresolved::Prompt(prompt)) => {
                input_required(server, &binding, prompt).map(Into::into)
            }
            _ => Err(ErrorData::internal_error("no prompt", None)),
        };
    };
    // A result and not an error of the protocol, of which some clients show their model nothing.
    let mut output = output.unwrap_or_else(ToolOutput::from);
    log_notes(&request.name, &output);
    if let (Some(_), Some(id)) = (&output.loaded_skill, &caller.session) {
        session.tools.notify_if_changed(server, id.clone()).await;
    }
    // Only if the call ended because of the request. If it succeeded in another way, no response is
    // needed.
    let is_required = output.has_code(ToolErrorCode::ApprovalRequired);
    let needs_prompt = |prompt: &Elicitation| {
        // The client calls again with the response, which must not repeat what a line wrote.
        !output.repeats_effects && (is_required || prompt.is_after_refusal && output.is_error)
    };
    match approver.unresolved() {
        Some(Unresolved::Prompt(prompt)) if needs_prompt(prompt) => {
            return input_required(server, &binding, prompt).map(Into::into);
        }
        Some(Unresolved::Hint(hint)) if is_required => output.replace_hint(hint),
        _ => {}
    }
    Ok(to_result(output))
}

/// Logs the notes of a run, such as missing requirements. They quote texts of skills, so their
/// control characters are escaped.
fn log_notes(tool: &str, output: &ToolOutput) {
    for note in &output.notes {
        tracing::info!(tool, note = %note.escape_debug(), "note of a call");
    }
}

/// Returns the caller as audit records name it, with what its client says about itself.
fn caller_context(caller: &Caller, context: &RequestContext<RoleServer>) -> CallContext {
    let mut call_context = CallContext::default().principal(caller.principal.as_str());
    if let Some(client) = context.client_info() {
        call_context = call_context.client(client.name, client.version);
    }
    if let Some(session) = &caller.session {
        call_context = call_context.session(session);
    }
    call_context
}

/// Returns the answer that came with a call, with the digest of its prompt. An answer
/// that does not belong to this call, came too late, or was used before counts as none: the user is
/// asked again.
async fn take_response(
    server: &Server,
    caller: &Caller,
    binding: CallBinding,
    state: Option<String>,
    responses: Option<InputResponses>,
) -> Result<Option<(String, ElicitResult)>, ErrorData> {
    // Legacy clients are prompted during the call, so state from them cannot be genuine.
    let (Lifecycle::Stateless, Some(state), Some(responses)) = (caller.lifecycle, state, responses)
    else {
        return Ok(None);
    };
    let response = responses
        .into_iter()
        .find(|(name, _)| name == PERMISSION_KEY)
        .and_then(|(_, response)| serde_json::from_value(response).ok());
    let Some(response) = response else {
        return Ok(None);
    };
    // The replay cache may use files.
    let verified = server
        .run_blocking(move |server| server.inner.state_signer.verify(&binding, &state))
        .await?;
    if let Err(error) = &verified {
        tracing::debug!(%error, "an approval response is ignored, and its user asked again");
    }
    Ok(verified
        .ok()
        .map(|request_digest| (request_digest, response)))
}

/// Returns the result that contains an approval prompt.
fn input_required(
    server: &Server,
    binding: &CallBinding,
    elicitation: &Elicitation,
) -> Result<InputRequiredResult, ErrorData> {
    let signer = &server.inner.state_signer;
    let signed = signer.sign(binding, &elicitation.request_digest);
    let prompt = signed.and_then(|state| Ok((state, elicitation.form_params()?)));
    let (state, form) = prompt.map_err(|error| {
        ErrorData::internal_error(format!("cannot ask for approval: {error}"), None)
    })?;
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(
        Some([(PERMISSION_KEY.to_owned(), request)].into()),
        Some(state),
    ))
}

/// Returns the error of a call beyond the limit. A result, not a protocol error, so that the model
/// reads it and can retry.
fn too_many_calls(max: usize) -> ToolOutput {
    let message = format!("too many concurrent calls (limit {max}); retry later");
    ToolErrorCode::TooManyCalls.error(message).into()
}
