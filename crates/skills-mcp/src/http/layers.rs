//! The layers that every request passes.

use std::future::{Ready, ready};
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{
    from_fn, from_fn_with_state, map_request, map_request_with_state, map_response,
};
use axum::routing::{any, get};
use rmcp::ServerHandler;
use tower::ServiceBuilder;

use super::auth::Authenticator;
use super::headers;
use super::host::AllowedHosts;
use super::limits::HttpLimits;
use super::mcp_service::{self, HandlerFactory, McpService};
use super::origin::AllowedOrigins;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::session::SessionOwners;
use super::shutdown::ShutdownPhases;
use super::{access_log, auth, body, concurrency, handshake, session};

/// Path of the protocol.
const MCP_PATH: &str = "/mcp";
/// Path that reports whether the server accepts requests.
const HEALTH_PATH: &str = "/healthz";

/// The state that the layers share.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) hosts: AllowedHosts,
    pub(super) origins: AllowedOrigins,
    pub(super) authenticator: Authenticator,
    pub(super) limits: HttpLimits,
}

impl Layers {
    /// Returns the router that serves all connections. Requests pass the layers from top to bottom,
    /// the cheapest first, and each may reject them.
    pub(super) fn into_router<H: ServerHandler>(
        self,
        handlers: HandlerFactory<H>,
        phases: &ShutdownPhases,
    ) -> Router {
        let sessions = SessionOwners::new(&self.limits, self.authenticator.principal_count());
        let mcp = McpService::new(handlers, &self.limits, sessions.as_ref(), phases);
        let (hosts, origins) = (Arc::new(self.hosts), Arc::new(self.origins));
        let phases = phases.clone();
        let accepting = map_request(checked_by(move |_| phases.check()));
        let mcp_layers = ServiceBuilder::new()
            .layer(map_request_with_state(
                Arc::new(self.authenticator),
                auth::authenticate,
            ))
            .layer(accepting.clone())
            // After authentication, since limits belong to principals, and before the body, which
            // costs memory.
            .layer(map_request(checked_by(|request| {
                PrincipalLimits::of(request)?.check_rate()
            })))
            .layer(map_request_with_state(Arc::new(self.limits), body::read))
            .layer(map_request(checked_by(handshake::check)))
            .layer(from_fn(concurrency::limit))
            .layer(from_fn_with_state(sessions, session::enter));
        // For every path: a rebound page must not even learn that the server is healthy.
        let layers = ServiceBuilder::new()
            .layer(from_fn_with_state(
                [MCP_PATH, HEALTH_PATH].as_slice(),
                access_log::log,
            ))
            .layer(map_response(headers::add_security_headers))
            .layer(map_request(checked_by(headers::check_version)))
            .layer(map_request(checked_by(move |request| hosts.check(request))))
            .layer(map_request(checked_by(move |request| {
                origins.check(request.headers())
            })));
        Router::new()
            .route(
                MCP_PATH,
                any(mcp_service::handle).layer(mcp_layers).with_state(mcp),
            )
            .route(
                HEALTH_PATH,
                get(async || "ok")
                    .route_layer(accepting)
                    .fallback(async || Rejection::MethodNotAllowed),
            )
            .fallback(async || Rejection::NotFound)
            .layer(layers)
    }
}

/// Returns a function for a layer, which rejects the requests that fail a check.
fn checked_by(
    check: impl Fn(&Request) -> Result<(), Rejection> + Clone,
) -> impl Fn(Request) -> Ready<Result<Request, Rejection>> + Clone {
    move |request| ready(check(&request).map(|()| request))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::body::Body;
    use http::header::HOST;
    use http::{Method, StatusCode};
    use tower::ServiceExt as _;

    use super::*;

    struct Silent;

    impl ServerHandler for Silent {}

    async fn status(phases: &ShutdownPhases, method: Method, path: &str) -> StatusCode {
        let local = Ipv4Addr::LOCALHOST.into();
        let limits = HttpLimits::default();
        let layers = Layers {
            hosts: AllowedHosts::new(local, &[]).unwrap(),
            origins: AllowedOrigins::new(local, &[]).unwrap(),
            authenticator: Authenticator::new(&[], &limits).unwrap(),
            limits,
        };
        let router = layers.into_router(Arc::new(|| Silent), phases);
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
