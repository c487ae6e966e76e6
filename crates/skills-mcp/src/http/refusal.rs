//! What a request is told that never reaches the protocol.

use axum::body::Body;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError};

/// Why a request is not answered by the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not HTTP/1.1.
    Version,
    /// A field that may occur once occurs again.
    Repeated(HeaderName),
    /// It names no host, or nothing that could be one.
    HostMissing,
    /// It names a host by which the server is not called.
    Host,
    /// It comes from a page that may not call the server.
    Origin,
    /// It has no token.
    NoToken,
    /// It has a token that is none of the server's.
    WrongToken,
    /// There is nothing at the path.
    Path,
    /// The path does not know the method.
    Method,
    /// The body is not JSON by its own word.
    MediaType,
    /// The body is longer than any may be.
    TooLarge { limit: usize },
    /// The body has more values than any may have.
    Values { limit: usize },
    /// The body took too long.
    Slow,
    /// The body ended too early.
    Broken,
    /// The body is not JSON.
    Syntax,
    /// The body holds several messages.
    Batch,
    /// The body is JSON, but no message of the protocol.
    Message,
    /// A request of the session that is still being answered has the same id.
    SameId,
    /// The session is not there, or another's.
    Session,
    /// As many sessions are in use as may be.
    Sessions,
    /// The principal sends requests too fast.
    Rate { seconds: u64 },
    /// As many requests of the principal are being answered as may be.
    Busy,
    /// The server is about to stop.
    Stopping,
    /// Something failed that the client cannot mend.
    Internal,
}

impl Refusal {
    /// Makes the answer: an error of JSON-RPC without an id.
    pub(super) fn into_response(self) -> Response {
        let (status, code, message) = self.facts();
        let error = JsonRpcError::new(None, ErrorData::new(code, message, None));
        let mut response =
            Response::new(Body::from(serde_json::to_vec(&error).unwrap_or_default()));
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.add_headers(response.headers_mut());
        response
    }

    fn add_headers(&self, headers: &mut HeaderMap) {
        let (name, value) = match self {
            Self::NoToken => (
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="skills""#),
            ),
            Self::WrongToken => (
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="skills", error="invalid_token""#),
            ),
            Self::Rate { seconds } => (RETRY_AFTER, HeaderValue::from(*seconds)),
            Self::Busy | Self::Sessions | Self::Stopping => (RETRY_AFTER, HeaderValue::from(1)),
            Self::Method => (ALLOW, HeaderValue::from_static("GET, HEAD")),
            _ => return,
        };
        headers.insert(name, value);
    }

    fn facts(&self) -> (StatusCode, ErrorCode, String) {
        let (status, message) = match self {
            Self::Version => (
                StatusCode::HTTP_VERSION_NOT_SUPPORTED,
                "only HTTP/1.1 is spoken here",
            ),
            Self::Repeated(name) => {
                return invalid(
                    StatusCode::BAD_REQUEST,
                    format!("the header {name} occurs more than once"),
                );
            }
            Self::HostMissing => (
                StatusCode::BAD_REQUEST,
                "the header host is missing or names no host",
            ),
            Self::Host => (
                StatusCode::FORBIDDEN,
                "the server is not called by this host",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "pages of this origin may not call the server",
            ),
            Self::NoToken => (StatusCode::UNAUTHORIZED, "a bearer token is needed"),
            Self::WrongToken => (StatusCode::UNAUTHORIZED, "the bearer token is not valid"),
            Self::Path => (
                StatusCode::NOT_FOUND,
                "there is nothing here; the protocol is at /mcp",
            ),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "this may only be read"),
            Self::MediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the content-type must be application/json",
            ),
            Self::TooLarge { limit } => {
                return invalid(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body may have {limit} bytes"),
                );
            }
            Self::Values { limit } => {
                return invalid(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body may have {limit} values"),
                );
            }
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "the body took too long"),
            Self::Broken => (StatusCode::BAD_REQUEST, "the body ended too early"),
            Self::Syntax => {
                return (
                    StatusCode::BAD_REQUEST,
                    ErrorCode::PARSE_ERROR,
                    "the body is not JSON".to_owned(),
                );
            }
            Self::Batch => (
                StatusCode::BAD_REQUEST,
                "send one message at a time, batches are not part of the protocol",
            ),
            Self::Message => (
                StatusCode::BAD_REQUEST,
                "the body is no message of JSON-RPC 2.0",
            ),
            Self::SameId => (
                StatusCode::BAD_REQUEST,
                "a request with this id is still being answered",
            ),
            Self::Session => (StatusCode::NOT_FOUND, "there is no such session"),
            Self::Sessions => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions are in use",
            ),
            Self::Rate { .. } => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests, wait a little",
            ),
            Self::Busy => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests at once, wait for an answer",
            ),
            Self::Stopping => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is about to stop",
            ),
            Self::Internal => {
                return (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    ErrorCode::INTERNAL_ERROR,
                    "the server failed".to_owned(),
                );
            }
        };
        invalid(status, message.to_owned())
    }
}

fn invalid(status: StatusCode, message: String) -> (StatusCode, ErrorCode, String) {
    (status, ErrorCode::INVALID_REQUEST, message)
}
