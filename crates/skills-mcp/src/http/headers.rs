//! Request headers that must be unambiguous.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::rejection::Rejection;

/// The header with the session id.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header with the protocol version.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Returns the value of a header that may occur once.
///
/// If there are two values, a proxy and the server could read different ones, so both are rejected.
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

/// Returns whether the header names a protocol version without sessions.
pub(super) fn is_stateless_version(headers: &HeaderMap) -> Result<bool, Rejection> {
    let version = single_value(headers, &PROTOCOL_VERSION)?.and_then(|value| value.to_str().ok());
    Ok(version.is_some_and(|version| version >= FIRST_STATELESS_VERSION))
}

const FIRST_STATELESS_VERSION: &str = "2026-07-28";
