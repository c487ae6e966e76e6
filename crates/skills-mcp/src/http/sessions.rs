//! The conversations of clients that know no other way.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager as _};

use super::envelope::Id;
use super::refusal::Refusal;
use crate::principal::Principal;

/// Who owns which session, and how many there may be.
///
/// The protocol's library keeps the sessions themselves. It lets in whoever knows an id; here only the owner is let in.
#[derive(Debug)]
pub(super) struct Sessions {
    kept: Arc<LocalSessionManager>,
    limit: usize,
    beginning: AtomicUsize,
    owned: Arc<Mutex<HashMap<SessionId, Owned>>>,
}

impl Sessions {
    pub(super) fn new(limit: usize, idle: Duration) -> Self {
        let mut kept = LocalSessionManager::default();
        kept.session_config.keep_alive = Some(idle);
        kept.session_config.init_timeout = Some(Duration::from_secs(10));
        Self { kept: Arc::new(kept), limit, beginning: AtomicUsize::new(0), owned: Arc::default() }
    }

    /// Returns where the protocol's library keeps them.
    pub(super) fn kept(&self) -> Arc<LocalSessionManager> {
        self.kept.clone()
    }

    /// Makes room for one more session of a principal, which is held until the guard is dropped.
    ///
    /// If all places are taken, the session goes that was silent longest, of the principal if it has one that is not in use.
    pub(super) async fn make_room(&self, principal: &Principal) -> Result<Beginning<'_>, Refusal> {
        let beginning = Beginning::of(&self.beginning);
        let kept: HashSet<SessionId> = self.kept.sessions.read().await.keys().cloned().collect();
        let others = self.beginning.load(Ordering::Relaxed) - 1;
        lock(&self.owned).retain(|id, _| kept.contains(id));
        if kept.len() + others < self.limit {
            return Ok(beginning);
        }
        let silent = self.take_silent(principal).ok_or(Refusal::Sessions)?;
        // It may have ended by itself meanwhile; either way its place is free.
        _ = self.kept.close_session(&silent).await;
        Ok(beginning)
    }

    /// Makes a new session the principal's own.
    pub(super) fn give(&self, id: &str, principal: &Principal) {
        let owned = Owned { principal: principal.clone(), used: Instant::now(), open: 0, ids: HashSet::new() };
        lock(&self.owned).insert(id.into(), owned);
    }

    /// Enters a session with a message, which may be a request with an id, until the guard is dropped.
    ///
    /// Fails alike if the session is another's and if there is none. It also fails if a request with the same id is still being answered,
    /// since the library would mix up the two answers.
    pub(super) fn enter(&self, id: &str, principal: &Principal, request: Option<&Id>) -> Result<Visit, Refusal> {
        let mut all = lock(&self.owned);
        let owned = all.get_mut(id).filter(|owned| owned.principal == *principal).ok_or(Refusal::Session)?;
        if let Some(request) = request
            && !owned.ids.insert(request.clone())
        {
            return Err(Refusal::SameId);
        }
        owned.open += 1;
        owned.used = Instant::now();
        Ok(Visit { all: self.owned.clone(), id: id.into(), request: request.cloned() })
    }

    fn take_silent(&self, principal: &Principal) -> Option<SessionId> {
        let mut all = lock(&self.owned);
        let silent = all.iter().filter(|(_, owned)| owned.open == 0);
        let (id, _) = silent.min_by_key(|(_, owned)| (owned.principal != *principal, owned.used))?;
        let id = id.clone();
        all.remove(&id);
        Some(id)
    }
}

#[derive(Debug)]
struct Owned {
    principal: Principal,
    used: Instant,
    /// How many messages are being answered in it, and streams listened to.
    open: usize,
    ids: HashSet<Id>,
}

/// A session that is about to begin, counted as long as this lives.
#[derive(Debug)]
pub(super) struct Beginning<'a>(&'a AtomicUsize);

impl<'a> Beginning<'a> {
    fn of(number: &'a AtomicUsize) -> Self {
        number.fetch_add(1, Ordering::Relaxed);
        Self(number)
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A message that is being answered in a session, which is in use as long as this lives.
#[derive(Debug)]
pub(super) struct Visit {
    all: Arc<Mutex<HashMap<SessionId, Owned>>>,
    id: SessionId,
    request: Option<Id>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(owned) = lock(&self.all).get_mut(&self.id) {
            owned.open -= 1;
            owned.used = Instant::now();
            if let Some(request) = &self.request {
                owned.ids.remove(request);
            }
        }
    }
}

fn lock(all: &Mutex<HashMap<SessionId, Owned>>) -> MutexGuard<'_, HashMap<SessionId, Owned>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}
