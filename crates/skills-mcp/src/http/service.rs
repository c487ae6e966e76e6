//! Processing of HTTP requests around the protocol handler.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue,
    PROXY_AUTHORIZATION, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Method, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::HttpLimits;
use super::access_log::AccessLogEntry;
use super::auth::Authenticator;
use super::body::BufferedBody;
use super::headers::{SESSION_ID, is_stateless_version, single_value};
use super::hosts::AllowedHosts;
use super::json_rpc_header::{JsonRpcHeader, MessageKind};
use super::origins::AllowedOrigins;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::response_guard::attach_guard;
use super::sessions::{SessionGuard, SessionOwners};

/// Handles the requests of all connections.
pub(super) struct HttpService<H> {
    allowed_hosts: AllowedHosts,
    allowed_origins: AllowedOrigins,
    authenticator: Authenticator,
    limits: HttpLimits,
    sessions: Option<SessionOwners>,
    phases: ShutdownPhases,
    /// Handles requests that end by themselves: they may finish during shutdown.
    requests: McpService<H>,
    /// Handles subscriptions, which have a second to end during shutdown.
    subscriptions: McpService<H>,
    /// Handles the streams of sessions, which end immediately on shutdown.
    streams: McpService<H>,
}

/// Creates the handler of a session, or of a request without session.
pub(super) type HandlerFactory<H> = Arc<dyn Fn() -> H + Send + Sync>;

type McpService<H> = StreamableHttpService<H, LocalSessionManager>;

/// The phases of a shutdown.
#[derive(Debug, Clone, Default)]
pub(super) struct ShutdownPhases {
    /// New requests are rejected.
    pub(super) draining: CancellationToken,
    /// Remaining subscriptions are closed.
    pub(super) subscriptions_closed: CancellationToken,
    /// Running requests are cancelled.
    pub(super) aborted: CancellationToken,
}

impl<H: ServerHandler> HttpService<H> {
    pub(super) fn new(
        hosts: AllowedHosts,
        origins: AllowedOrigins,
        authenticator: Authenticator,
        limits: HttpLimits,
        handlers: HandlerFactory<H>,
        phases: ShutdownPhases,
    ) -> Self {
        let sessions = (limits.max_sessions > 0).then(|| {
            SessionOwners::new(
                limits.max_sessions,
                authenticator.principal_count(),
                limits.session_idle_timeout,
            )
        });
        let session_manager = sessions
            .as_ref()
            .map_or_else(Arc::default, SessionOwners::manager);
        let mcp_service = |end: &CancellationToken| {
            let handlers = Arc::clone(&handlers);
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts() // Checked earlier, for every path.
                .with_legacy_session_mode(limits.max_sessions > 0)
                .with_json_response(true)
                .with_max_request_body_bytes(limits.max_request_body_bytes)
                .with_cancellation_token(end.clone());
            StreamableHttpService::new(move || Ok(handlers()), session_manager.clone(), config)
        };
        // rmcp has one cancellation token per service, and each kind of request ends in another
        // phase.
        let [calls, subscriptions, streams] = [
            &phases.aborted,
            &phases.subscriptions_closed,
            &phases.draining,
        ]
        .map(mcp_service);
        Self {
            allowed_hosts: hosts,
            allowed_origins: origins,
            authenticator,
            limits,
            sessions,
            phases,
            requests: calls,
            subscriptions,
            streams,
        }
    }

    /// Returns the router that serves connections.
    pub(super) fn into_router(self) -> Router {
        let service = Arc::new(self);
        Router::new().fallback(move |request: Request| {
            let service = service.clone();
            async move { service.handle(request).await }
        })
    }

    async fn handle(&self, request: Request) -> Response {
        let mut log_entry = AccessLogEntry::new(&request, &[MCP_PATH, HEALTH_PATH]);
        let (mut response, guard) = match self.route(request, &mut log_entry).await {
            Ok(answer) => answer,
            Err(rejection) => (rejection.into_response(), None),
        };
        let headers = response.headers_mut();
        // Responses depend on the token, so no cache may store them.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        log_entry.status(response.status());
        // A stream is logged when it ends.
        let log_entry = is_event_stream(response.headers()).then_some(log_entry);
        if guard.is_some() || log_entry.is_some() {
            attach_guard(response, (guard, log_entry))
        } else {
            response
        }
    }

    async fn route(
        &self,
        request: Request,
        log_entry: &mut AccessLogEntry,
    ) -> Result<GuardedResponse, Rejection> {
        if request.version() != Version::HTTP_11 {
            return Err(Rejection::UnsupportedHttpVersion);
        }
        // The cheapest checks first, and for every path: a rebound page must not even learn that
        // the server is healthy.
        self.allowed_hosts.check(&request)?;
        self.allowed_origins.check(request.headers())?;
        match request.uri().path() {
            MCP_PATH => self.handle_mcp(request, log_entry).await,
            HEALTH_PATH => self
                .handle_health(request.method())
                .map(|response| (response, None)),
            _ => Err(Rejection::NotFound),
        }
    }

    fn handle_health(&self, method: &Method) -> Result<Response, Rejection> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(Rejection::MethodNotAllowed);
        }
        if self.phases.draining.is_cancelled() {
            return Err(Rejection::ShuttingDown);
        }
        let mut response = Response::new(Body::from("ok"));
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        Ok(response)
    }

    async fn handle_mcp(
        &self,
        request: Request,
        log_entry: &mut AccessLogEntry,
    ) -> Result<GuardedResponse, Rejection> {
        let principal_limits = self.authenticator.authenticate(request.headers())?;
        log_entry.principal(&principal_limits.principal);
        if self.phases.draining.is_cancelled() {
            return Err(Rejection::ShuttingDown);
        }
        // After authentication, since limits belong to principals, and before the body, which costs
        // memory.
        principal_limits.check_rate()?;
        let (mut parts, body) = request.into_parts();
        strip_credentials(&mut parts);
        // The protocol handler reads the principal from here and from nowhere else.
        parts.extensions.insert(principal_limits.principal.clone());
        if parts.method == Method::POST {
            let body = BufferedBody::read(
                &parts.headers,
                body,
                &self.limits,
                &principal_limits.body_budget,
            )
            .await?;
            self.handle_post(principal_limits, parts, body, log_entry)
                .await
        } else {
            // Ending a session must be possible when all streams are in use.
            let permit = (parts.method == Method::GET)
                .then(|| principal_limits.acquire_stream())
                .transpose()?;
            let session =
                self.enter_session(&mut parts.headers, principal_limits, None, log_entry)?;
            let is_delete = parts.method == Method::DELETE;
            let mut response = self
                .forward(&self.streams, parts, BufferedBody::default())
                .await?;
            // Some clients treat any other status as a failure.
            if is_delete && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Ok((
                response,
                Some(ResponseGuard {
                    _permit: permit,
                    _session: session,
                }),
            ))
        }
    }

    async fn handle_post(
        &self,
        principal_limits: &PrincipalLimits,
        mut parts: Parts,
        body: BufferedBody,
        log_entry: &mut AccessLogEntry,
    ) -> Result<GuardedResponse, Rejection> {
        let header = JsonRpcHeader::parse(&body.bytes, self.limits.max_json_values())?;
        // Notifications and responses need no slot: a running call may wait for one of them.
        let (permit, service) = match header.kind() {
            MessageKind::Subscribe => (
                Some(principal_limits.acquire_stream()?),
                &self.subscriptions,
            ),
            MessageKind::Initialize | MessageKind::Request => (
                Some(principal_limits.acquire_request().await?),
                &self.requests,
            ),
            MessageKind::Notification => (None, &self.requests),
        };
        // Held until the response is sent, so that the session is not evicted while it is in use.
        let session = self.enter_session(
            &mut parts.headers,
            principal_limits,
            Some(&header),
            log_entry,
        )?;
        let response = match (header.kind(), &self.sessions) {
            (MessageKind::Initialize, Some(sessions)) if session.is_none() => {
                self.initialize(sessions, principal_limits, parts, body, log_entry)
                    .await?
            }
            _ => self.forward(service, parts, body).await?,
        };
        Ok((
            response,
            Some(ResponseGuard {
                _permit: permit,
                _session: session,
            }),
        ))
    }

    /// Starts a session in a task of its own: if the client disconnected meanwhile, rmcp would keep
    /// a session without an owner.
    async fn initialize(
        &self,
        sessions: &SessionOwners,
        principal_limits: &PrincipalLimits,
        parts: Parts,
        body: BufferedBody,
        log_entry: &mut AccessLogEntry,
    ) -> Result<Response, Rejection> {
        let (sessions, principal) = (sessions.clone(), principal_limits.principal.clone());
        let (service, draining) = (self.requests.clone(), self.phases.draining.clone());
        let started = tokio::spawn(async move {
            let reservation = sessions.reserve(&principal).await?;
            let response = forward(&service, &draining, parts, body).await?;
            let id = response
                .headers()
                .get(SESSION_ID)
                .and_then(|id| id.to_str().ok())
                .map(str::to_owned);
            if let Some(id) = &id {
                // Only now is there an id. The reservation has counted the session until here.
                reservation.commit(id);
            }
            Ok((response, id))
        });
        let (response, id) = started.await.unwrap_or(Err(Rejection::Internal))?;
        if let Some(id) = id {
            log_entry.session(&id);
        }
        Ok(response)
    }

    /// Enters the session that the header names, if the protocol version and the server have
    /// sessions. Otherwise removes the header, so that handlers do not see it.
    fn enter_session(
        &self,
        headers: &mut HeaderMap,
        principal_limits: &PrincipalLimits,
        header: Option<&JsonRpcHeader>,
        log_entry: &mut AccessLogEntry,
    ) -> Result<Option<SessionGuard>, Rejection> {
        let sessions = if is_stateless_version(headers)? {
            None
        } else {
            self.sessions.as_ref()
        };
        let Some(sessions) = sessions else {
            // rmcp would accept the id without checking its owner.
            headers.remove(SESSION_ID);
            return Ok(None);
        };
        let Some(id) = single_value(headers, &SESSION_ID)? else {
            return Ok(None);
        };
        // The same error as for an unknown id, so that nothing is revealed.
        let id = id.to_str().map_err(|_| Rejection::SessionNotFound)?;
        log_entry.session(id);
        sessions
            .enter(
                id,
                &principal_limits.principal,
                header.and_then(JsonRpcHeader::request_id),
            )
            .map(Some)
    }

    async fn forward(
        &self,
        service: &McpService<H>,
        parts: Parts,
        body: BufferedBody,
    ) -> Result<Response, Rejection> {
        forward(service, &self.phases.draining, parts, body).await
    }
}

/// Resources that a response holds until its end.
struct ResponseGuard {
    _permit: Option<OwnedSemaphorePermit>,
    _session: Option<SessionGuard>,
}

type GuardedResponse = (Response, Option<ResponseGuard>);

const MCP_PATH: &str = "/mcp";
const HEALTH_PATH: &str = "/healthz";

async fn forward<H: ServerHandler>(
    service: &McpService<H>,
    draining: &CancellationToken,
    parts: Parts,
    body: BufferedBody,
) -> Result<Response, Rejection> {
    let BufferedBody { bytes, permit } = body;
    // rmcp drops the body after parsing it.
    let body = Full::new(bytes).map_frame(move |frame| {
        let _permit = &permit;
        frame
    });
    let response = service.handle(Request::from_parts(parts, body)).await;
    match response.status() {
        // rmcp reports internal failures, which clients must not see, and failures due to the
        // shutdown.
        StatusCode::INTERNAL_SERVER_ERROR if draining.is_cancelled() => {
            Err(Rejection::ShuttingDown)
        }
        StatusCode::INTERNAL_SERVER_ERROR => Err(Rejection::Internal),
        // The content type was checked before, so the message is invalid.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Err(Rejection::InvalidMessage),
        _ => Ok(response.map(Body::new)),
    }
}

/// Removes credentials, so that handlers cannot log them.
fn strip_credentials(parts: &mut Parts) {
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        parts.headers.remove(name);
    }
    if let Some(session) = parts.headers.get_mut(SESSION_ID) {
        session.set_sensitive(true);
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http::header::HOST;
    use tower::ServiceExt as _;

    use super::*;

    struct Silent;

    impl ServerHandler for Silent {}

    async fn status(phases: &ShutdownPhases, method: Method, path: &str) -> StatusCode {
        let local = Ipv4Addr::LOCALHOST.into();
        let limits = HttpLimits::default();
        let (hosts, origins) = (
            AllowedHosts::new(local, &[]).unwrap(),
            AllowedOrigins::new(local, &[]).unwrap(),
        );
        let authenticator = Authenticator::new(&[], &limits).unwrap();
        let router = HttpService::new(
            hosts,
            origins,
            authenticator,
            limits,
            Arc::new(|| Silent),
            phases.clone(),
        )
        .into_router();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "localhost")
            .body(Body::empty())
            .unwrap();
        router.oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn a_server_that_is_shutting_down_rejects_requests() {
        let phases = ShutdownPhases::default();
        assert_eq!(
            status(&phases, Method::GET, HEALTH_PATH).await,
            StatusCode::OK
        );
        assert_eq!(
            status(&phases, Method::HEAD, HEALTH_PATH).await,
            StatusCode::OK
        );
        assert_eq!(
            status(&phases, Method::POST, HEALTH_PATH).await,
            StatusCode::METHOD_NOT_ALLOWED
        );
        phases.draining.cancel();
        assert_eq!(
            status(&phases, Method::GET, HEALTH_PATH).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        assert_eq!(
            status(&phases, Method::POST, MCP_PATH).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        assert_eq!(
            status(&phases, Method::GET, "/").await,
            StatusCode::NOT_FOUND
        );
    }
}
