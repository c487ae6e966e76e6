//! Resources that a response holds until it was sent.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::response::Response;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http_body_util::BodyExt as _;

/// Holds a value until the response body was written or dropped.
///
/// hyper takes small bodies as a whole, long before they are written, so the value is attached to
/// the bytes.
pub(super) fn attach_guard<T: Send + Sync + 'static>(response: Response, guard: T) -> Response {
    let guard = Arc::new(guard);
    let (mut head, body) = response.into_parts();
    // The mapped body has no exact length, and would be sent in chunks.
    if let Some(length) = body.size_hint().exact() {
        head.headers
            .entry(CONTENT_LENGTH)
            .or_insert_with(|| HeaderValue::from(length));
    }
    let body =
        body.map_frame(move |frame| frame.map_data(|bytes| guard_bytes(bytes, guard.clone())));
    Response::from_parts(head, Body::new(body))
}

/// Holds a value as long as the bytes.
pub(super) fn guard_bytes<T: Send + 'static>(bytes: Bytes, guard: T) -> Bytes {
    Bytes::from_owner(GuardedBytes {
        bytes,
        _guard: guard,
    })
}

struct GuardedBytes<T> {
    bytes: Bytes,
    _guard: T,
}

impl<T> AsRef<[u8]> for GuardedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_guard_is_dropped_with_the_last_bytes() {
        let guard = Arc::new(());
        let mut response = attach_guard(Response::new(Body::from("answer")), guard.clone());
        assert_eq!(response.headers()[CONTENT_LENGTH], "6");
        let frame = response.body_mut().frame().await.unwrap().unwrap();
        drop(response);
        assert_eq!(
            (Arc::strong_count(&guard), &frame.data_ref().unwrap()[..]),
            (2, &b"answer"[..])
        );
        drop(frame);
        assert_eq!(Arc::strong_count(&guard), 1);
    }

    #[test]
    fn the_guard_is_dropped_if_the_response_is_not_read() {
        let guard = Arc::new(());
        drop(attach_guard(
            Response::new(Body::from("answer")),
            guard.clone(),
        ));
        assert_eq!(Arc::strong_count(&guard), 1);
    }
}
