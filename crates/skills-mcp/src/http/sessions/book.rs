//! Who has how many sessions.

use std::collections::{HashMap, HashSet};

use rmcp::transport::streamable_http_server::SessionId;

use crate::http::envelope::Id;
use crate::http::refusal::Refusal;
use crate::principal::Principal;

/// The sessions that have an owner, and how many of whom are about to begin.
#[derive(Debug, Default)]
pub(super) struct Book {
    owned: HashMap<SessionId, Owned>,
    beginning: HashMap<Principal, usize>,
    /// Counts what is done with sessions: a clock that never shows the same twice.
    turn: u64,
}

#[derive(Debug)]
struct Owned {
    principal: Principal,
    used: u64,
    /// How many messages are being answered in it, and streams listened to.
    open: usize,
    ids: HashSet<Id>,
}

/// How many sessions there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    all: usize,
    /// More than these nobody has.
    most: usize,
    /// Who has more than these gives way to others.
    fair: usize,
}

impl Shares {
    /// Of several principals each may have half of all, so that none takes all places from others.
    pub(super) fn new(all: usize, principals: usize) -> Self {
        let most = if principals > 1 { all / 2 } else { all };
        Self {
            all,
            most: most.max(1),
            fair: (all / principals.max(1)).max(1),
        }
    }
}

impl Book {
    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.owned.keys().cloned().collect()
    }

    pub(super) fn forget<'a>(&mut self, ids: impl Iterator<Item = &'a SessionId>) {
        for id in ids {
            self.owned.remove(id);
        }
    }

    /// Counts a session that is about to begin, and returns the one that goes for it if there is no
    /// room. It is forgotten here already.
    pub(super) fn begin(
        &mut self,
        principal: &Principal,
        shares: Shares,
    ) -> Result<Option<SessionId>, Refusal> {
        let all = self.owned.len() + self.beginning.values().sum::<usize>();
        let own = self.held_by(principal);
        let silent = if own < shares.most && all < shares.all {
            None
        } else {
            let own_silent = self.silent(|owner| owner == principal);
            let others =
                || self.silent(|owner| own < shares.most && self.held_by(owner) > shares.fair);
            Some(own_silent.or_else(others).ok_or(Refusal::Sessions)?)
        };
        self.forget(silent.iter());
        *self.beginning.entry(principal.clone()).or_default() += 1;
        Ok(silent)
    }

    /// No longer counts a session that was about to begin.
    pub(super) fn begun(&mut self, principal: &Principal) {
        if let Some(number) = self.beginning.get_mut(principal) {
            *number = number.saturating_sub(1);
        }
    }

    pub(super) fn own(&mut self, id: SessionId, principal: &Principal) {
        self.turn += 1;
        self.owned.insert(
            id,
            Owned {
                principal: principal.clone(),
                used: self.turn,
                open: 0,
                ids: HashSet::new(),
            },
        );
    }

    pub(super) fn enter(
        &mut self,
        id: &str,
        principal: &Principal,
        request: Option<&Id>,
    ) -> Result<(), Refusal> {
        let owned = self
            .owned
            .get_mut(id)
            .filter(|owned| owned.principal == *principal)
            .ok_or(Refusal::Session)?;
        if let Some(request) = request
            && !owned.ids.insert(request.clone())
        {
            return Err(Refusal::SameId);
        }
        owned.open += 1;
        self.turn += 1;
        owned.used = self.turn;
        Ok(())
    }

    pub(super) fn leave(&mut self, id: &SessionId, request: Option<&Id>) {
        if let Some(owned) = self.owned.get_mut(id) {
            owned.open = owned.open.saturating_sub(1);
            self.turn += 1;
            owned.used = self.turn;
            if let Some(request) = request {
                owned.ids.remove(request);
            }
        }
    }

    fn held_by(&self, principal: &Principal) -> usize {
        let owned = self
            .owned
            .values()
            .filter(|owned| owned.principal == *principal)
            .count();
        owned + self.beginning.get(principal).copied().unwrap_or_default()
    }

    /// Returns the session that was silent longest, of those who may lose one.
    fn silent(&self, may_lose: impl Fn(&Principal) -> bool) -> Option<SessionId> {
        let silent = self
            .owned
            .iter()
            .filter(|(_, owned)| owned.open == 0 && may_lose(&owned.principal));
        silent
            .min_by_key(|(_, owned)| owned.used)
            .map(|(id, _)| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets each of some principals begin a session in turn, and tells whose went for it.
    fn check(all: usize, principals: usize, turns: &[&str]) -> Vec<String> {
        let (mut book, shares) = (Book::default(), Shares::new(all, principals));
        let mut begin = |(number, name): (usize, &&str)| {
            let principal = Principal::named(name);
            let gone = match book.begin(&principal, shares) {
                Ok(None) => String::new(),
                Ok(Some(gone)) => gone.to_string(),
                Err(_) => return "refused".to_owned(),
            };
            book.own(format!("{name}{number}").into(), &principal);
            book.begun(&principal);
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
        let (mut book, shares) = (Book::default(), Shares::new(4, 3));
        let [one, two] = ["a", "b"].map(Principal::named);
        for id in ["1", "2"] {
            book.own(id.into(), &one);
            book.enter(id, &one, None).unwrap();
        }
        assert_eq!(
            book.begin(&one, shares),
            Err(Refusal::Sessions),
            "it has as many as it may"
        );
        assert_eq!(book.begin(&two, shares), Ok(None), "others have room");
        book.leave(&"2".into(), None);
        assert_eq!(book.begin(&one, shares), Ok(Some("2".into())));
    }
}
