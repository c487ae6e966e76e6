//! `tools/call`.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitResult, InputRequest, InputRequiredResult, InputResponses, Resource,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use skills_tools::runtime::Cancellation;
use skills_tools::{CallContext, Code, Outcome};

use crate::approval::{Ask, Desk, Offers, PERMISSION, Way, hint};
use crate::caller::{Caller, Era};
use crate::progress::watched;
use crate::seal::Bound;
use crate::server::Owners;
use crate::{Server, uri};

/// Calls a tool, asks the client's user where the policy wants that, and tells the client what came
/// of it.
pub(crate) async fn call(
    server: &Server,
    caller: &Caller,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(_turn) = server.shared.turns.begin(&caller.principal) else {
        return Ok(too_many(server.shared.turns.most()).into());
    };
    let CallToolRequestParams {
        name,
        arguments,
        input_responses,
        request_state,
        ..
    } = request;
    let arguments = arguments.unwrap_or_default();
    let bound = Arc::new(Bound::to(&caller.principal, &name, &arguments));
    let offers = offers(server, caller);
    let given = given(server, caller, &bound, request_state, input_responses).await?;
    let way = match caller.era {
        _ if !caller.answers => Way::None,
        Era::Stateless => Way::Result(given),
        Era::Sessions => Way::Request(Box::new(context.peer.clone())),
    };
    let cancellation = Cancellation::new();
    let desk = Arc::new(Desk::new(way, offers, cancellation.clone()));
    let calling = CallContext::default()
        .approver(Arc::clone(&desk) as _)
        .cancellation(cancellation.clone());
    let calling = caller
        .session
        .iter()
        .fold(calling, |calling, session| calling.session(session.clone()));
    let work = server
        .shared
        .tools
        .call(&name, Value::Object(arguments), &calling);
    let outcome = watched(work, &desk, &cancellation, &server.shared.give_up, context).await;
    let outcome =
        outcome.map_err(|unknown| ErrorData::invalid_params(unknown.to_string(), None))?;
    match desk.open() {
        Some(ask) if outcome.is(Code::ApprovalRequired) => {
            question(server, &bound, &ask).map(Into::into)
        }
        _ => Ok(result(with_hint(outcome, &desk)).into()),
    }
}

/// What may be answered: nothing that outlives what the caller is.
fn offers(server: &Server, caller: &Caller) -> Offers {
    Offers {
        session: caller.session.is_some(),
        always: server.shared.owners == Owners::Callers,
    }
}

/// Reads the answer that came with a call. State and answer belong together, and nothing else may
/// come with them.
async fn given(
    server: &Server,
    caller: &Caller,
    bound: &Arc<Bound>,
    state: Option<String>,
    responses: Option<InputResponses>,
) -> Result<Option<(String, ElicitResult)>, ErrorData> {
    let wrong = |message: &str| ErrorData::invalid_params(message.to_owned(), None);
    let (state, responses) = match (state, responses) {
        (None, None) => return Ok(None),
        _ if caller.era == Era::Sessions => {
            return Err(wrong(
                "requestState and inputResponses are of revision 2026-07-28",
            ));
        }
        (Some(state), Some(responses)) => (state, responses),
        (Some(_), None) => return Err(wrong("requestState without inputResponses")),
        (None, Some(_)) => return Err(wrong("inputResponses without requestState")),
    };
    let mut responses: Vec<(String, Value)> = responses.into_iter().collect();
    let response = match (responses.pop(), responses.is_empty()) {
        (Some((name, response)), true) if name == PERMISSION => response,
        _ => {
            return Err(wrong(
                "inputResponses answers something else than what was asked",
            ));
        }
    };
    let response: ElicitResult = serde_json::from_value(response)
        .map_err(|error| wrong(&format!("inputResponses.{PERMISSION}: {error}")))?;
    let (server, bound) = (server.clone(), Arc::clone(bound));
    let opened = tokio::task::spawn_blocking(move || server.shared.seal.open(&bound, &state)).await;
    let opened =
        opened.map_err(|_| ErrorData::internal_error("requestState could not be read", None))?;
    let question = opened.map_err(|error| wrong(&error.to_string()))?;
    Ok(Some((question, response)))
}

/// The result that asks.
fn question(server: &Server, bound: &Bound, ask: &Ask) -> Result<InputRequiredResult, ErrorData> {
    let failed = |error: &dyn std::fmt::Display| {
        ErrorData::internal_error(format!("the question cannot be asked: {error}"), None)
    };
    let state = server
        .shared
        .seal
        .close(bound, ask.fingerprint())
        .map_err(|error| failed(&error))?;
    let form = ask.form().map_err(|error| failed(&error))?;
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(
        Some([(PERMISSION.to_owned(), request)].into()),
        Some(state),
    ))
}

/// Says what would allow beforehand what nobody could be asked.
fn with_hint(mut outcome: Outcome, desk: &Desk) -> Outcome {
    if let Some(question) = desk
        .unasked()
        .filter(|_| outcome.is(Code::ApprovalRequired))
    {
        let hint = hint(&question);
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

fn result(outcome: Outcome) -> CallToolResult {
    let links = outcome.files.iter().map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        ContentBlock::resource_link(Resource::new(uri::of_file(path), name))
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

fn too_many(most: usize) -> CallToolResult {
    let message =
        format!("{most} calls are being answered already; call again when one of them is done");
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("Error: {message}"))]);
    result.structured_content =
        Some(json!({"error": {"code": "too_many_calls", "message": message, "retryable": true}}));
    result
}
