//! The body of a request.

use axum::body::{Body, Bytes};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap};
use http_body_util::BodyExt as _;

use super::Limits;
use super::refusal::Refusal;
use super::room::{Room, SMALL_BYTES, Taken};

/// A body, and the room that it takes.
#[derive(Debug, Default)]
pub(super) struct Payload {
    pub(super) bytes: Bytes,
    pub(super) room: Option<Taken>,
}

impl Payload {
    /// Reads a body of JSON.
    pub(super) async fn read(
        headers: &HeaderMap,
        body: Body,
        limits: &Limits,
        room: &Room,
    ) -> Result<Self, Refusal> {
        if !is_json(headers) {
            return Err(Refusal::MediaType);
        }
        let limit = limits.max_body_bytes;
        let declared = headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let length = declared.map_or(limit, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if headers.contains_key(EXPECT) && declared.is_some() && length > limit {
            return Err(Refusal::TooLarge { limit });
        }
        let collected = collect(body, limit, room, length.min(limit));
        tokio::time::timeout(limits.body_timeout, collected)
            .await
            .unwrap_or(Err(Refusal::Slow))
    }
}

/// Keeps up to the limit, and reads a little beyond it for nothing: a client that is still sending
/// when the connection closes never sees why.
async fn collect(
    mut body: Body,
    limit: usize,
    room: &Room,
    length: usize,
) -> Result<Payload, Refusal> {
    let mut kept = Vec::new();
    let mut taken = None;
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(|_| Refusal::Broken)?.into_data() else {
            continue;
        };
        seen = seen.saturating_add(bytes.len());
        if seen <= limit {
            if seen > SMALL_BYTES && taken.is_none() {
                taken = Some(room.take(length).await?);
            }
            kept.extend_from_slice(&bytes);
            continue;
        }
        (kept, taken) = (Vec::new(), None);
        if seen > limit.saturating_mul(COURTESY) {
            break;
        }
    }
    if seen > limit {
        Err(Refusal::TooLarge { limit })
    } else {
        Ok(Payload {
            bytes: kept.into(),
            room: taken,
        })
    }
}

const COURTESY: usize = 4;

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    media_type
        .split(';')
        .next()
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
