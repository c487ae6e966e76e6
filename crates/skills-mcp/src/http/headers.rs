//! Headers of requests and responses.

use axum::extract::Request;
use axum::response::Response;
use http::Version;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};

use super::rejection::Rejection;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
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

/// Returns true if the header names a protocol version without sessions.
pub(super) fn is_stateless_version(headers: &HeaderMap) -> Result<bool, Rejection> {
    let version = single_value(headers, &PROTOCOL_VERSION)?.and_then(|value| value.to_str().ok());
    Ok(version.is_some_and(is_stateless))
}

/// Returns true if a protocol version has no handshake and no sessions.
pub(super) fn is_stateless(version: &str) -> bool {
    // Versions are dates, so their order as text is their order in time.
    version >= FIRST_STATELESS_VERSION
}

const FIRST_STATELESS_VERSION: &str = "2026-07-28";

/// Rejects requests of other HTTP versions than 1.1, and 1.0, which nginx speaks to servers unless it is
/// configured. All other checks apply to both, such as that of the host.
pub(super) fn check_version(request: &Request) -> Result<(), Rejection> {
    if !matches!(request.version(), Version::HTTP_11 | Version::HTTP_10) {
        return Err(Rejection::UnsupportedHttpVersion);
    }
    Ok(())
}

/// Layer that forbids caching and guessing of content types.
pub(super) async fn add_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    // Responses depend on the token, so no cache may store them.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
