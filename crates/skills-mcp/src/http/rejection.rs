//! Responses to requests that are rejected before the protocol handler.

use std::borrow::Cow;

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
        // The id may be unknown or invalid, so the response has none.
        let error = JsonRpcError::new(None, ErrorData::new(self.code(), self.message(), None));
        let mut response =
            Response::new(Body::from(serde_json::to_vec(&error).unwrap_or_default()));
        *response.status_mut() = self.status();
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
            // RFC 6750 distinguishes a missing token from an invalid one.
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

    fn status(&self) -> StatusCode {
        match self {
            Self::UnsupportedHttpVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::HostNotAllowed | Self::OriginNotAllowed => StatusCode::FORBIDDEN,
            Self::MissingToken | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::NotFound | Self::SessionNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } | Self::TooManyValues { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::RateLimited { .. } | Self::TooManyConcurrent => StatusCode::TOO_MANY_REQUESTS,
            Self::TooManySessions | Self::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::DuplicateHeader(_)
            | Self::MissingHost
            | Self::IncompleteBody
            | Self::InvalidJson
            | Self::BatchNotSupported
            | Self::InvalidMessage
            | Self::DuplicateId => StatusCode::BAD_REQUEST,
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidJson => ErrorCode::PARSE_ERROR,
            Self::Internal => ErrorCode::INTERNAL_ERROR,
            _ => ErrorCode::INVALID_REQUEST,
        }
    }

    fn message(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::DuplicateHeader(name) => return format!("duplicate header `{name}`").into(),
            Self::TooLarge { limit } => {
                return format!("request body exceeds {limit} bytes").into();
            }
            Self::TooManyValues { limit } => {
                return format!("request body exceeds {limit} JSON values").into();
            }
            Self::UnsupportedHttpVersion => "HTTP version not supported; use HTTP/1.1",
            Self::MissingHost => "missing or invalid header `host`",
            Self::HostNotAllowed => "host not allowed",
            Self::OriginNotAllowed => "origin not allowed",
            Self::MissingToken => "missing bearer token",
            Self::InvalidToken => "invalid bearer token",
            Self::NotFound => "not found; the endpoint is /mcp",
            Self::MethodNotAllowed => "method not allowed",
            Self::UnsupportedMediaType => "unsupported content type; expected application/json",
            Self::BodyTimeout => "request body timeout",
            Self::IncompleteBody => "incomplete request body",
            Self::InvalidJson => "invalid JSON",
            Self::BatchNotSupported => "batches are not supported; send one message per request",
            Self::InvalidMessage => "invalid JSON-RPC 2.0 message",
            Self::DuplicateId => "duplicate request id",
            Self::SessionNotFound => "session not found",
            Self::TooManySessions => "too many sessions in use",
            Self::RateLimited { .. } => "rate limit exceeded",
            Self::TooManyConcurrent => "too many concurrent requests; retry later",
            Self::ShuttingDown => "the server is shutting down",
            Self::Internal => "internal error",
        })
    }
}
