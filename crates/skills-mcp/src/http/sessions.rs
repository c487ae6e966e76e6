//! Sessions of legacy clients.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager as _};

use super::json_rpc_header::JsonRpcId;
use super::rejection::Rejection;
use crate::principal::Principal;

mod table;

use table::{SessionQuota, SessionTable};

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
    /// Creates the table for a number of principals.
    pub(super) fn new(limit: usize, principals: usize, idle: Duration) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(idle);
        // A session that is not initialized would hold its slot for the whole idle timeout.
        manager.session_config.init_timeout = Some(Duration::from_secs(10));
        Self {
            manager: Arc::new(manager),
            quota: SessionQuota::new(limit, principals),
            table: Arc::default(),
        }
    }

    /// Returns the session manager of rmcp.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        self.manager.clone()
    }

    /// Reserves a session for a principal, until the guard is dropped or a session is committed to
    /// it.
    ///
    /// At the limit, an idle session is evicted: the least recently used one of the principal, or
    /// one of a principal with more than an equal share.
    pub(super) async fn reserve(
        &self,
        principal: &Principal,
    ) -> Result<SessionReservation, Rejection> {
        // Taken before rmcp is queried: sessions that start later are missing in its answer without
        // having ended.
        let known_ids = lock_table(&self.table).ids();
        let live_ids: HashSet<SessionId> =
            self.manager.sessions.read().await.keys().cloned().collect();
        // In a block of its own, since the lock must not be held across the `await` below.
        let evicted = {
            let mut table = lock_table(&self.table);
            table.remove(known_ids.iter().filter(|id| !live_ids.contains(*id)));
            table.reserve(principal, self.quota)?
        };
        let reservation = SessionReservation {
            table: self.table.clone(),
            principal: principal.clone(),
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
    pub(super) fn enter(
        &self,
        id: &str,
        principal: &Principal,
        request: Option<&JsonRpcId>,
    ) -> Result<SessionGuard, Rejection> {
        lock_table(&self.table).enter(id, principal, request)?;
        Ok(SessionGuard {
            table: self.table.clone(),
            id: id.into(),
            request: request.cloned(),
        })
    }
}

/// A session that is being started, counted until this is dropped.
#[derive(Debug)]
pub(super) struct SessionReservation {
    table: Arc<Mutex<SessionTable>>,
    principal: Principal,
}

impl SessionReservation {
    /// Assigns the started session to the principal.
    pub(super) fn commit(self, id: &str) {
        lock_table(&self.table).insert(id.into(), &self.principal);
    }
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        lock_table(&self.table).release(&self.principal);
    }
}

/// A message in a session, which is in use until this is dropped.
#[derive(Debug)]
pub(super) struct SessionGuard {
    table: Arc<Mutex<SessionTable>>,
    id: SessionId,
    request: Option<JsonRpcId>,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        lock_table(&self.table).leave(&self.id, self.request.as_ref());
    }
}

fn lock_table(table: &Mutex<SessionTable>) -> MutexGuard<'_, SessionTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(limit: usize) -> SessionOwners {
        SessionOwners::new(limit, 1, Duration::from_secs(60))
    }

    async fn created(sessions: &SessionOwners) -> SessionId {
        sessions.manager.create_session().await.unwrap().0
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
        // rmcp is queried, and does not answer before another session was started, committed and
        // left.
        let lock = sessions.manager.sessions.write().await;
        let mut making = Box::pin(sessions.reserve(&principal));
        assert!(
            tokio::time::timeout(Duration::ZERO, &mut making)
                .await
                .is_err()
        );
        let table = sessions.table.clone();
        lock_table(&table)
            .reserve(&principal, sessions.quota)
            .unwrap();
        SessionReservation {
            table,
            principal: principal.clone(),
        }
        .commit("new");
        drop(lock);
        making.await.unwrap();
        assert!(sessions.enter("new", &principal, None).is_ok());
    }

    #[tokio::test]
    async fn ended_sessions_free_their_slots() {
        let (sessions, principal) = (sessions(1), Principal::local());
        let id = created(&sessions).await;
        sessions.reserve(&principal).await.unwrap().commit(&id);
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
