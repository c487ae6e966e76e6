//! What a request goes through on its way to the protocol, and its answer on the way back.

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

use super::Limits;
use super::account::Account;
use super::envelope::{Envelope, Purpose};
use super::headers::{SESSION, knows_no_sessions, once};
use super::held::hold;
use super::hosts::Hosts;
use super::keyring::Keyring;
use super::origins::Origins;
use super::payload::Payload;
use super::record::Record;
use super::refusal::Refusal;
use super::sessions::{Sessions, Visit};

/// Everything between a connection and a handler of the protocol.
pub(super) struct Front<H> {
    hosts: Hosts,
    origins: Origins,
    keyring: Keyring,
    limits: Limits,
    sessions: Option<Sessions>,
    stages: Stages,
    /// Answers what ends by itself: it may finish while the server stops.
    calls: Protocol<H>,
    /// Answers what the client subscribes to: it has a moment to end by itself when the server
    /// stops.
    subscriptions: Protocol<H>,
    /// Keeps the streams of sessions open, which have no end of their own: they end as soon as the
    /// server stops.
    streams: Protocol<H>,
}

/// Makes what answers one session, or one request that belongs to none.
pub(super) type Handlers<H> = Arc<dyn Fn() -> H + Send + Sync>;

type Protocol<H> = StreamableHttpService<H, LocalSessionManager>;

/// The steps of the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stages {
    /// No request is taken any more.
    pub(super) stopping: CancellationToken,
    /// Subscriptions that did not end by themselves are cut short.
    pub(super) parted: CancellationToken,
    /// Those that are not answered by now will not be.
    pub(super) over: CancellationToken,
}

impl<H: ServerHandler> Front<H> {
    pub(super) fn new(
        hosts: Hosts,
        origins: Origins,
        keyring: Keyring,
        limits: Limits,
        handlers: Handlers<H>,
        stages: Stages,
    ) -> Self {
        let sessions = (limits.sessions > 0)
            .then(|| Sessions::new(limits.sessions, keyring.principals(), limits.session_idle));
        let kept = sessions.as_ref().map_or_else(Arc::default, Sessions::kept);
        let protocol = |end: &CancellationToken| {
            let handlers = Arc::clone(&handlers);
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts() // Checked before, for every path.
                .with_legacy_session_mode(limits.sessions > 0)
                .with_json_response(true)
                .with_max_request_body_bytes(limits.max_body_bytes)
                .with_cancellation_token(end.clone());
            StreamableHttpService::new(move || Ok(handlers()), kept.clone(), config)
        };
        let [calls, subscriptions, streams] =
            [&stages.over, &stages.parted, &stages.stopping].map(protocol);
        Self {
            hosts,
            origins,
            keyring,
            limits,
            sessions,
            stages,
            calls,
            subscriptions,
            streams,
        }
    }

    /// Makes the service that connections are served with.
    pub(super) fn into_router(self) -> Router {
        let front = Arc::new(self);
        Router::new().fallback(move |request: Request| {
            let front = front.clone();
            async move { front.answer(request).await }
        })
    }

    async fn answer(&self, request: Request) -> Response {
        let mut record = Record::begin(&request, &[PROTOCOL, HEALTH]);
        let (mut response, held) = match self.route(request, &mut record).await {
            Ok(answer) => answer,
            Err(refusal) => (refusal.into_response(), None),
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        record.status(response.status());
        // Of a stream it is told once it is over.
        let record = is_stream(response.headers()).then_some(record);
        if held.is_some() || record.is_some() {
            hold(response, (held, record))
        } else {
            response
        }
    }

    async fn route(&self, request: Request, record: &mut Record) -> Result<Answer, Refusal> {
        if request.version() != Version::HTTP_11 {
            return Err(Refusal::Version);
        }
        self.hosts.check(&request)?;
        self.origins.check(request.headers())?;
        match request.uri().path() {
            PROTOCOL => self.protocol(request, record).await,
            HEALTH => self
                .health(request.method())
                .map(|response| (response, None)),
            _ => Err(Refusal::Path),
        }
    }

    fn health(&self, method: &Method) -> Result<Response, Refusal> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(Refusal::Method);
        }
        if self.stages.stopping.is_cancelled() {
            return Err(Refusal::Stopping);
        }
        let mut response = Response::new(Body::from("ok"));
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        Ok(response)
    }

    async fn protocol(&self, request: Request, record: &mut Record) -> Result<Answer, Refusal> {
        let account = self.keyring.account(request.headers())?;
        record.principal(&account.principal);
        if self.stages.stopping.is_cancelled() {
            return Err(Refusal::Stopping);
        }
        account.count()?;
        let (mut parts, body) = request.into_parts();
        forget_secrets(&mut parts);
        parts.extensions.insert(account.principal.clone());
        if parts.method == Method::POST {
            let payload = Payload::read(&parts.headers, body, &self.limits, &account.room).await?;
            self.post(account, parts, payload, record).await
        } else {
            // Whoever ends a session has to get in when all streams are taken.
            let place = (parts.method == Method::GET)
                .then(|| account.stream())
                .transpose()?;
            let visit = self.enter(&mut parts.headers, account, None, record)?;
            let is_end = parts.method == Method::DELETE;
            let mut response = self.pass(&self.streams, parts, Payload::default()).await?;
            // There are clients that take anything else for a failure.
            if is_end && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Ok((
                response,
                Some(Held {
                    _place: place,
                    _visit: visit,
                }),
            ))
        }
    }

    async fn post(
        &self,
        account: &Account,
        mut parts: Parts,
        payload: Payload,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let envelope = Envelope::read(&payload.bytes, self.limits.max_values())?;
        // What tells something takes no place: a call may wait for just that.
        let (place, service) = match envelope.purpose() {
            Purpose::Listen => (Some(account.stream()?), &self.subscriptions),
            Purpose::Begin | Purpose::Call => (Some(account.call().await?), &self.calls),
            Purpose::Tell => (None, &self.calls),
        };
        let visit = self.enter(&mut parts.headers, account, Some(&envelope), record)?;
        let response = match (envelope.purpose(), &self.sessions) {
            (Purpose::Begin, Some(sessions)) if visit.is_none() => {
                self.begin(sessions, account, parts, payload, record)
                    .await?
            }
            _ => self.pass(service, parts, payload).await?,
        };
        Ok((
            response,
            Some(Held {
                _place: place,
                _visit: visit,
            }),
        ))
    }

    /// Begins a session in a task of its own: if the client went meanwhile, the library would keep
    /// one that nobody has.
    async fn begin(
        &self,
        sessions: &Sessions,
        account: &Account,
        parts: Parts,
        payload: Payload,
        record: &mut Record,
    ) -> Result<Response, Refusal> {
        let (sessions, principal) = (sessions.clone(), account.principal.clone());
        let (service, stopping) = (self.calls.clone(), self.stages.stopping.clone());
        let begun = tokio::spawn(async move {
            let beginning = sessions.make_room(&principal).await?;
            let response = pass(&service, &stopping, parts, payload).await?;
            let id = response
                .headers()
                .get(SESSION)
                .and_then(|id| id.to_str().ok())
                .map(str::to_owned);
            if let Some(id) = &id {
                beginning.give(id);
            }
            Ok((response, id))
        });
        let (response, id) = begun.await.unwrap_or(Err(Refusal::Internal))?;
        if let Some(id) = id {
            record.session(&id);
        }
        Ok(response)
    }

    /// Enters the session that the head names, if sessions are known to it and to the server; else
    /// the name is taken away, so that nothing behind can take it for one.
    fn enter(
        &self,
        headers: &mut HeaderMap,
        account: &Account,
        envelope: Option<&Envelope>,
        record: &mut Record,
    ) -> Result<Option<Visit>, Refusal> {
        let sessions = if knows_no_sessions(headers)? {
            None
        } else {
            self.sessions.as_ref()
        };
        let Some(sessions) = sessions else {
            headers.remove(SESSION);
            return Ok(None);
        };
        let Some(id) = once(headers, &SESSION)? else {
            return Ok(None);
        };
        let id = id.to_str().map_err(|_| Refusal::Session)?;
        record.session(id);
        sessions
            .enter(
                id,
                &account.principal,
                envelope.and_then(Envelope::request_id),
            )
            .map(Some)
    }

    async fn pass(
        &self,
        service: &Protocol<H>,
        parts: Parts,
        payload: Payload,
    ) -> Result<Response, Refusal> {
        pass(service, &self.stages.stopping, parts, payload).await
    }
}

/// What an answer takes up until its end.
struct Held {
    _place: Option<OwnedSemaphorePermit>,
    _visit: Option<Visit>,
}

type Answer = (Response, Option<Held>);

const PROTOCOL: &str = "/mcp";
const HEALTH: &str = "/healthz";

async fn pass<H: ServerHandler>(
    service: &Protocol<H>,
    stopping: &CancellationToken,
    parts: Parts,
    payload: Payload,
) -> Result<Response, Refusal> {
    let Payload { bytes, room } = payload;
    // The library drops the body once it has taken it apart.
    let body = Full::new(bytes).map_frame(move |frame| {
        let _room = &room;
        frame
    });
    let response = service.handle(Request::from_parts(parts, body)).await;
    match response.status() {
        // The library tells what failed, which is nobody's business, and how it ends when it is
        // told to.
        StatusCode::INTERNAL_SERVER_ERROR if stopping.is_cancelled() => Err(Refusal::Stopping),
        StatusCode::INTERNAL_SERVER_ERROR => Err(Refusal::Internal),
        // The type of the body was right, so it was the message that was not.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Err(Refusal::Message),
        _ => Ok(response.map(Body::new)),
    }
}

/// Handlers get the head. None of them needs what only opens the door, and a head is soon shown in
/// some record.
fn forget_secrets(parts: &mut Parts) {
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        parts.headers.remove(name);
    }
    if let Some(session) = parts.headers.get_mut(SESSION) {
        session.set_sensitive(true);
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
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

    async fn status(stages: &Stages, method: Method, path: &str) -> StatusCode {
        let local = Ipv4Addr::LOCALHOST.into();
        let limits = Limits::default();
        let (hosts, origins) = (
            Hosts::new(local, &[]).unwrap(),
            Origins::new(local, &[]).unwrap(),
        );
        let keyring = Keyring::new(&[], &limits).unwrap();
        let router = Front::new(
            hosts,
            origins,
            keyring,
            limits,
            Arc::new(|| Silent),
            stages.clone(),
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
    async fn a_server_that_is_about_to_stop_says_so() {
        let stages = Stages::default();
        assert_eq!(status(&stages, Method::GET, HEALTH).await, StatusCode::OK);
        assert_eq!(status(&stages, Method::HEAD, HEALTH).await, StatusCode::OK);
        assert_eq!(
            status(&stages, Method::POST, HEALTH).await,
            StatusCode::METHOD_NOT_ALLOWED
        );
        stages.stopping.cancel();
        assert_eq!(
            status(&stages, Method::GET, HEALTH).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        assert_eq!(
            status(&stages, Method::POST, PROTOCOL).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        assert_eq!(
            status(&stages, Method::GET, "/").await,
            StatusCode::NOT_FOUND
        );
    }
}
