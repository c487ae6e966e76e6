//! Fields of a request that must not be ambiguous.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::refusal::Refusal;

/// The field that names a session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The field that names the revision of the protocol.
pub(super) const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Returns the value of a field that may occur once.
///
/// Whoever stands before the server may read the other one of two, so neither is believed.
pub(super) fn once<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        Err(Refusal::Repeated(name.clone()))
    } else {
        Ok(value)
    }
}

/// Tells whether the head names a revision that knows no sessions.
pub(super) fn knows_no_sessions(headers: &HeaderMap) -> Result<bool, Refusal> {
    let revision = once(headers, &REVISION)?.and_then(|value| value.to_str().ok());
    Ok(revision.is_some_and(|revision| revision >= FIRST_WITHOUT_SESSIONS))
}

const FIRST_WITHOUT_SESSIONS: &str = "2026-07-28";
