//! The conversations of clients that know no other way.

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

/// Who owns which session, and how many there may be.
///
/// The protocol's library keeps the sessions themselves. It lets in whoever knows an id; here only
/// the owner is let in.
#[derive(Debug, Clone)]
pub(super) struct SessionOwners {
    manager: Arc<LocalSessionManager>,
    quota: SessionQuota,
    table: Arc<Mutex<SessionTable>>,
}

impl SessionOwners {
    /// Keeps sessions of so many principals.
    pub(super) fn new(limit: usize, principals: usize, idle: Duration) -> Self {
        let mut kept = LocalSessionManager::default();
        kept.session_config.keep_alive = Some(idle);
        kept.session_config.init_timeout = Some(Duration::from_secs(10));
        Self {
            manager: Arc::new(kept),
            quota: SessionQuota::new(limit, principals),
            table: Arc::default(),
        }
    }

    /// Returns where the protocol's library keeps them.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        self.manager.clone()
    }

    /// Makes room for one more session of a principal, which is held until the guard is dropped or
    /// a session given to it.
    ///
    /// If all places are taken, or the principal has as many as it may, a session goes that is not
    /// in use: the principal's that was silent longest, or another's who has more than a fair
    /// share.
    pub(super) async fn reserve(
        &self,
        principal: &Principal,
    ) -> Result<SessionReservation, Rejection> {
        // Known before the library is asked: those that begin from here on are not among those that
        // it has, and did not end.
        let known = lock_table(&self.table).ids();
        let kept: HashSet<SessionId> = self.manager.sessions.read().await.keys().cloned().collect();
        let silent = {
            let mut book = lock_table(&self.table);
            book.remove(known.iter().filter(|id| !kept.contains(*id)));
            book.reserve(principal, self.quota)?
        };
        let beginning = SessionReservation {
            table: self.table.clone(),
            principal: principal.clone(),
        };
        if let Some(silent) = silent {
            // It may have ended by itself meanwhile; either way its place is free.
            _ = self.manager.close_session(&silent).await;
        }
        Ok(beginning)
    }

    /// Enters a session with a message, which may be a request with an id, until the guard is
    /// dropped.
    ///
    /// Fails alike if the session is another's and if there is none. It also fails if a request
    /// with the same id is still being answered, since the library would mix up the two answers.
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

/// A session that is about to begin, counted as long as this lives.
#[derive(Debug)]
pub(super) struct SessionReservation {
    table: Arc<Mutex<SessionTable>>,
    principal: Principal,
}

impl SessionReservation {
    /// Makes the session that began the principal's own.
    pub(super) fn commit(self, id: &str) {
        lock_table(&self.table).insert(id.into(), &self.principal);
    }
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        lock_table(&self.table).release(&self.principal);
    }
}

/// A message that is being answered in a session, which is in use as long as this lives.
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

fn lock_table(book: &Mutex<SessionTable>) -> MutexGuard<'_, SessionTable> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn a_session_that_is_beginning_counts_once() {
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
    async fn sessions_that_begin_meanwhile_are_not_forgotten() {
        let (sessions, principal) = (sessions(9), Principal::local());
        // The library is asked, and does not answer before another session has begun, been given
        // and left it again.
        let asked = sessions.manager.sessions.write().await;
        let mut making = Box::pin(sessions.reserve(&principal));
        assert!(
            tokio::time::timeout(Duration::ZERO, &mut making)
                .await
                .is_err()
        );
        let book = sessions.table.clone();
        lock_table(&book)
            .reserve(&principal, sessions.quota)
            .unwrap();
        SessionReservation {
            table: book,
            principal: principal.clone(),
        }
        .commit("new");
        drop(asked);
        making.await.unwrap();
        assert!(sessions.enter("new", &principal, None).is_ok());
    }

    #[tokio::test]
    async fn sessions_that_ended_make_room() {
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
