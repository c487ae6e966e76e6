//! Responses to requests that are rejected before the protocol handler.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId};

/// The reason why a request is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejection {
    /// It is not HTTP/1.1 or HTTP/1.0.
    #[error("HTTP version not supported; use HTTP/1.1")]
    UnsupportedHttpVersion,
    /// A header that may occur once occurs several times.
    #[error("duplicate header `{0}`")]
    DuplicateHeader(HeaderName),
    /// The host is missing or invalid.
    #[error("missing or invalid header `host`")]
    MissingHost,
    /// The host is not allowed.
    #[error("host not allowed")]
    HostNotAllowed,
    /// The origin is not allowed.
    #[error("origin not allowed")]
    OriginNotAllowed,
    /// There is no bearer token.
    #[error(
        "missing bearer token: send `Authorization: Bearer TOKEN` with a token of this server, such as `skills mcp token --show` prints where it runs"
    )]
    MissingToken,
    /// The bearer token is unknown.
    #[error(
        "invalid bearer token: send `Authorization: Bearer TOKEN` with a token of this server, such as `skills mcp token --show` prints where it runs"
    )]
    InvalidToken,
    /// The path does not exist.
    #[error(
        "not found; the endpoint is /mcp; if it requires a token, send a token of this server in `Authorization: Bearer TOKEN`, not one of OAuth"
    )]
    NotFound,
    /// The path does not support the method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The content type is not JSON.
    #[error("unsupported content type; expected application/json")]
    UnsupportedMediaType,
    /// The body is too long.
    #[error("request body exceeds {limit} bytes")]
    TooLarge { limit: usize },
    /// The body has too many JSON values.
    #[error("request body exceeds {limit} JSON values")]
    TooManyValues { limit: usize },
    /// The body was not received in time.
    #[error("request body timeout")]
    BodyTimeout,
    /// The body is incomplete.
    #[error("incomplete request body")]
    IncompleteBody,
    /// The body is not JSON.
    #[error("invalid JSON")]
    InvalidJson,
    /// The body is an array of messages.
    #[error("batches are not supported; send one message per request")]
    BatchNotSupported,
    /// The body is not a JSON-RPC message.
    #[error("invalid JSON-RPC 2.0 message")]
    InvalidMessage,
    /// A request with the same id is in flight in the session.
    #[error("duplicate request id")]
    DuplicateId,
    /// The protocol version of the request has no such method.
    #[error("method not found: `{method}`")]
    MethodNotFound { method: &'static str, id: RequestId },
    /// The session does not exist, or belongs to another principal.
    #[error("session not found")]
    SessionNotFound,
    /// All sessions are in use.
    #[error("too many sessions in use")]
    TooManySessions,
    /// The rate limit of the principal is exceeded.
    #[error("rate limit exceeded")]
    RateLimited { seconds: u64 },
    /// The limit of concurrent requests of the principal is reached.
    #[error("too many concurrent requests; retry later")]
    TooManyConcurrent,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// An internal failure that the client cannot fix.
    #[error("internal error")]
    Internal,
}

impl IntoResponse for Rejection {
    /// Builds the response: a JSON-RPC error, usually without id.
    fn into_response(self) -> Response {
        let error = ErrorData::new(self.code(), self.to_string(), None);
        let body = JsonRpcError::new(self.request_id().cloned(), error);
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let content_type = [(CONTENT_TYPE, "application/json")];
        let header = self.header().map(|header| [header]);
        (self.status(), content_type, header, body).into_response()
    }
}

impl Rejection {
    /// Returns the id of the request, which is unknown or invalid in most cases.
    fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::MethodNotFound { id, .. } => Some(id),
            _ => None,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::MissingToken => (WWW_AUTHENTICATE, r#"Bearer realm="skills""#),
            // RFC 6750 distinguishes a missing token from an invalid one.
            Self::InvalidToken => {
                let challenge = r#"Bearer realm="skills", error="invalid_token""#;
                (WWW_AUTHENTICATE, challenge)
            }
            Self::TooManyConcurrent | Self::TooManySessions | Self::ShuttingDown => {
                (RETRY_AFTER, "1")
            }
            Self::MethodNotAllowed => (ALLOW, "GET, HEAD"),
            Self::RateLimited { seconds } => {
                return Some((RETRY_AFTER, HeaderValue::from(*seconds)));
            }
            _ => return None,
        };
        Some((name, HeaderValue::from_static(value)))
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::UnsupportedHttpVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::HostNotAllowed | Self::OriginNotAllowed => StatusCode::FORBIDDEN,
            Self::MissingToken | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::NotFound | Self::SessionNotFound | Self::MethodNotFound { .. } => {
                StatusCode::NOT_FOUND
            }
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
            Self::MethodNotFound { .. } => ErrorCode::METHOD_NOT_FOUND,
            Self::Internal => ErrorCode::INTERNAL_ERROR,
            _ => ErrorCode::INVALID_REQUEST,
        }
    }
}
