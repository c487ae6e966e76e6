//! What was answered for a session.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Approval;

/// The most contents of which answers are remembered for one session; its oldest is forgotten.
const MAX_PER_SESSION: usize = 200;
/// The most of all sessions together; the oldest of the session that has most is forgotten.
const MAX_TOTAL: usize = 10_000;
/// So many of the sessions that were forgotten last are known by name.
const MAX_REMOVED: usize = 1_000;

/// What was answered for sessions. An answer counts in its own session and in no other.
#[derive(Debug, Default)]
pub(crate) struct SessionApprovals(Mutex<State>);

/// When a question was put: after so many sessions were forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch(usize);

#[derive(Debug, Default)]
struct State {
    /// By session, nothing for the host's own; none is empty.
    sessions: HashMap<Option<String>, VecDeque<SessionApproval>>,
    /// How many answers there are.
    approval_count: usize,
    /// How many answers there ever were.
    next_number: u64,
    /// The sessions that were forgotten last, in order.
    removed: VecDeque<String>,
    /// How often a session was forgotten.
    removal_count: usize,
}

#[derive(Debug)]
struct SessionApproval {
    /// Which answer it was of all.
    number: u64,
    approval: Approval,
}

impl SessionApprovals {
    /// Finds what was answered in a session, the oldest first.
    pub(crate) fn get(
        &self,
        session: Option<&str>,
        is_wanted: impl Fn(&Approval) -> bool,
    ) -> Vec<Approval> {
        let kept = self.lock_state();
        let of_session = kept
            .sessions
            .get(&session.map(str::to_owned))
            .into_iter()
            .flatten()
            .map(|answered| &answered.approval);
        of_session
            .filter(|approval| is_wanted(approval))
            .cloned()
            .collect()
    }

    /// Notes that a question is put now.
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.lock_state().removal_count)
    }

    /// Remembers an answer to a question: one entry for each content in each session, and an end to
    /// how many. That of a session that was forgotten since the question was put is not kept.
    pub(crate) fn insert(&self, session: Option<&str>, put: Epoch, approval: Approval) {
        let mut kept = self.lock_state();
        if session.is_some_and(|session| kept.was_removed_since(session, put)) {
            return;
        }
        kept.add(session.map(str::to_owned), approval);
        if kept.approval_count > MAX_TOTAL {
            kept.evict_oldest();
        }
    }

    /// Forgets a session.
    pub(crate) fn remove_session(&self, session: &str) {
        let mut kept = self.lock_state();
        kept.approval_count -= kept
            .sessions
            .remove(&Some(session.to_owned()))
            .map_or(0, |answered| answered.len());
        kept.removal_count += 1;
        kept.removed.push_back(session.to_owned());
        if kept.removed.len() > MAX_REMOVED {
            kept.removed.pop_front();
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a session was forgotten since a question was put; of what was forgotten too long ago
    /// to be known, it is assumed.
    fn was_removed_since(&self, session: &str, put: Epoch) -> bool {
        let since = self.removal_count - put.0;
        since > self.removed.len()
            || self
                .removed
                .iter()
                .rev()
                .take(since)
                .any(|forgotten| forgotten == session)
    }

    fn add(&mut self, session: Option<String>, approval: Approval) {
        self.next_number += 1;
        let of_session = self.sessions.entry(session).or_default();
        let is_same = |known: &&mut SessionApproval| {
            (&known.approval.directory, &known.approval.digest)
                == (&approval.directory, &approval.digest)
        };
        if let Some(known) = of_session.iter_mut().find(is_same) {
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

    /// Forgets the oldest answer of the session that has most; of several such sessions, of the one
    /// whose answer is the oldest.
    fn evict_oldest(&mut self) {
        let size = |(_, answered): &(&Option<String>, &VecDeque<SessionApproval>)| {
            (
                answered.len(),
                Reverse(answered.front().map(|first| first.number)),
            )
        };
        let Some(session) = self
            .sessions
            .iter()
            .max_by_key(size)
            .map(|(session, _)| session.clone())
        else {
            return;
        };
        if let Some(of_session) = self.sessions.get_mut(&session) {
            of_session.pop_front();
            self.approval_count -= 1;
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

    fn keep(answers: &SessionApprovals, session: Option<&str>, digest: usize) {
        answers.insert(session, answers.epoch(), approval(digest));
    }

    fn count(answers: &SessionApprovals, session: Option<&str>) -> usize {
        answers.get(session, |_| true).len()
    }

    fn total(answers: &SessionApprovals) -> usize {
        answers.lock_state().approval_count
    }

    #[test]
    fn one_session_pushes_out_its_own_answers_only() {
        let answers = SessionApprovals::default();
        keep(&answers, None, 0);
        keep(&answers, Some("quiet"), 0);
        for digest in 0..=MAX_TOTAL {
            keep(&answers, Some("loud"), digest);
        }
        assert_eq!(
            (
                count(&answers, None),
                count(&answers, Some("quiet")),
                count(&answers, Some("loud"))
            ),
            (1, 1, MAX_PER_SESSION)
        );
        assert_eq!(
            answers.get(Some("loud"), |_| true)[MAX_PER_SESSION - 1],
            approval(MAX_TOTAL)
        );
        assert_eq!(total(&answers), MAX_PER_SESSION + 2);
    }

    #[test]
    fn of_too_many_the_session_that_has_most_loses() {
        let answers = SessionApprovals::default();
        keep(&answers, Some("quiet"), 0);
        for session in 0..MAX_TOTAL / MAX_PER_SESSION {
            for digest in 0..MAX_PER_SESSION {
                keep(&answers, Some(&session.to_string()), digest);
            }
        }
        assert_eq!(
            (total(&answers), count(&answers, Some("quiet"))),
            (MAX_TOTAL, 1)
        );
        assert_eq!(
            (count(&answers, Some("0")), count(&answers, Some("1"))),
            (MAX_PER_SESSION - 1, MAX_PER_SESSION)
        );
        assert_eq!(
            answers.get(Some("0"), |_| true)[0],
            approval(1),
            "its oldest went"
        );
        // The same content is no answer more.
        keep(&answers, Some("1"), 7);
        assert_eq!(
            (total(&answers), count(&answers, Some("0"))),
            (MAX_TOTAL, MAX_PER_SESSION - 1)
        );
        // A session that ends leaves room for others.
        answers.remove_session("1");
        assert_eq!(total(&answers), MAX_TOTAL - MAX_PER_SESSION);
    }

    #[test]
    fn sessions_with_one_answer_each_go_in_their_order() {
        let answers = SessionApprovals::default();
        for session in 0..MAX_TOTAL + 2 {
            keep(&answers, Some(&session.to_string()), 0);
        }
        let kept = |session: usize| count(&answers, Some(&session.to_string()));
        assert_eq!(
            (kept(0), kept(1), kept(2), kept(MAX_TOTAL + 1)),
            (0, 0, 1, 1)
        );
        assert_eq!(answers.lock_state().sessions.len(), MAX_TOTAL);
    }

    #[test]
    fn an_answer_that_comes_after_the_end_of_its_session_is_not_kept() {
        let answers = SessionApprovals::default();
        let before = answers.epoch();
        answers.remove_session("one");
        answers.insert(Some("one"), before, approval(1));
        answers.insert(Some("two"), before, approval(1));
        answers.insert(None, before, approval(1));
        assert_eq!(
            (
                count(&answers, Some("one")),
                count(&answers, Some("two")),
                count(&answers, None)
            ),
            (0, 1, 1)
        );
        // The name may be used again.
        keep(&answers, Some("one"), 1);
        assert_eq!(count(&answers, Some("one")), 1);
        for session in 0..=MAX_REMOVED {
            answers.remove_session(&session.to_string());
        }
        answers.insert(Some("three"), before, approval(1));
        assert_eq!(count(&answers, Some("three")), 0);
        assert_eq!(answers.lock_state().removed.len(), MAX_REMOVED);
    }
}
