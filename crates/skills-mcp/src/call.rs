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
    let Some(_turn) = server.inner.call_limiter.try_acquire(&caller.principal) else {
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
    let bound = Arc::new(CallBinding::new(&caller.principal, &name, &arguments));
    let offers = allowed_answers(server, caller);
    let given = take_response(server, caller, &bound, request_state, input_responses).await?;
    let way = match caller.lifecycle {
        _ if !caller.supports_elicitation => ElicitationChannel::None,
        Lifecycle::Stateless => ElicitationChannel::Result(given),
        Lifecycle::Legacy => ElicitationChannel::Request(Box::new(context.peer.clone())),
    };
    let cancellation = CancellationToken::new();
    let approver = Arc::new(ElicitationApprover::new(way, offers, cancellation.clone()));
    let calling = CallContext::default()
        .approver(Arc::clone(&approver) as _)
        .cancellation(cancellation.clone());
    let calling = caller
        .session
        .iter()
        .fold(calling, |calling, session| calling.session(session.clone()));
    let work = server
        .inner
        .tools
        .call(&name, Value::Object(arguments), &calling);
    let outcome = with_progress(
        work,
        &approver,
        &cancellation,
        &server.inner.cancel_calls,
        context,
    )
    .await;
    let outcome =
        outcome.map_err(|unknown| ErrorData::invalid_params(unknown.to_string(), None))?;
    match approver.take_pending() {
        Some(ask) if outcome.has_code(ToolErrorCode::ApprovalRequired) => {
            input_required(server, &bound, &ask).map(Into::into)
        }
        _ => Ok(tool_result(with_hint(outcome, &approver)).into()),
    }
}

/// Returns the answers to offer: none that would affect more than the caller may decide.
fn allowed_answers(server: &Server, caller: &Caller) -> AllowedAnswers {
    AllowedAnswers {
        session: caller.session.is_some(),
        always: server.inner.tenancy == Tenancy::SingleUser,
    }
}

/// Reads the approval response that came with a call. Request state and response must belong
/// together, without any other response.
async fn take_response(
    server: &Server,
    caller: &Caller,
    bound: &Arc<CallBinding>,
    state: Option<String>,
    responses: Option<InputResponses>,
) -> Result<Option<(String, ElicitResult)>, ErrorData> {
    let wrong = |message: &str| ErrorData::invalid_params(message.to_owned(), None);
    let (state, responses) = match (state, responses) {
        (None, None) => return Ok(None),
        _ if caller.lifecycle == Lifecycle::Legacy => {
            return Err(wrong(
                "requestState and inputResponses require protocol version 2026-07-28",
            ));
        }
        (Some(state), Some(responses)) => (state, responses),
        (Some(_), None) => return Err(wrong("requestState without inputResponses")),
        (None, Some(_)) => return Err(wrong("inputResponses without requestState")),
    };
    let mut responses: Vec<(String, Value)> = responses.into_iter().collect();
    let response = match (responses.pop(), responses.is_empty()) {
        (Some((name, response)), true) if name == PERMISSION_KEY => response,
        _ => {
            return Err(wrong("inputResponses does not match the pending request"));
        }
    };
    let response: ElicitResult = serde_json::from_value(response)
        .map_err(|error| wrong(&format!("inputResponses.{PERMISSION_KEY}: {error}")))?;
    let (server, bound) = (server.clone(), Arc::clone(bound));
    let opened =
        tokio::task::spawn_blocking(move || server.inner.state_signer.open(&bound, &state)).await;
    let opened =
        opened.map_err(|_| ErrorData::internal_error("cannot verify requestState", None))?;
    let question = opened.map_err(|error| wrong(&error.to_string()))?;
    Ok(Some((question, response)))
}

/// Returns the result that contains an approval prompt.
fn input_required(
    server: &Server,
    bound: &CallBinding,
    ask: &Elicitation,
) -> Result<InputRequiredResult, ErrorData> {
    let failed = |error: &dyn std::fmt::Display| {
        ErrorData::internal_error(format!("cannot ask for approval: {error}"), None)
    };
    let state = server
        .inner
        .state_signer
        .seal(bound, ask.question_digest())
        .map_err(|error| failed(&error))?;
    let form = ask.form_params().map_err(|error| failed(&error))?;
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(
        Some([(PERMISSION_KEY.to_owned(), request)].into()),
        Some(state),
    ))
}

/// Replaces the hint of a denial that could not be prompted for: says how the operator can allow
/// it.
fn with_hint(mut outcome: ToolOutput, approver: &ElicitationApprover) -> ToolOutput {
    if let Some(question) = approver
        .take_unanswerable()
        .filter(|_| outcome.has_code(ToolErrorCode::ApprovalRequired))
    {
        let hint = allow_hint(&question);
        let before = outcome.structured["error"]["hint"]
            .as_str()
            .map(|before| format!("\nHint: {before}"));
        let text = before
            .and_then(|before| outcome.text.strip_suffix(&before).map(str::to_owned))
            .unwrap_or(outcome.text);
        outcome.text = format!("{text}\nHint: {hint}");
        outcome.structured["error"]["hint"] = json!(hint);
    }
    outcome
}

fn tool_result(outcome: ToolOutput) -> CallToolResult {
    let links = outcome.files.iter().map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        ContentBlock::resource_link(Resource::new(uri::file_uri(path), name))
    });
    let content: Vec<ContentBlock> = std::iter::once(ContentBlock::text(outcome.text.clone()))
        .chain(links)
        .collect();
    let mut result = if outcome.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = Some(outcome.structured);
    result
}

fn too_many_calls(most: usize) -> CallToolResult {
    let message = format!("too many concurrent calls (limit {most}); retry later");
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("Error: {message}"))]);
    result.structured_content =
        Some(json!({"error": {"code": "too_many_calls", "message": message, "retryable": true}}));
    result
}
