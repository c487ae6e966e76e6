//! Access log: one entry per request.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Method, StatusCode};
use sha2::{Digest as _, Sha256};

use super::response_guard::attach_guard;
use crate::Principal;

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

/// Layer that logs requests. Paths that are not known are arbitrary client input and could forge
/// log lines.
pub(super) async fn log(
    State(known_paths): State<&'static [&'static str]>,
    mut request: Request,
    next: Next,
) -> Response {
    let known = known_paths
        .iter()
        .find(|path| **path == request.uri().path());
    let fields = Arc::new(AccessLogFields::default());
    request.extensions_mut().insert(Arc::clone(&fields));
    let mut entry = AccessLogEntry {
        method: method_name(request.method()),
        path: known.copied().unwrap_or("other"),
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
        let part = digest.iter().take(6).map(|byte| format!("{byte:02x}"));
        self.session.get_or_init(|| part.collect());
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

/// Returns the name of a known method. Other methods are arbitrary client input.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}
