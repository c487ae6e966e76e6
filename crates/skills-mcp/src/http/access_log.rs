//! Access log: one entry per request.

use std::fmt::Write as _;
use std::time::Instant;

use http::{Method, Request, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::principal::Principal;

/// Entry of the access log, written when the response is complete or the client has disconnected.
///
/// Contains no token, query, body or header, and only a part of the digest of a session id.
#[derive(Debug)]
pub(super) struct AccessLogEntry {
    method: &'static str,
    path: &'static str,
    started: Instant,
    status: Option<StatusCode>,
    principal: Option<Principal>,
    session: Option<String>,
}

impl AccessLogEntry {
    pub(super) fn new<B>(request: &Request<B>, known: &[&'static str]) -> Self {
        // Other paths are arbitrary client input and could forge log lines.
        let path = known
            .iter()
            .find(|&&path| path == request.uri().path())
            .copied()
            .unwrap_or("other");
        Self {
            method: method_name(request.method()),
            path,
            started: Instant::now(),
            status: None,
            principal: None,
            session: None,
        }
    }

    pub(super) fn principal(&mut self, principal: &Principal) {
        self.principal = Some(principal.clone());
    }

    pub(super) fn session(&mut self, id: &str) {
        let digest = Sha256::digest(id);
        // Enough to correlate entries, too little to use the session.
        let part = digest.iter().take(6).fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        });
        self.session = Some(part);
    }

    pub(super) fn status(&mut self, status: StatusCode) {
        self.status = Some(status);
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
            principal = self.principal.as_ref().map(Principal::as_str),
            session = self.session.as_deref(),
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
