//! Limit of concurrent requests and streams.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::Method;

use super::json_rpc_header::{JsonRpcHeader, MessageKind};
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::response_guard::attach_guard;

/// Layer that rejects requests and streams above the limits of their principal. Each holds its
/// permit until the response is sent.
pub(super) async fn limit(
    Extension(limits): Extension<Arc<PrincipalLimits>>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    let header = request.extensions().get::<JsonRpcHeader>();
    let permit = match header.map(JsonRpcHeader::kind) {
        Some(MessageKind::Call) => limits.acquire_call().await?,
        Some(MessageKind::Initialize | MessageKind::Request) => limits.acquire_request().await?,
        Some(MessageKind::Subscribe) => limits.acquire_stream()?,
        None if request.method() == Method::GET => limits.acquire_stream()?,
        // Notifications and responses need no permit: a running call may wait for one of them.
        // Ending a session must be possible when all streams are in use.
        Some(MessageKind::Notification) | None => return Ok(next.run(request).await),
    };
    Ok(attach_guard(next.run(request).await, permit))
}
