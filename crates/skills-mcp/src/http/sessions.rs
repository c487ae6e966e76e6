//! The conversations of clients that know no other way.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager as _};

use super::envelope::Id;
use super::refusal::Refusal;
use crate::principal::Principal;

mod book;

use book::{Book, Shares};

/// Who owns which session, and how many there may be.
///
/// The protocol's library keeps the sessions themselves. It lets in whoever knows an id; here only
/// the owner is let in.
#[derive(Debug, Clone)]
pub(super) struct Sessions {
    kept: Arc<LocalSessionManager>,
    shares: Shares,
    book: Arc<Mutex<Book>>,
}

impl Sessions {
    /// Keeps sessions of so many principals.
    pub(super) fn new(limit: usize, principals: usize, idle: Duration) -> Self {
        let mut kept = LocalSessionManager::default();
        kept.session_config.keep_alive = Some(idle);
        kept.session_config.init_timeout = Some(Duration::from_secs(10));
        Self {
            kept: Arc::new(kept),
            shares: Shares::new(limit, principals),
            book: Arc::default(),
        }
    }

    /// Returns where the protocol's library keeps them.
    pub(super) fn kept(&self) -> Arc<LocalSessionManager> {
        self.kept.clone()
    }

    /// Makes room for one more session of a principal, which is held until the guard is dropped or
    /// a session given to it.
    ///
    /// If all places are taken, or the principal has as many as it may, a session goes that is not
    /// in use: the principal's that was silent longest, or another's who has more than a fair
    /// share.
    pub(super) async fn make_room(&self, principal: &Principal) -> Result<Beginning, Refusal> {
        // Known before the library is asked: those that begin from here on are not among those that
        // it has, and did not end.
        let known = lock(&self.book).ids();
        let kept: HashSet<SessionId> = self.kept.sessions.read().await.keys().cloned().collect();
        let silent = {
            let mut book = lock(&self.book);
            book.forget(known.iter().filter(|id| !kept.contains(*id)));
            book.begin(principal, self.shares)?
        };
        let beginning = Beginning {
            book: self.book.clone(),
            principal: principal.clone(),
        };
        if let Some(silent) = silent {
            // It may have ended by itself meanwhile; either way its place is free.
            _ = self.kept.close_session(&silent).await;
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
        request: Option<&Id>,
    ) -> Result<Visit, Refusal> {
        lock(&self.book).enter(id, principal, request)?;
        Ok(Visit {
            book: self.book.clone(),
            id: id.into(),
            request: request.cloned(),
        })
    }
}

/// A session that is about to begin, counted as long as this lives.
#[derive(Debug)]
pub(super) struct Beginning {
    book: Arc<Mutex<Book>>,
    principal: Principal,
}

impl Beginning {
    /// Makes the session that began the principal's own.
    pub(super) fn give(self, id: &str) {
        lock(&self.book).own(id.into(), &self.principal);
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        lock(&self.book).begun(&self.principal);
    }
}

/// A message that is being answered in a session, which is in use as long as this lives.
#[derive(Debug)]
pub(super) struct Visit {
    book: Arc<Mutex<Book>>,
    id: SessionId,
    request: Option<Id>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        lock(&self.book).leave(&self.id, self.request.as_ref());
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(limit: usize) -> Sessions {
        Sessions::new(limit, 1, Duration::from_secs(60))
    }

    async fn created(sessions: &Sessions) -> SessionId {
        sessions.kept.create_session().await.unwrap().0
    }

    #[tokio::test]
    async fn a_session_that_is_beginning_counts_once() {
        let (sessions, principal) = (sessions(2), Principal::local());
        let _first = sessions.make_room(&principal).await.unwrap();
        created(&sessions).await;
        let _second = sessions.make_room(&principal).await.unwrap();
        assert_eq!(
            sessions.make_room(&principal).await.unwrap_err(),
            Refusal::Sessions
        );
    }

    #[tokio::test]
    async fn sessions_that_begin_meanwhile_are_not_forgotten() {
        let (sessions, principal) = (sessions(9), Principal::local());
        // The library is asked, and does not answer before another session has begun, been given
        // and left it again.
        let asked = sessions.kept.sessions.write().await;
        let mut making = Box::pin(sessions.make_room(&principal));
        assert!(
            tokio::time::timeout(Duration::ZERO, &mut making)
                .await
                .is_err()
        );
        let book = sessions.book.clone();
        lock(&book).begin(&principal, sessions.shares).unwrap();
        Beginning {
            book,
            principal: principal.clone(),
        }
        .give("new");
        drop(asked);
        making.await.unwrap();
        assert!(sessions.enter("new", &principal, None).is_ok());
    }

    #[tokio::test]
    async fn sessions_that_ended_make_room() {
        let (sessions, principal) = (sessions(1), Principal::local());
        let id = created(&sessions).await;
        sessions.make_room(&principal).await.unwrap().give(&id);
        let visit = sessions.enter(&id, &principal, None).unwrap();
        assert_eq!(
            sessions.make_room(&principal).await.unwrap_err(),
            Refusal::Sessions,
            "it is in use"
        );
        sessions.kept.close_session(&id).await.unwrap();
        sessions.make_room(&principal).await.unwrap();
        drop(visit);
        assert_eq!(
            sessions.enter(&id, &principal, None).unwrap_err(),
            Refusal::Session
        );
    }
}
