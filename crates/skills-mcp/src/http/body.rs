//! Request bodies.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap};
use http_body_util::BodyExt as _;

use super::body_budget::{BodyBudget, UNBUDGETED_BYTES};
use super::json_rpc_header::{JsonRpcHeader, check_values};
use super::limits::HttpLimits;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::response_guard::guard_bytes;

/// Layer that reads the body of a message, with its memory permit, and its JSON-RPC header. Drops the
/// body of any other request.
pub(super) async fn read(
    State(limits): State<Arc<HttpLimits>>,
    Extension(principal_limits): Extension<Arc<PrincipalLimits>>,
    request: Request,
) -> Result<Request, Rejection> {
    let (mut parts, body) = request.into_parts();
    let mut bytes = Bytes::new();
    if parts.method == Method::POST {
        bytes = read_json(&parts.headers, body, &limits, &principal_limits.body_budget).await?;
        check_values(&bytes, limits.max_json_values())?;
        // Versions of the protocol before 2025-06-18 allow several messages in an array.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(Rejection::BatchNotSupported);
        }
        parts.extensions.insert(JsonRpcHeader::parse(&bytes)?);
    }
    Ok(Request::from_parts(parts, bytes.into()))
}

async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limits: &HttpLimits,
    budget: &BodyBudget,
) -> Result<Bytes, Rejection> {
    if !is_json_content_type(headers) {
        return Err(Rejection::UnsupportedMediaType);
    }
    let limit = limits.max_request_body_bytes;
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let length = declared.map_or(limit, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    // The client waits for permission to send, so an oversized body can be rejected before it is
    // sent.
    if headers.contains_key(EXPECT) && declared.is_some() && length > limit {
        return Err(Rejection::TooLarge { limit });
    }
    let collected = collect_body(body, limit, budget, length.min(limit));
    // A total timeout: a client that sends one byte at a time is never idle.
    tokio::time::timeout(limits.request_body_timeout, collected)
        .await
        .unwrap_or(Err(Rejection::BodyTimeout))
}

/// Reads the body up to the limit, and discards a little beyond it: a client that is still sending
/// when the connection closes would not see the error.
async fn collect_body(
    mut body: Body,
    limit: usize,
    budget: &BodyBudget,
    length: usize,
) -> Result<Bytes, Rejection> {
    let mut buffer = Vec::new();
    let mut permit = None;
    let mut received = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(|_| Rejection::IncompleteBody)?.into_data() else {
            continue;
        };
        received = received.saturating_add(bytes.len());
        if received <= limit {
            // Acquired when the body turns out to be large, and for all of it at once: growing step
            // by step could deadlock.
            if received > UNBUDGETED_BYTES && permit.is_none() {
                permit = Some(budget.acquire(length).await?);
            }
            buffer.extend_from_slice(&bytes);
            continue;
        }
        // Frees the memory at once; the rest is only counted.
        (buffer, permit) = (Vec::new(), None);
        if received > limit.saturating_mul(MAX_DISCARDED_BYTES) {
            break;
        }
    }
    if received > limit {
        Err(Rejection::TooLarge { limit })
    } else {
        // rmcp drops the body after parsing it.
        Ok(guard_bytes(buffer.into(), permit))
    }
}

const MAX_DISCARDED_BYTES: usize = 4;

fn is_json_content_type(headers: &HeaderMap) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"))
}
