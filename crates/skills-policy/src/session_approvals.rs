//! Approvals for a session, in memory.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Approval;

/// Maximum approvals of one session; the oldest is evicted first.
const MAX_PER_SESSION: usize = 200;
/// Maximum approvals of all sessions; the oldest of the largest session is evicted first, so that a
/// client cannot evict the approvals of others by opening requests.
const MAX_TOTAL: usize = 10_000;
/// Number of recently removed sessions remembered, so that a late response cannot revive one.
const MAX_REMOVED: usize = 1_000;

/// The approvals of all sessions. An approval applies in its own session only.
#[derive(Debug, Default)]
pub(crate) struct SessionApprovals(Mutex<State>);

/// The time of a question, as the number of sessions removed before it. A count and not a
/// clock: it cannot go back, and tests do not depend on time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch(usize);

#[derive(Debug, Default)]
struct State {
    /// By session, `None` for that of the host application. No list is empty.
    sessions: HashMap<Option<String>, VecDeque<SessionApproval>>,
    /// Number of approvals in all sessions.
    approval_count: usize,
    /// Number of approvals ever added.
    next_number: u64,
    /// The sessions removed last, oldest first.
    removed: VecDeque<String>,
    /// Number of sessions ever removed.
    removal_count: usize,
}

#[derive(Debug)]
struct SessionApproval {
    /// Its number among all approvals ever added, for eviction by age.
    number: u64,
    approval: Approval,
}

impl SessionApprovals {
    /// Returns the approvals of a session that match, oldest first.
    pub(crate) fn get(
        &self,
        session: Option<&str>,
        matches: impl Fn(&Approval) -> bool,
    ) -> Vec<Approval> {
        let state = self.lock_state();
        let of_session = state
            .sessions
            .get(&session.map(str::to_owned))
            .into_iter()
            .flatten()
            .map(|entry| &entry.approval);
        of_session
            .filter(|approval| matches(approval))
            .cloned()
            .collect()
    }

    /// Returns the current epoch, for a request that is evaluated now.
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.lock_state().removal_count)
    }

    /// Adds an approval, merged with the one for the same content in the session. It is discarded
    /// if the session was removed since `epoch`: the client that it was meant for is gone, and
    /// another one may have the same session name.
    pub(crate) fn insert(&self, session: Option<&str>, epoch: Epoch, approval: Approval) {
        let mut state = self.lock_state();
        if session.is_some_and(|session| state.was_removed_since(session, epoch)) {
            return;
        }
        state.add(session.map(str::to_owned), approval);
        if state.approval_count > MAX_TOTAL {
            state.evict_oldest();
        }
    }

    /// Removes a session with its approvals.
    pub(crate) fn remove_session(&self, session: &str) {
        let mut state = self.lock_state();
        state.approval_count -= state
            .sessions
            .remove(&Some(session.to_owned()))
            .map_or(0, |entries| entries.len());
        // Counted even if the session had no approvals: a request of it can be pending.
        state.removal_count += 1;
        state.removed.push_back(session.to_owned());
        if state.removed.len() > MAX_REMOVED {
            state.removed.pop_front();
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock, so a poisoned state is still consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns true if a session was removed since `epoch`, or if that is unknown because more
    /// sessions were removed than are remembered (fail closed).
    fn was_removed_since(&self, session: &str, epoch: Epoch) -> bool {
        let since = self.removal_count - epoch.0;
        since > self.removed.len()
            || self
                .removed
                .iter()
                .rev()
                .take(since)
                .any(|removed| removed == session)
    }

    fn add(&mut self, session: Option<String>, approval: Approval) {
        self.next_number += 1;
        let of_session = self.sessions.entry(session).or_default();
        // One entry per content, so that repeated responses do not evict other contents.
        let has_same_content = |known: &&mut SessionApproval| {
            (&known.approval.directory, &known.approval.digest)
                == (&approval.directory, &approval.digest)
        };
        if let Some(known) = of_session.iter_mut().find(has_same_content) {
            known.approval.permissions.extend(approval.permissions);
            known
                .approval
                .granted_by_rules
                .extend(approval.granted_by_rules);
            return;
        }
        of_session.push_back(SessionApproval {
            number: self.next_number,
            approval,
        });
        if of_session.len() > MAX_PER_SESSION {
            of_session.pop_front();
        } else {
            self.approval_count += 1;
        }
    }

    /// Evicts the oldest approval of the largest session; of several such sessions, of the one
    /// whose approval is the oldest.
    fn evict_oldest(&mut self) {
        let size_and_age = |(_, entries): &(&Option<String>, &VecDeque<SessionApproval>)| {
            (
                entries.len(),
                Reverse(entries.front().map(|first| first.number)),
            )
        };
        let Some(session) = self
            .sessions
            .iter()
            .max_by_key(size_and_age)
            .map(|(session, _)| session.clone())
        else {
            return;
        };
        if let Some(of_session) = self.sessions.get_mut(&session) {
            of_session.pop_front();
            self.approval_count -= 1;
            // Empty lists would accumulate with the number of sessions.
            if of_session.is_empty() {
                self.sessions.remove(&session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn approval(digest: usize) -> Approval {
        Approval {
            name: "a".to_owned(),
            directory: "/a".into(),
            digest: digest.to_string(),
            permissions: BTreeSet::new(),
            granted_by_rules: BTreeSet::new(),
            declared: BTreeSet::new(),
        }
    }

    fn add(approvals: &SessionApprovals, session: Option<&str>, digest: usize) {
        approvals.insert(session, approvals.epoch(), approval(digest));
    }

    fn count(approvals: &SessionApprovals, session: Option<&str>) -> usize {
        approvals.get(session, |_| true).len()
    }

    fn total(approvals: &SessionApprovals) -> usize {
        approvals.lock_state().approval_count
    }

    #[test]
    fn a_full_session_evicts_its_own_approvals_only() {
        let approvals = SessionApprovals::default();
        add(&approvals, None, 0);
        add(&approvals, Some("quiet"), 0);
        for digest in 0..=MAX_TOTAL {
            add(&approvals, Some("loud"), digest);
        }
        assert_eq!(
            (
                count(&approvals, None),
                count(&approvals, Some("quiet")),
                count(&approvals, Some("loud"))
            ),
            (1, 1, MAX_PER_SESSION)
        );
        assert_eq!(
            approvals.get(Some("loud"), |_| true)[MAX_PER_SESSION - 1],
            approval(MAX_TOTAL)
        );
        assert_eq!(total(&approvals), MAX_PER_SESSION + 2);
    }

    #[test]
    fn at_the_total_limit_the_oldest_approval_of_the_largest_session_is_evicted() {
        let approvals = SessionApprovals::default();
        add(&approvals, Some("quiet"), 0);
        for session in 0..MAX_TOTAL / MAX_PER_SESSION {
            for digest in 0..MAX_PER_SESSION {
                add(&approvals, Some(&session.to_string()), digest);
            }
        }
        assert_eq!(
            (total(&approvals), count(&approvals, Some("quiet"))),
            (MAX_TOTAL, 1)
        );
        assert_eq!(
            (count(&approvals, Some("0")), count(&approvals, Some("1"))),
            (MAX_PER_SESSION - 1, MAX_PER_SESSION)
        );
        assert_eq!(
            approvals.get(Some("0"), |_| true)[0],
            approval(1),
            "its oldest was evicted"
        );
        // Another approval of the same content is merged.
        add(&approvals, Some("1"), 7);
        assert_eq!(
            (total(&approvals), count(&approvals, Some("0"))),
            (MAX_TOTAL, MAX_PER_SESSION - 1)
        );
        // A removed session frees its approvals.
        approvals.remove_session("1");
        assert_eq!(total(&approvals), MAX_TOTAL - MAX_PER_SESSION);
    }

    #[test]
    fn sessions_of_equal_size_are_evicted_by_age() {
        let approvals = SessionApprovals::default();
        for session in 0..MAX_TOTAL + 2 {
            add(&approvals, Some(&session.to_string()), 0);
        }
        let count_of = |session: usize| count(&approvals, Some(&session.to_string()));
        assert_eq!(
            (
                count_of(0),
                count_of(1),
                count_of(2),
                count_of(MAX_TOTAL + 1)
            ),
            (0, 0, 1, 1)
        );
        assert_eq!(approvals.lock_state().sessions.len(), MAX_TOTAL);
    }

    #[test]
    fn a_late_approval_does_not_revive_its_session() {
        let approvals = SessionApprovals::default();
        let before = approvals.epoch();
        approvals.remove_session("one");
        approvals.insert(Some("one"), before, approval(1));
        approvals.insert(Some("two"), before, approval(1));
        approvals.insert(None, before, approval(1));
        assert_eq!(
            (
                count(&approvals, Some("one")),
                count(&approvals, Some("two")),
                count(&approvals, None)
            ),
            (0, 1, 1)
        );
        // A new session may have the same name.
        add(&approvals, Some("one"), 1);
        assert_eq!(count(&approvals, Some("one")), 1);
        for session in 0..=MAX_REMOVED {
            approvals.remove_session(&session.to_string());
        }
        approvals.insert(Some("three"), before, approval(1));
        assert_eq!(count(&approvals, Some("three")), 0);
        assert_eq!(approvals.lock_state().removed.len(), MAX_REMOVED);
    }
}
