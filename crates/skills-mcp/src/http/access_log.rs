//! Access log: one entry per request.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use sha2::{Digest as _, Sha256};

use super::response_guard::attach_guard;
use crate::Principal;

/// The methods that are logged by name.
const METHODS: [&str; 5] = ["GET", "POST", "DELETE", "HEAD", "OPTIONS"];

/// Entry of the access log, written when the response is complete or the client has disconnected.
///
/// Contains no token, query, body or header, and only a part of the digest of a session id.
#[derive(Debug)]
struct AccessLogEntry {
    method: &'static str,
    path: &'static str,
    started: Instant,
    status: Option<StatusCode>,
    fields: Arc<AccessLogFields>,
}

/// The fields of an entry that other layers know.
#[derive(Debug, Default)]
pub(super) struct AccessLogFields {
    principal: OnceLock<Principal>,
    session: OnceLock<String>,
}

/// Layer that logs requests.
pub(super) async fn log(
    State(known_paths): State<&'static [&'static str]>,
    mut request: Request,
    next: Next,
) -> Response {
    let fields = Arc::new(AccessLogFields::default());
    request.extensions_mut().insert(Arc::clone(&fields));
    let mut entry = AccessLogEntry {
        method: known(request.method().as_str(), &METHODS),
        path: known(request.uri().path(), known_paths),
        started: Instant::now(),
        status: None,
        fields,
    };
    let response = next.run(request).await;
    entry.status = Some(response.status());
    if is_event_stream(response.headers()) {
        // A stream is logged when it ends.
        attach_guard(response, entry)
    } else {
        response
    }
}

impl AccessLogFields {
    pub(super) fn principal(&self, principal: &Principal) {
        self.principal.get_or_init(|| principal.clone());
    }

    pub(super) fn session(&self, id: &str) {
        let digest = Sha256::digest(id);
        // Enough to correlate entries, too little to use the session.
        self.session.get_or_init(|| hex::encode(&digest[..6]));
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        // On drop, so that requests of clients that disconnect are logged, too.
        tracing::info!(
            method = self.method,
            path = self.path,
            status = self.status.map(|status| status.as_u16()),
            duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            principal = self.fields.principal.get().map(Principal::as_str),
            session = self.fields.session.get().map(String::as_str),
            "request"
        );
    }
}

/// Returns a known text. Others are arbitrary client input and could forge log lines.
fn known(text: &str, known: &[&'static str]) -> &'static str {
    known
        .iter()
        .find(|known| **known == text)
        .copied()
        .unwrap_or("other")
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}
