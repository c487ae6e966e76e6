//! Sessions of legacy clients.

mod table;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager as _};
use skills_threads::lock;

use super::access_log::AccessLogFields;
use super::headers::{SESSION_ID, is_stateless_version, single_value};
use super::json_rpc_header::{JsonRpcHeader, MessageKind};
use super::limits::HttpLimits;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::response_guard::attach_guard;
use crate::Principal;

use table::{Reservation, SessionQuota, SessionTable};

/// After how long without a message a session is closed: a call may run for an hour without sending
/// one.
const IDLE_TIMEOUT: Duration = Duration::from_mins(65);

/// Layer that enters the session that the header names, if the protocol version and the server have
/// sessions. A session is in use until the response is sent, so that it is not evicted.
pub(super) async fn enter(
    State(sessions): State<Option<SessionOwners>>,
    Extension(limits): Extension<Arc<PrincipalLimits>>,
    Extension(log): Extension<Arc<AccessLogFields>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    if is_stateless_version(request.headers())? || sessions.is_none() {
        // rmcp would accept the id without checking its owner.
        request.headers_mut().remove(SESSION_ID);
    }
    let header = request.extensions().get::<JsonRpcHeader>();
    match (sessions, single_value(request.headers(), &SESSION_ID)?) {
        (Some(sessions), Some(id)) => {
            // The same error as for an unknown id, so that nothing is revealed.
            let id = id.to_str().map_err(|_| Rejection::SessionNotFound)?;
            log.session(id);
            let guard = sessions.enter(id, &limits.principal, header)?;
            Ok(attach_guard(next.run(request).await, guard))
        }
        (Some(sessions), None)
            if header.is_some_and(|header| header.kind() == MessageKind::Initialize) =>
        {
            // In a task of its own: if the client disconnected meanwhile, rmcp would keep a session
            // without an owner.
            let started = tokio::spawn(async move {
                sessions
                    .initialize(&limits.principal, &log, request, next)
                    .await
            });
            started.await.unwrap_or(Err(Rejection::Internal))
        }
        _ => Ok(next.run(request).await),
    }
}

/// Maps sessions to their owners, and limits their number.
///
/// rmcp stores the sessions and accepts any request with a valid id; this type restricts a session
/// to its owner.
#[derive(Debug, Clone)]
pub(super) struct SessionOwners {
    manager: Arc<LocalSessionManager>,
    quota: SessionQuota,
    table: Arc<Mutex<SessionTable>>,
}

impl SessionOwners {
    /// Creates the table for a number of principals; `None` if there are no sessions.
    pub(super) fn new(limits: &HttpLimits, principals: usize) -> Option<Self> {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE_TIMEOUT);
        // A session that is not initialized would hold its slot for the whole idle timeout.
        manager.session_config.init_timeout = Some(Duration::from_secs(10));
        (limits.max_sessions > 0).then(|| Self {
            manager: Arc::new(manager),
            quota: SessionQuota::new(limits.max_sessions, principals),
            table: Arc::default(),
        })
    }

    /// Returns the session manager of rmcp.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        self.manager.clone()
    }

    /// Starts a session.
    async fn initialize(
        &self,
        principal: &Principal,
        log: &AccessLogFields,
        request: Request,
        next: Next,
    ) -> Result<Response, Rejection> {
        // Only later there is an id. Until then the reservation counts the session.
        let _reservation = self.reserve(principal).await?;
        let response = next.run(request).await;
        let id = response.headers().get(SESSION_ID);
        if let Some(id) = id.and_then(|id| id.to_str().ok()) {
            log.session(id);
            lock(&self.table).insert(id.into(), principal);
        }
        Ok(response)
    }

    /// Reserves a session for a principal, until the reservation is dropped.
    ///
    /// At the limit, an idle session is evicted: the least recently used one of the principal, or
    /// one of a principal with more than an equal share.
    async fn reserve(&self, principal: &Principal) -> Result<Reservation, Rejection> {
        // In a block of its own, since the lock must not be held across the `await` below.
        let (reservation, evicted) = {
            let live = self.manager.sessions.read().await;
            let mut table = lock(&self.table);
            // rmcp creates a session before it is in the table, so those that it does not have have
            // ended.
            table.retain(|id| live.contains_key(id));
            table.reserve(principal, self.quota)?
        };
        if let Some(evicted) = evicted {
            // It may have ended in the meantime; its slot is free in any case.
            _ = self.manager.close_session(&evicted).await;
        }
        Ok(reservation)
    }

    /// Enters a session with a message, which may be a request with an id, until the guard is
    /// dropped.
    ///
    /// Fails in the same way for a session of another principal and for an unknown one. Also fails
    /// if a request with the same id is in flight, since rmcp would confuse the responses.
    fn enter(
        &self,
        id: &str,
        principal: &Principal,
        header: Option<&JsonRpcHeader>,
    ) -> Result<SessionGuard, Rejection> {
        let request = header.and_then(JsonRpcHeader::request_id);
        lock(&self.table).enter(id, principal, request)?;
        Ok(SessionGuard {
            table: self.table.clone(),
            id: id.into(),
            request: request.cloned(),
        })
    }
}

/// A message in a session, which is in use until this is dropped.
#[derive(Debug)]
struct SessionGuard {
    table: Arc<Mutex<SessionTable>>,
    id: SessionId,
    request: Option<RequestId>,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        lock(&self.table).leave(&self.id, self.request.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(limit: usize) -> SessionOwners {
        let limits = HttpLimits {
            max_sessions: limit,
            ..HttpLimits::default()
        };
        SessionOwners::new(&limits, 1).unwrap()
    }

    async fn created(sessions: &SessionOwners) -> SessionId {
        sessions.manager.create_session().await.unwrap().0
    }

    fn insert(sessions: &SessionOwners, id: &str, principal: &Principal) {
        lock(&sessions.table).insert(id.into(), principal);
    }

    #[tokio::test]
    async fn a_starting_session_counts_once() {
        let (sessions, principal) = (sessions(2), Principal::local());
        let _first = sessions.reserve(&principal).await.unwrap();
        created(&sessions).await;
        let _second = sessions.reserve(&principal).await.unwrap();
        assert_eq!(
            sessions.reserve(&principal).await.unwrap_err(),
            Rejection::TooManySessions
        );
    }

    #[tokio::test]
    async fn concurrently_started_sessions_are_kept() {
        let (sessions, principal) = (sessions(9), Principal::local());
        let new = created(&sessions).await;
        // rmcp is queried, and does not answer before another session was started.
        let lock = sessions.manager.sessions.write().await;
        let mut making = Box::pin(sessions.reserve(&principal));
        assert!(
            tokio::time::timeout(Duration::ZERO, &mut making)
                .await
                .is_err()
        );
        insert(&sessions, &new, &principal);
        drop(lock);
        making.await.unwrap();
        assert!(sessions.enter(&new, &principal, None).is_ok());
    }

    #[tokio::test]
    async fn ended_sessions_free_their_slots() {
        let (sessions, principal) = (sessions(1), Principal::local());
        let id = created(&sessions).await;
        insert(&sessions, &id, &principal);
        let visit = sessions.enter(&id, &principal, None).unwrap();
        assert_eq!(
            sessions.reserve(&principal).await.unwrap_err(),
            Rejection::TooManySessions,
            "it is in use"
        );
        sessions.manager.close_session(&id).await.unwrap();
        sessions.reserve(&principal).await.unwrap();
        drop(visit);
        assert_eq!(
            sessions.enter(&id, &principal, None).unwrap_err(),
            Rejection::SessionNotFound
        );
    }
}
