//! Table of sessions and their owners.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::SessionId;

use crate::Principal;
use crate::http::rejection::Rejection;

/// The sessions and reservations, with their owners.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    sessions: HashMap<SessionId, OwnedSession>,
    reservations: Vec<Weak<Principal>>,
    /// Logical clock: incremented with each use of a session.
    clock: u64,
}

/// A session that is being started, counted until it is dropped.
pub(super) type Reservation = Arc<Principal>;

#[derive(Debug)]
struct OwnedSession {
    principal: Principal,
    last_used: u64,
    /// Number of running requests and open streams in the session.
    active: usize,
    request_ids: HashSet<RequestId>,
}

/// Limits of the number of sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionQuota {
    total: usize,
    /// Maximum per principal.
    max: usize,
    /// Equal share: sessions of principals above it can be evicted for others.
    fair_share: usize,
}

impl SessionQuota {
    /// If there are several principals, each can have half of the total, so that none takes all
    /// sessions.
    pub(super) fn new(all: usize, principals: usize) -> Self {
        let max = if principals > 1 { all / 2 } else { all };
        Self {
            total: all,
            max: max.max(1),
            fair_share: (all / principals.max(1)).max(1),
        }
    }
}

impl SessionTable {
    /// Removes the other sessions.
    pub(super) fn retain(&mut self, is_live: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|id, _| is_live(id));
    }

    /// Reserves a session, and returns the session to close if there is no free one. It is already
    /// removed from the table.
    pub(super) fn reserve(
        &mut self,
        principal: &Principal,
        quota: SessionQuota,
    ) -> Result<(Reservation, Option<SessionId>), Rejection> {
        self.reservations
            .retain(|reservation| reservation.strong_count() > 0);
        // Reservations count, so that concurrent clients cannot exceed the limit together.
        let all = self.sessions.len() + self.reservations.len();
        let own = self.count_for(principal);
        let mut evicted = None;
        if own >= quota.max || all >= quota.total {
            // A principal pays with its own sessions first.
            let own_idle = self.least_recently_used(|owner| owner == principal);
            let others = || {
                self.least_recently_used(|owner| {
                    own < quota.max && self.count_for(owner) > quota.fair_share
                })
            };
            let id = own_idle.or_else(others).ok_or(Rejection::TooManySessions)?;
            self.sessions.remove(&id);
            evicted = Some(id);
        }
        let reservation = Arc::new(principal.clone());
        self.reservations.push(Arc::downgrade(&reservation));
        Ok((reservation, evicted))
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

    /// Enters a session with a message.
    pub(super) fn enter(
        &mut self,
        id: &str,
        principal: &Principal,
        request: Option<&RequestId>,
    ) -> Result<(), Rejection> {
        self.clock += 1;
        let now = self.clock;
        let owned = self.owned(id, principal)?;
        if let Some(request) = request
            && !owned.request_ids.insert(request.clone())
        {
            return Err(Rejection::DuplicateId);
        }
        owned.active += 1;
        owned.last_used = now;
        Ok(())
    }

    fn owned(&mut self, id: &str, principal: &Principal) -> Result<&mut OwnedSession, Rejection> {
        self.sessions
            .get_mut(id)
            // One error for both cases, so that ids of others cannot be probed.
            .filter(|owned| owned.principal == *principal)
            .ok_or(Rejection::SessionNotFound)
    }

    pub(super) fn leave(&mut self, id: &SessionId, request: Option<&RequestId>) {
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
        let sessions = self.sessions.values().map(|session| &session.principal);
        let reservations: Vec<_> = self.reservations.iter().filter_map(Weak::upgrade).collect();
        let owners = sessions.chain(reservations.iter().map(AsRef::as_ref));
        owners.filter(|owner| *owner == principal).count()
    }

    /// Returns the least recently used idle session of the principals that may lose one.
    fn least_recently_used(&self, is_candidate: impl Fn(&Principal) -> bool) -> Option<SessionId> {
        // Sessions in use are never evicted, even if all are.
        let idle = self
            .sessions
            .iter()
            .filter(|(_, owned)| owned.active == 0 && is_candidate(&owned.principal));
        idle.min_by_key(|(_, owned)| owned.last_used)
            .map(|(id, _)| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets principals start sessions in turn, and returns whose session was evicted each time.
    fn check(all: usize, principals: usize, names: &[&str]) -> Vec<String> {
        let (mut table, quota) = (SessionTable::default(), SessionQuota::new(all, principals));
        let mut start_session = |(number, name): (usize, &&str)| {
            let principal = Principal::new(name);
            let Ok((_reservation, evicted)) = table.reserve(&principal, quota) else {
                return "rejected".to_owned();
            };
            table.insert(format!("{name}{number}").into(), &principal);
            evicted.map_or_else(String::new, |evicted| evicted.to_string())
        };
        names.iter().enumerate().map(&mut start_session).collect()
    }

    #[test]
    fn a_single_principal_can_have_all_sessions() {
        assert_eq!(
            check(3, 1, &["a", "a", "a", "a", "a"]),
            ["", "", "", "a0", "a1"]
        );
    }

    #[test]
    fn each_of_several_principals_can_have_half() {
        assert_eq!(
            check(4, 2, &["a", "a", "a", "b", "b", "b"]),
            ["", "", "a0", "", "", "b3"]
        );
    }

    #[test]
    fn sessions_above_a_fair_share_are_evicted() {
        assert_eq!(
            check(4, 4, &["a", "a", "b", "b", "c", "d", "c"]),
            ["", "", "", "", "a0", "b2", "c4"]
        );
    }

    #[test]
    fn sessions_within_a_fair_share_are_kept() {
        assert_eq!(check(2, 3, &["a", "b", "c"]), ["", "", "rejected"]);
    }

    #[test]
    fn sessions_in_use_are_not_evicted() {
        let (mut table, shares) = (SessionTable::default(), SessionQuota::new(4, 3));
        let evicted = |table: &mut SessionTable, principal: &Principal| {
            table.reserve(principal, shares).map(|(_, evicted)| evicted)
        };
        let [one, two] = ["a", "b"].map(Principal::new);
        for id in ["1", "2"] {
            table.insert(id.into(), &one);
            table.enter(id, &one, None).unwrap();
        }
        assert_eq!(
            evicted(&mut table, &one),
            Err(Rejection::TooManySessions),
            "it is at its limit"
        );
        assert_eq!(
            evicted(&mut table, &two),
            Ok(None),
            "another principal can start one"
        );
        table.leave(&"2".into(), None);
        assert_eq!(evicted(&mut table, &one), Ok(Some("2".into())));
    }
}
