//! Responses to requests that are rejected before the protocol handler.

use axum::body::Body;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError};

/// The reason why a request is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejection {
    /// It is not HTTP/1.1.
    UnsupportedHttpVersion,
    /// A header that may occur once occurs several times.
    DuplicateHeader(HeaderName),
    /// The host is missing or invalid.
    MissingHost,
    /// The host is not allowed.
    HostNotAllowed,
    /// The origin is not allowed.
    OriginNotAllowed,
    /// There is no bearer token.
    MissingToken,
    /// The bearer token is unknown.
    InvalidToken,
    /// The path does not exist.
    NotFound,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The content type is not JSON.
    UnsupportedMediaType,
    /// The body is too long.
    TooLarge { limit: usize },
    /// The body has too many JSON values.
    TooManyValues { limit: usize },
    /// The body was not received in time.
    BodyTimeout,
    /// The body is incomplete.
    IncompleteBody,
    /// The body is not JSON.
    InvalidJson,
    /// The body is a batch of messages.
    BatchNotSupported,
    /// The body is not a JSON-RPC message.
    InvalidMessage,
    /// A request with the same id is in flight in the session.
    DuplicateId,
    /// The session does not exist, or belongs to another principal.
    SessionNotFound,
    /// All sessions are in use.
    TooManySessions,
    /// The rate limit of the principal is exceeded.
    RateLimited { seconds: u64 },
    /// The limit of concurrent requests of the principal is reached.
    TooManyConcurrent,
    /// The server is shutting down.
    ShuttingDown,
    /// An internal failure that the client cannot fix.
    Internal,
}

impl Rejection {
    /// Builds the response: a JSON-RPC error without id.
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
                "HTTP version not supported; use HTTP/1.1",
            ),
            Self::DuplicateHeader(name) => {
                return invalid_request(
                    StatusCode::BAD_REQUEST,
                    format!("duplicate header `{name}`"),
                );
            }
            Self::MissingHost => (StatusCode::BAD_REQUEST, "missing or invalid header `host`"),
            Self::HostNotAllowed => (StatusCode::FORBIDDEN, "host not allowed"),
            Self::OriginNotAllowed => (StatusCode::FORBIDDEN, "origin not allowed"),
            Self::MissingToken => (StatusCode::UNAUTHORIZED, "missing bearer token"),
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "invalid bearer token"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not found; the endpoint is /mcp"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported content type; expected application/json",
            ),
            Self::TooLarge { limit } => {
                return invalid_request(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("request body exceeds {limit} bytes"),
                );
            }
            Self::TooManyValues { limit } => {
                return invalid_request(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("request body exceeds {limit} JSON values"),
                );
            }
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "request body timeout"),
            Self::IncompleteBody => (StatusCode::BAD_REQUEST, "incomplete request body"),
            Self::InvalidJson => {
                return (
                    StatusCode::BAD_REQUEST,
                    ErrorCode::PARSE_ERROR,
                    "invalid JSON".to_owned(),
                );
            }
            Self::BatchNotSupported => (
                StatusCode::BAD_REQUEST,
                "batches are not supported; send one message per request",
            ),
            Self::InvalidMessage => (StatusCode::BAD_REQUEST, "invalid JSON-RPC 2.0 message"),
            Self::DuplicateId => (StatusCode::BAD_REQUEST, "duplicate request id"),
            Self::SessionNotFound => (StatusCode::NOT_FOUND, "session not found"),
            Self::TooManySessions => (StatusCode::SERVICE_UNAVAILABLE, "too many sessions in use"),
            Self::RateLimited { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded"),
            Self::TooManyConcurrent => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many concurrent requests; retry later",
            ),
            Self::ShuttingDown => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is shutting down",
            ),
            Self::Internal => {
                return (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    ErrorCode::INTERNAL_ERROR,
                    "internal error".to_owned(),
                );
            }
        };
        invalid_request(status, message.to_owned())
    }
}

fn invalid_request(status: StatusCode, message: String) -> (StatusCode, ErrorCode, String) {
    (status, ErrorCode::INVALID_REQUEST, message)
}
