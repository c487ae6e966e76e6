//! The HTTP client of one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::uri::Scheme;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use skills_egress::{
    Authority, CloseReason, Connector, Direction, ExceededLimit, HTTP_PORT, HostConnector,
    ProxyLog, RejectReason, TLS_PORT,
};
use skills_policy::HostFilter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::abort::AbortState;
use super::body::{LimitedBody, TimeoutBody};
use super::connect::connect;
use super::exchange::{ConnectionDriver, exchange};
use super::failure::{HttpFailure, connection_error};
use super::limits::HttpLimits;
use super::outgoing::{forwarded_request, request_to_proxy};
use super::target::Target;
use super::tls_config::TlsConfig;

/// Sends requests to allowed hosts, within limits, and logs them.
pub(super) struct Client {
    connector: HostConnector,
    tls_config: TlsConfig,
    limits: HttpLimits,
    requests: AtomicU64,
    connections: Arc<Semaphore>,
}

type ClientResponse = (Response<WasiBody>, ConnectionDriver);

impl Client {
    pub(super) fn new(
        hosts: HostFilter,
        network: Arc<dyn Connector>,
        trust: TlsConfig,
        limits: HttpLimits,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(
            limits
                .connections
                .max_connections
                .min(Semaphore::MAX_PERMITS),
        ));
        Self {
            connector: HostConnector::new(hosts, network).limits(limits.connections),
            tls_config: trust,
            limits,
            requests: AtomicU64::new(0),
            connections,
        }
    }

    pub(super) fn log(&self) -> ProxyLog {
        self.connector.log()
    }

    /// Sends a request. Timeouts of the program can only shorten those of the host.
    pub(super) async fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<ClientResponse, Error> {
        let host = logged_host(request.uri());
        let result = self.try_send(request, options).await;
        result.map_err(|HttpFailure { error, reason }| {
            self.log().record_closed(host.as_deref(), reason);
            error
        })
    }

    async fn try_send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<ClientResponse, HttpFailure> {
        // First, so that rejected requests count: a program must not probe names without limit.
        let permit = self.acquire_permit()?;
        let target = Target::from_uri(request.method(), request.uri())?;
        let request = forwarded_request(request, &target, &self.limits)?;
        let abort = AbortState::new(self.log());
        let request = request.map(|body| {
            LimitedBody::new(
                body,
                Direction::Outbound,
                self.limits.max_request_body_bytes,
                abort.clone(),
            )
        });
        let connecting = connect(
            &self.connector,
            &target,
            &self.tls_config,
            &self.limits,
            &abort,
            permit,
        );
        let wire = with_timeout(
            options.connect_timeout,
            Error::ConnectionTimeout,
            connecting,
        )
        .await?;
        let request = match &wire.proxy {
            Some(proxy) => request_to_proxy(request, &target, proxy)?,
            None => request,
        };
        let exchanging = exchange(
            wire.stream,
            request,
            self.limits.connections.max_head_bytes,
            &abort,
        );
        let (response, driving) = with_timeout(
            options.first_byte_timeout,
            Error::ConnectionReadTimeout,
            exchanging,
        )
        .await?;
        // The user has the credentials, and the program must not be asked for them.
        if wire.proxy.is_some() && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Err(CloseReason::from(RejectReason::ProxyAuthentication).into());
        }
        Ok((self.wrap_response(response, options, &abort)?, driving))
    }

    /// Counts a request, and acquires a permit for its connection.
    fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, HttpFailure> {
        let limited = |limit| HttpFailure::new(Error::ConnectionLimitReached, limit);
        let next = |sent: u64| Some(sent + 1).filter(|sent| *sent <= self.limits.max_requests);
        self.requests
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| limited(ExceededLimit::Requests))?;
        Arc::clone(&self.connections)
            // Does not wait: a program that holds all connections would wait for itself.
            .try_acquire_owned()
            .map_err(|_| limited(ExceededLimit::Connections))
    }

    fn wrap_response(
        &self,
        response: Response<Incoming>,
        options: RequestOptions,
        abort: &AbortState,
    ) -> Result<Response<WasiBody>, HttpFailure> {
        let max_bytes = self.limits.max_response_body_bytes;
        // A declared length that is too large is rejected before anything is transferred.
        if response.body().size_hint().lower() > max_bytes {
            return Err(HttpFailure::unrecorded(
                abort.abort(LimitedBody::abort_reason(Direction::Inbound, max_bytes)),
            ));
        }
        let abort_of_body = abort.clone();
        Ok(response.map(|body| {
            let body = body
                .map_err(move |error| connection_error(&abort_of_body, error))
                .boxed_unsync();
            let body =
                LimitedBody::new(body, Direction::Inbound, max_bytes, abort.clone()).boxed_unsync();
            // In addition to the idle timeout of the host, which it cannot extend.
            match options.between_bytes_timeout {
                Some(time) => TimeoutBody::new(body, time).boxed_unsync(),
                None => body,
            }
        }))
    }
}

/// Returns the host for the log: as a rule would name it if it is valid, else as it was written.
fn logged_host(uri: &Uri) -> Option<Vec<u8>> {
    let written = uri.authority()?.as_str().as_bytes();
    let default = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => HTTP_PORT,
        _ => TLS_PORT,
    };
    let text = match Authority::parse(written, Some(default)) {
        Some(Authority { host, port, .. }) if port == default => host.rule_text(port).into_bytes(),
        _ => written.to_vec(),
    };
    Some(text)
}

/// Applies a timeout set by the program.
async fn with_timeout<T>(
    time: Option<Duration>,
    error: Error,
    work: impl Future<Output = Result<T, HttpFailure>>,
) -> Result<T, HttpFailure> {
    match time {
        Some(time) => timeout(time, work)
            .await
            .unwrap_or(Err(HttpFailure::unrecorded(error))),
        None => work.await,
    }
}
