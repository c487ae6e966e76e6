//! Who has how many sessions.

use std::collections::{HashMap, HashSet};

use rmcp::transport::streamable_http_server::SessionId;

use crate::http::json_rpc_header::JsonRpcId;
use crate::http::rejection::Rejection;
use crate::principal::Principal;

/// The sessions that have an owner, and how many of whom are about to begin.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    sessions: HashMap<SessionId, OwnedSession>,
    reserved: HashMap<Principal, usize>,
    /// Counts what is done with sessions: a clock that never shows the same twice.
    clock: u64,
}

#[derive(Debug)]
struct OwnedSession {
    principal: Principal,
    last_used: u64,
    /// How many messages are being answered in it, and streams listened to.
    active: usize,
    request_ids: HashSet<JsonRpcId>,
}

/// How many sessions there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionQuota {
    total: usize,
    /// More than these nobody has.
    max: usize,
    /// Who has more than these gives way to others.
    fair_share: usize,
}

impl SessionQuota {
    /// Of several principals each may have half of all, so that none takes all places from others.
    pub(super) fn new(all: usize, principals: usize) -> Self {
        let most = if principals > 1 { all / 2 } else { all };
        Self {
            total: all,
            max: most.max(1),
            fair_share: (all / principals.max(1)).max(1),
        }
    }
}

impl SessionTable {
    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.sessions.keys().cloned().collect()
    }

    pub(super) fn remove<'a>(&mut self, ids: impl Iterator<Item = &'a SessionId>) {
        for id in ids {
            self.sessions.remove(id);
        }
    }

    /// Counts a session that is about to begin, and returns the one that goes for it if there is no
    /// room. It is forgotten here already.
    pub(super) fn reserve(
        &mut self,
        principal: &Principal,
        shares: SessionQuota,
    ) -> Result<Option<SessionId>, Rejection> {
        let all = self.sessions.len() + self.reserved.values().sum::<usize>();
        let own = self.count_for(principal);
        let silent = if own < shares.max && all < shares.total {
            None
        } else {
            let own_silent = self.least_recently_used(|owner| owner == principal);
            let others = || {
                self.least_recently_used(|owner| {
                    own < shares.max && self.count_for(owner) > shares.fair_share
                })
            };
            Some(
                own_silent
                    .or_else(others)
                    .ok_or(Rejection::TooManySessions)?,
            )
        };
        self.remove(silent.iter());
        *self.reserved.entry(principal.clone()).or_default() += 1;
        Ok(silent)
    }

    /// No longer counts a session that was about to begin.
    pub(super) fn release(&mut self, principal: &Principal) {
        if let Some(number) = self.reserved.get_mut(principal) {
            *number = number.saturating_sub(1);
        }
    }

    pub(super) fn insert(&mut self, id: SessionId, principal: &Principal) {
        self.clock += 1;
        self.sessions.insert(
            id,
            OwnedSession {
                principal: principal.clone(),
                last_used: self.clock,
                active: 0,
                request_ids: HashSet::new(),
            },
        );
    }

    pub(super) fn enter(
        &mut self,
        id: &str,
        principal: &Principal,
        request: Option<&JsonRpcId>,
    ) -> Result<(), Rejection> {
        let owned = self
            .sessions
            .get_mut(id)
            .filter(|owned| owned.principal == *principal)
            .ok_or(Rejection::SessionNotFound)?;
        if let Some(request) = request
            && !owned.request_ids.insert(request.clone())
        {
            return Err(Rejection::DuplicateId);
        }
        owned.active += 1;
        self.clock += 1;
        owned.last_used = self.clock;
        Ok(())
    }

    pub(super) fn leave(&mut self, id: &SessionId, request: Option<&JsonRpcId>) {
        if let Some(owned) = self.sessions.get_mut(id) {
            owned.active = owned.active.saturating_sub(1);
            self.clock += 1;
            owned.last_used = self.clock;
            if let Some(request) = request {
                owned.request_ids.remove(request);
            }
        }
    }

    fn count_for(&self, principal: &Principal) -> usize {
        let owned = self
            .sessions
            .values()
            .filter(|owned| owned.principal == *principal)
            .count();
        owned + self.reserved.get(principal).copied().unwrap_or_default()
    }

    /// Returns the session that was silent longest, of those who may lose one.
    fn least_recently_used(&self, may_lose: impl Fn(&Principal) -> bool) -> Option<SessionId> {
        let silent = self
            .sessions
            .iter()
            .filter(|(_, owned)| owned.active == 0 && may_lose(&owned.principal));
        silent
            .min_by_key(|(_, owned)| owned.last_used)
            .map(|(id, _)| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets each of some principals begin a session in turn, and tells whose went for it.
    fn check(all: usize, principals: usize, turns: &[&str]) -> Vec<String> {
        let (mut book, shares) = (SessionTable::default(), SessionQuota::new(all, principals));
        let mut begin = |(number, name): (usize, &&str)| {
            let principal = Principal::new(name);
            let gone = match book.reserve(&principal, shares) {
                Ok(None) => String::new(),
                Ok(Some(gone)) => gone.to_string(),
                Err(_) => return "refused".to_owned(),
            };
            book.insert(format!("{name}{number}").into(), &principal);
            book.release(&principal);
            gone
        };
        turns.iter().enumerate().map(&mut begin).collect()
    }

    #[test]
    fn one_alone_may_have_all() {
        assert_eq!(
            check(3, 1, &["a", "a", "a", "a", "a"]),
            ["", "", "", "a0", "a1"]
        );
    }

    #[test]
    fn of_several_each_may_have_half() {
        assert_eq!(
            check(4, 2, &["a", "a", "a", "b", "b", "b"]),
            ["", "", "a0", "", "", "b3"]
        );
    }

    #[test]
    fn others_give_way_who_have_more_than_a_fair_share() {
        assert_eq!(
            check(4, 4, &["a", "a", "b", "b", "c", "d", "c"]),
            ["", "", "", "", "a0", "b2", "c4"]
        );
    }

    #[test]
    fn fair_shares_are_left_alone() {
        assert_eq!(check(2, 3, &["a", "b", "c"]), ["", "", "refused"]);
    }

    #[test]
    fn sessions_in_use_stay() {
        let (mut book, shares) = (SessionTable::default(), SessionQuota::new(4, 3));
        let [one, two] = ["a", "b"].map(Principal::new);
        for id in ["1", "2"] {
            book.insert(id.into(), &one);
            book.enter(id, &one, None).unwrap();
        }
        assert_eq!(
            book.reserve(&one, shares),
            Err(Rejection::TooManySessions),
            "it has as many as it may"
        );
        assert_eq!(book.reserve(&two, shares), Ok(None), "others have room");
        book.leave(&"2".into(), None);
        assert_eq!(book.reserve(&one, shares), Ok(Some("2".into())));
    }
}
