//! What an answer takes up until its client has it.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::response::Response;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http_body_util::BodyExt as _;

/// Keeps something until all of the body was written, or it was given up.
///
/// The library that speaks HTTP takes small bodies whole, long before it can write them. So what is
/// held is tied to the bytes.
pub(super) fn attach_guard<T: Send + Sync + 'static>(response: Response, held: T) -> Response {
    let held = Arc::new(held);
    let (mut head, body) = response.into_parts();
    // It would be unknown behind the mapping, and the body would come in chunks.
    if let Some(length) = body.size_hint().exact() {
        head.headers
            .entry(CONTENT_LENGTH)
            .or_insert_with(|| HeaderValue::from(length));
    }
    let body =
        body.map_frame(move |frame| frame.map_data(|bytes| guard_bytes(bytes, held.clone())));
    Response::from_parts(head, Body::new(body))
}

/// Keeps something as long as the bytes.
pub(super) fn guard_bytes<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    Bytes::from_owner(GuardedBytes {
        bytes,
        _guard: held,
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
    async fn what_is_held_is_given_back_with_the_last_bytes() {
        let held = Arc::new(());
        let mut response = attach_guard(Response::new(Body::from("answer")), held.clone());
        assert_eq!(response.headers()[CONTENT_LENGTH], "6");
        let frame = response.body_mut().frame().await.unwrap().unwrap();
        drop(response);
        assert_eq!(
            (Arc::strong_count(&held), &frame.data_ref().unwrap()[..]),
            (2, &b"answer"[..])
        );
        drop(frame);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn what_is_held_is_given_back_if_nobody_reads_the_answer() {
        let held = Arc::new(());
        drop(attach_guard(
            Response::new(Body::from("answer")),
            held.clone(),
        ));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
