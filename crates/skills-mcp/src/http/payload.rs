//! The body of a request.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap};
use http_body_util::BodyExt as _;

use super::refusal::Refusal;

/// Reads a body of JSON.
pub(super) async fn read(headers: &HeaderMap, body: Body, max_bytes: usize, timeout: Duration) -> Result<Bytes, Refusal> {
    if !is_json(headers) {
        return Err(Refusal::MediaType);
    }
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if headers.contains_key(EXPECT) && declared.is_some_and(|bytes| bytes > max_bytes as u64) {
        return Err(Refusal::TooLarge { limit: max_bytes });
    }
    tokio::time::timeout(timeout, collect(body, max_bytes)).await.unwrap_or(Err(Refusal::Slow))
}

/// Keeps up to the limit, and reads a little beyond it for nothing: a client that is still sending when the connection closes
/// never sees why.
async fn collect(mut body: Body, max_bytes: usize) -> Result<Bytes, Refusal> {
    let mut kept = Vec::new();
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(|_| Refusal::Broken)?.into_data() else {
            continue;
        };
        seen = seen.saturating_add(bytes.len());
        if seen <= max_bytes {
            kept.extend_from_slice(&bytes);
            continue;
        }
        kept = Vec::new();
        if seen > max_bytes.saturating_mul(COURTESY) {
            break;
        }
    }
    if seen > max_bytes { Err(Refusal::TooLarge { limit: max_bytes }) } else { Ok(kept.into()) }
}

const COURTESY: usize = 4;

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
