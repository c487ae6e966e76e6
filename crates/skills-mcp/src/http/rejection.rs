//! What a request is told that never reaches the protocol.

use axum::body::Body;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError};

/// Why a request is not answered by the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejection {
    /// It is not HTTP/1.1.
    UnsupportedHttpVersion,
    /// A field that may occur once occurs again.
    DuplicateHeader(HeaderName),
    /// It names no host, or nothing that could be one.
    MissingHost,
    /// It names a host by which the server is not called.
    HostNotAllowed,
    /// It comes from a page that may not call the server.
    OriginNotAllowed,
    /// It has no token.
    MissingToken,
    /// It has a token that is none of the server's.
    InvalidToken,
    /// There is nothing at the path.
    NotFound,
    /// The path does not know the method.
    MethodNotAllowed,
    /// The body is not JSON by its own word.
    UnsupportedMediaType,
    /// The body is longer than any may be.
    TooLarge { limit: usize },
    /// The body has more values than any may have.
    TooManyValues { limit: usize },
    /// The body took too long.
    BodyTimeout,
    /// The body ended too early.
    IncompleteBody,
    /// The body is not JSON.
    InvalidJson,
    /// The body holds several messages.
    BatchNotSupported,
    /// The body is JSON, but no message of the protocol.
    InvalidMessage,
    /// A request of the session that is still being answered has the same id.
    DuplicateId,
    /// The session is not there, or another's.
    SessionNotFound,
    /// As many sessions are in use as may be.
    TooManySessions,
    /// The principal sends requests too fast.
    RateLimited { seconds: u64 },
    /// As many requests of the principal are being answered as may be.
    TooManyConcurrent,
    /// The server is about to stop.
    ShuttingDown,
    /// Something failed that the client cannot mend.
    Internal,
}

impl Rejection {
    /// Makes the answer: an error of JSON-RPC without an id.
    pub(super) fn into_response(self) -> Response {
        let (status, code, message) = self.status_code_message();
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
            Self::MissingToken => (
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="skills""#),
            ),
            Self::InvalidToken => (
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="skills", error="invalid_token""#),
            ),
            Self::RateLimited { seconds } => (RETRY_AFTER, HeaderValue::from(*seconds)),
            Self::TooManyConcurrent | Self::TooManySessions | Self::ShuttingDown => {
                (RETRY_AFTER, HeaderValue::from(1))
            }
            Self::MethodNotAllowed => (ALLOW, HeaderValue::from_static("GET, HEAD")),
            _ => return,
        };
        headers.insert(name, value);
    }

    fn status_code_message(&self) -> (StatusCode, ErrorCode, String) {
        let (status, message) = match self {
            Self::UnsupportedHttpVersion => (
                StatusCode::HTTP_VERSION_NOT_SUPPORTED,
                "only HTTP/1.1 is spoken here",
            ),
            Self::DuplicateHeader(name) => {
                return invalid_request(
                    StatusCode::BAD_REQUEST,
                    format!("the header {name} occurs more than once"),
                );
            }
            Self::MissingHost => (
                StatusCode::BAD_REQUEST,
                "the header host is missing or names no host",
            ),
            Self::HostNotAllowed => (
                StatusCode::FORBIDDEN,
                "the server is not called by this host",
            ),
            Self::OriginNotAllowed => (
                StatusCode::FORBIDDEN,
                "pages of this origin may not call the server",
            ),
            Self::MissingToken => (StatusCode::UNAUTHORIZED, "a bearer token is needed"),
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "the bearer token is not valid"),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "there is nothing here; the protocol is at /mcp",
            ),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "this may only be read"),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the content-type must be application/json",
            ),
            Self::TooLarge { limit } => {
                return invalid_request(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body may have {limit} bytes"),
                );
            }
            Self::TooManyValues { limit } => {
                return invalid_request(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body may have {limit} values"),
                );
            }
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "the body took too long"),
            Self::IncompleteBody => (StatusCode::BAD_REQUEST, "the body ended too early"),
            Self::InvalidJson => {
                return (
                    StatusCode::BAD_REQUEST,
                    ErrorCode::PARSE_ERROR,
                    "the body is not JSON".to_owned(),
                );
            }
            Self::BatchNotSupported => (
                StatusCode::BAD_REQUEST,
                "send one message at a time, batches are not part of the protocol",
            ),
            Self::InvalidMessage => (
                StatusCode::BAD_REQUEST,
                "the body is no message of JSON-RPC 2.0",
            ),
            Self::DuplicateId => (
                StatusCode::BAD_REQUEST,
                "a request with this id is still being answered",
            ),
            Self::SessionNotFound => (StatusCode::NOT_FOUND, "there is no such session"),
            Self::TooManySessions => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions are in use",
            ),
            Self::RateLimited { .. } => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests, wait a little",
            ),
            Self::TooManyConcurrent => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests at once, wait for an answer",
            ),
            Self::ShuttingDown => (
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
        invalid_request(status, message.to_owned())
    }
}

fn invalid_request(status: StatusCode, message: String) -> (StatusCode, ErrorCode, String) {
    (status, ErrorCode::INVALID_REQUEST, message)
}
