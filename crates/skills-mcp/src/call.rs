//! `tools/call`: calls a tool, with approval prompts.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitResult, InputRequest, InputRequiredResult, InputResponses, Resource,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use skills_tools::runtime::CancellationToken;
use skills_tools::{CallContext, ToolErrorCode, ToolOutput};

use crate::caller::{Caller, Lifecycle};
use crate::elicitation::{
    AllowedAnswers, Elicitation, ElicitationApprover, ElicitationChannel, PERMISSION_KEY,
    allow_hint,
};
use crate::progress::with_progress;
use crate::request_state::CallBinding;
use crate::server::Tenancy;
use crate::{Server, uri};

/// Calls a tool. If policy requires an approval, asks the user of the client; then returns the
/// result.
pub(crate) async fn call(
    server: &Server,
    caller: &Caller,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    // Before anything else, so that a rejected call costs nothing and uses up no request state.
    let Some(_permit) = server.inner.call_limiter.try_acquire(&caller.principal) else {
        return Ok(too_many_calls(server.inner.call_limiter.max()).into());
    };
    let CallToolRequestParams {
        name,
        arguments,
        input_responses,
        request_state,
        ..
    } = request;
    let arguments = arguments.unwrap_or_default();
    let binding = Arc::new(CallBinding::new(&caller.principal, &name, &arguments));
    let response = take_response(server, caller, &binding, request_state, input_responses).await?;
    let channel = match caller.lifecycle {
        _ if !caller.supports_elicitation => ElicitationChannel::None,
        Lifecycle::Stateless => ElicitationChannel::Result(response),
        Lifecycle::Legacy => ElicitationChannel::Request(Box::new(context.peer.clone())),
    };
    let cancellation = CancellationToken::new();
    // One approver per call: an answer for one call can never reach another.
    let approver = Arc::new(ElicitationApprover::new(
        channel,
        allowed_answers(server, caller),
        cancellation.clone(),
    ));
    let mut call_context = CallContext::default()
        .approver(Arc::clone(&approver) as _)
        .cancellation(cancellation.clone());
    if let Some(session) = &caller.session {
        call_context = call_context.session(session);
    }
    let call = server
        .inner
        .tools
        .call(&name, Value::Object(arguments), &call_context);
    let output = with_progress(
        call,
        &approver,
        &cancellation,
        &server.inner.cancel_calls,
        context,
    )
    .await;
    let output = output.map_err(|unknown| ErrorData::invalid_params(unknown.to_string(), None))?;
    match approver.take_pending() {
        // Only if the call ended because of this prompt. If it succeeded in another way, no answer
        // is needed.
        Some(elicitation) if output.has_code(ToolErrorCode::ApprovalRequired) => {
            input_required(server, &binding, &elicitation).map(Into::into)
        }
        _ => Ok(tool_result(with_hint(output, &approver)).into()),
    }
}

/// Returns the answers to offer: none that would affect more than the caller may decide.
fn allowed_answers(server: &Server, caller: &Caller) -> AllowedAnswers {
    AllowedAnswers {
        session: caller.session.is_some(),
        // The approval store belongs to the operator; one of several users must not decide for the
        // others.
        always: server.inner.tenancy == Tenancy::SingleUser,
    }
}

/// Reads the approval response that came with a call. Request state and response must belong
/// together, without any other response.
async fn take_response(
    server: &Server,
    caller: &Caller,
    binding: &Arc<CallBinding>,
    state: Option<String>,
    responses: Option<InputResponses>,
) -> Result<Option<(String, ElicitResult)>, ErrorData> {
    let invalid = |message: &str| ErrorData::invalid_params(message.to_owned(), None);
    let (state, responses) = match (state, responses) {
        (None, None) => return Ok(None),
        // Legacy clients are prompted during the call, so state from them cannot be genuine.
        _ if caller.lifecycle == Lifecycle::Legacy => {
            return Err(invalid(
                "requestState and inputResponses require protocol version 2026-07-28",
            ));
        }
        (Some(state), Some(responses)) => (state, responses),
        (Some(_), None) => return Err(invalid("requestState without inputResponses")),
        (None, Some(_)) => return Err(invalid("inputResponses without requestState")),
    };
    let mut responses: Vec<(String, Value)> = responses.into_iter().collect();
    let response = match (responses.pop(), responses.is_empty()) {
        // Exactly one response: extra ones could be meant for a prompt that was never sent.
        (Some((name, response)), true) if name == PERMISSION_KEY => response,
        _ => {
            return Err(invalid("inputResponses does not match the pending request"));
        }
    };
    let response: ElicitResult = serde_json::from_value(response)
        .map_err(|error| invalid(&format!("inputResponses.{PERMISSION_KEY}: {error}")))?;
    // The replay cache may use files, so the check runs on the blocking pool.
    let (server, binding) = (server.clone(), Arc::clone(binding));
    let verified =
        tokio::task::spawn_blocking(move || server.inner.state_signer.open(&binding, &state)).await;
    let verified =
        verified.map_err(|_| ErrorData::internal_error("cannot verify requestState", None))?;
    let question = verified.map_err(|error| invalid(&error.to_string()))?;
    Ok(Some((question, response)))
}

/// Returns the result that contains an approval prompt.
fn input_required(
    server: &Server,
    binding: &CallBinding,
    elicitation: &Elicitation,
) -> Result<InputRequiredResult, ErrorData> {
    let failed = |error: &dyn std::fmt::Display| {
        ErrorData::internal_error(format!("cannot ask for approval: {error}"), None)
    };
    let state = server
        .inner
        .state_signer
        .seal(binding, elicitation.question_digest())
        .map_err(|error| failed(&error))?;
    let form = elicitation.form_params().map_err(|error| failed(&error))?;
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(
        Some([(PERMISSION_KEY.to_owned(), request)].into()),
        Some(state),
    ))
}

/// Replaces the hint of a denial that could not be prompted for: says how the operator can allow
/// it.
fn with_hint(mut output: ToolOutput, approver: &ElicitationApprover) -> ToolOutput {
    if let Some(question) = approver
        .take_unanswerable()
        .filter(|_| output.has_code(ToolErrorCode::ApprovalRequired))
    {
        let hint = allow_hint(&question);
        // Clients show either the text or the structured data, so the hint is replaced in both.
        let old_hint = output.structured["error"]["hint"]
            .as_str()
            .map(|old_hint| format!("\nHint: {old_hint}"));
        let text = old_hint
            .and_then(|old_hint| output.text.strip_suffix(&old_hint).map(str::to_owned))
            .unwrap_or(output.text);
        output.text = format!("{text}\nHint: {hint}");
        output.structured["error"]["hint"] = json!(hint);
    }
    output
}

fn tool_result(output: ToolOutput) -> CallToolResult {
    let links = output.files.iter().map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        ContentBlock::resource_link(Resource::new(uri::file_uri(path), name))
    });
    let content: Vec<ContentBlock> = std::iter::once(ContentBlock::text(output.text.clone()))
        .chain(links)
        .collect();
    let mut result = if output.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = Some(output.structured);
    result
}

fn too_many_calls(max: usize) -> CallToolResult {
    let message = format!("too many concurrent calls (limit {max}); retry later");
    // A result and no protocol error, so that the model reads it and can retry.
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("Error: {message}"))]);
    result.structured_content =
        Some(json!({"error": {"code": "too_many_calls", "message": message, "retryable": true}}));
    result
}
