//! Batches of legacy clients.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use futures_util::stream::select_all;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use rmcp::model::RequestId;
use serde_json::{Value, json};

use super::headers::{PROTOCOL_VERSION, SESSION_ID, is_stateless_version, single_value};
use super::json_rpc_header::JsonRpcHeader;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::response_guard::guard_bytes;
use super::session::SessionOwners;
use crate::Principal;
use crate::batch::{has_batches, split};

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Layer that passes the messages of a batch on as requests of their own, with the limits of each,
/// and sends all responses on one stream. Only the protocol version that has batches may use them.
pub(super) async fn split_messages(
    State(sessions): State<Option<SessionOwners>>,
    Extension(limits): Extension<Arc<PrincipalLimits>>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    // Only a batch has a body without a JSON-RPC header.
    let is_message = request.extensions().get::<JsonRpcHeader>().is_some();
    if is_message || request.method() != Method::POST {
        return Ok(next.run(request).await);
    }
    let (mut head, body) = request.into_parts();
    if !may_send_batches(&head.headers, sessions.as_ref(), &limits.principal)? {
        return Err(Rejection::BatchNotSupported);
    }
    head.headers.remove(CONTENT_LENGTH);
    let body = body.collect().await;
    let body = body.map_err(|_| Rejection::IncompleteBody)?.to_bytes();
    let messages = split(&body)?;
    for _ in messages.iter().skip(1) {
        limits.check_rate()?;
    }
    let replies = messages.iter().map(|message| {
        let message = body.slice_ref(message.get().as_bytes());
        send(head.clone(), message, next.clone())
    });
    Ok(merge(join_all(replies).await).await)
}

/// Returns whether a client may send batches: in a session of the version that has them, and
/// without sessions in requests of that version, which do not name it.
fn may_send_batches(
    headers: &HeaderMap,
    sessions: Option<&SessionOwners>,
    principal: &Principal,
) -> Result<bool, Rejection> {
    if is_stateless_version(headers)? {
        return Ok(false);
    }
    let session = single_value(headers, &SESSION_ID)?;
    match (sessions, session) {
        (Some(sessions), Some(id)) => {
            let id = id.to_str().map_err(|_| Rejection::SessionNotFound)?;
            sessions.has_batches(id, principal)
        }
        (Some(_), None) => Ok(false),
        (None, _) => {
            let version = single_value(headers, &PROTOCOL_VERSION)?;
            Ok(version.is_none_or(|version| version.to_str().is_ok_and(has_batches)))
        }
    }
}

/// The response to one message.
struct Reply {
    /// The id of the message, if it is a request.
    request_id: Option<RequestId>,
    response: Response,
}

async fn send(mut head: Parts, message: Bytes, next: Next) -> Reply {
    let header = match JsonRpcHeader::parse(&message) {
        Ok(header) => header,
        Err(rejection) => {
            return Reply {
                request_id: None,
                response: rejection.into_response(),
            };
        }
    };
    let request_id = header.request_id().cloned();
    head.extensions.insert(header);
    let request = Request::from_parts(head, message.into());
    let response = next.run(request).await;
    Reply {
        request_id,
        response,
    }
}

/// Merges the responses into a stream of events. Without requests, the response says only whether
/// all messages were accepted.
async fn merge(replies: Vec<Reply>) -> Response {
    let has_requests = replies.iter().any(|reply| reply.request_id.is_some());
    let mut streams = Vec::new();
    for reply in replies {
        if reply.response.status() == StatusCode::ACCEPTED {
            continue;
        }
        let is_message = has_type(&reply, EVENT_STREAM) || has_type(&reply, JSON);
        if !has_requests || !is_message {
            return reply.response;
        }
        streams.push(events(reply));
    }
    if streams.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let streams = join_all(streams).await.into_iter();
    let events = select_all(streams.map(Body::into_data_stream));
    let mut response = Response::new(Body::from_stream(events));
    let event_stream = HeaderValue::from_static(EVENT_STREAM);
    response.headers_mut().insert(CONTENT_TYPE, event_stream);
    response
}

fn has_type(reply: &Reply, expected: &str) -> bool {
    let value = reply.response.headers().get(CONTENT_TYPE);
    value.is_some_and(|value| value.as_bytes().starts_with(expected.as_bytes()))
}

/// Returns the events of a response. Each piece of the body is a complete event.
async fn events(reply: Reply) -> Body {
    if has_type(&reply, EVENT_STREAM) {
        return reply.response.into_body();
    }
    let is_rejection = !reply.response.status().is_success();
    let body = reply.response.into_body().collect().await;
    let mut message = body.map(|body| body.to_bytes()).unwrap_or_default();
    if is_rejection {
        message = with_id(&message, reply.request_id).into();
    }
    let event = [b"data: ", &*message, b"\n\n"].concat();
    // The permit of the request is held by its bytes.
    guard_bytes(event.into(), message).into()
}

/// Adds the id to the error of a request that was rejected before it was read.
fn with_id(error: &[u8], id: Option<RequestId>) -> Vec<u8> {
    let mut error: Value = serde_json::from_slice(error).unwrap_or_default();
    if error["id"].is_null() {
        error["id"] = json!(id);
    }
    error.to_string().into_bytes()
}
