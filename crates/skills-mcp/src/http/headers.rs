//! Fields of a request that must not be ambiguous.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::rejection::Rejection;

/// The field that names a session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The field that names the revision of the protocol.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Returns the value of a field that may occur once.
///
/// Whoever stands before the server may read the other one of two, so neither is believed.
pub(super) fn single_value<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Rejection> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        Err(Rejection::DuplicateHeader(name.clone()))
    } else {
        Ok(value)
    }
}

/// Tells whether the head names a revision that knows no sessions.
pub(super) fn is_stateless_version(headers: &HeaderMap) -> Result<bool, Rejection> {
    let revision = single_value(headers, &PROTOCOL_VERSION)?.and_then(|value| value.to_str().ok());
    Ok(revision.is_some_and(|revision| revision >= FIRST_STATELESS_VERSION))
}

const FIRST_STATELESS_VERSION: &str = "2026-07-28";
