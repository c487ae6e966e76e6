//! The protocol handler behind the layers.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::json_rpc_header::{JsonRpcHeader, MessageKind};
use super::limits::HttpLimits;
use super::rejection::Rejection;
use super::session::SessionOwners;
use super::shutdown::ShutdownPhases;

/// Creates the handler of a session, or of a request without session.
pub(super) type HandlerFactory<H> = Arc<dyn Fn() -> H + Send + Sync>;

/// The protocol handler.
///
/// rmcp has one cancellation token per service, and each kind of request ends in another phase of a
/// shutdown.
pub(super) struct McpService<H> {
    /// Handles requests that end by themselves: they may finish during shutdown.
    requests: StreamableHttpService<H, LocalSessionManager>,
    /// Handles subscriptions, which have a second to end during shutdown.
    subscriptions: StreamableHttpService<H, LocalSessionManager>,
    /// Handles the streams of sessions, which end immediately on shutdown.
    streams: StreamableHttpService<H, LocalSessionManager>,
    draining: CancellationToken,
}

impl<H: ServerHandler> McpService<H> {
    pub(super) fn new(
        handlers: HandlerFactory<H>,
        limits: &HttpLimits,
        sessions: Option<&SessionOwners>,
        phases: &ShutdownPhases,
    ) -> Arc<Self> {
        let session_manager = sessions.map_or_else(Arc::default, SessionOwners::manager);
        let service = |end: &CancellationToken| {
            let handlers = Arc::clone(&handlers);
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts() // Checked earlier, for every path.
                .with_legacy_session_mode(sessions.is_some())
                .with_json_response(true)
                .with_max_request_body_bytes(limits.max_request_body_bytes)
                .with_cancellation_token(end.clone());
            StreamableHttpService::new(move || Ok(handlers()), session_manager.clone(), config)
        };
        Arc::new(Self {
            requests: service(&phases.aborted),
            subscriptions: service(&phases.subscriptions_closed),
            streams: service(&phases.draining),
            draining: phases.draining.clone(),
        })
    }
}

/// Handles a request that has passed all layers.
pub(super) async fn handle<H: ServerHandler>(
    State(mcp): State<Arc<McpService<H>>>,
    mut request: Request,
) -> Result<Response, Rejection> {
    let header = request.extensions_mut().remove::<JsonRpcHeader>();
    let service = match header.map(|header| header.kind()) {
        None => &mcp.streams,
        Some(MessageKind::Subscribe) => &mcp.subscriptions,
        Some(_) => &mcp.requests,
    };
    let is_delete = request.method() == Method::DELETE;
    let mut response = service.handle(request).await.map(Body::new);
    match response.status() {
        // rmcp reports internal failures, which clients must not see, and failures due to the
        // shutdown.
        StatusCode::INTERNAL_SERVER_ERROR if mcp.draining.is_cancelled() => {
            return Err(Rejection::ShuttingDown);
        }
        StatusCode::INTERNAL_SERVER_ERROR => return Err(Rejection::Internal),
        // The content type was checked before, so the message is invalid.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => return Err(Rejection::InvalidMessage),
        // Some clients treat any other status as a failure.
        StatusCode::ACCEPTED if is_delete => *response.status_mut() = StatusCode::NO_CONTENT,
        _ => {}
    }
    Ok(response)
}
