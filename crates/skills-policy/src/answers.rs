//! What was answered for a session.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Approval;

/// The most contents of which answers are remembered for one session; its oldest is forgotten.
const MAX_OF_SESSION: usize = 200;
/// The most of all sessions together; the oldest of the session that has most is forgotten.
const MAX_ANSWERS: usize = 10_000;
/// So many of the sessions that were forgotten last are known by name.
const MAX_FORGOTTEN: usize = 1_000;

/// What was answered for sessions. An answer counts in its own session and in no other.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Kept>);

/// When a question was put: after so many sessions were forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put(usize);

#[derive(Debug, Default)]
struct Kept {
    /// By session, nothing for the host's own; none is empty.
    sessions: HashMap<Option<String>, VecDeque<Answered>>,
    /// How many answers there are.
    count: usize,
    /// How many answers there ever were.
    number: u64,
    /// The sessions that were forgotten last, in order.
    forgotten: VecDeque<String>,
    /// How often a session was forgotten.
    forgets: usize,
}

#[derive(Debug)]
struct Answered {
    /// Which answer it was of all.
    number: u64,
    approval: Approval,
}

impl Answers {
    /// Finds what was answered in a session, the oldest first.
    pub(crate) fn of(&self, session: Option<&str>, is_wanted: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let kept = self.kept();
        let of_session = kept.sessions.get(&session.map(str::to_owned)).into_iter().flatten().map(|answered| &answered.approval);
        of_session.filter(|approval| is_wanted(approval)).cloned().collect()
    }

    /// Notes that a question is put now.
    pub(crate) fn put(&self) -> Put {
        Put(self.kept().forgets)
    }

    /// Remembers an answer to a question: one entry for each content in each session, and an end to how many. That of a session that was forgotten
    /// since the question was put is not kept.
    pub(crate) fn keep(&self, session: Option<&str>, put: Put, approval: Approval) {
        let mut kept = self.kept();
        if session.is_some_and(|session| kept.has_forgotten(session, put)) {
            return;
        }
        kept.add(session.map(str::to_owned), approval);
        if kept.count > MAX_ANSWERS {
            kept.drop_one();
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &str) {
        let mut kept = self.kept();
        kept.count -= kept.sessions.remove(&Some(session.to_owned())).map_or(0, |answered| answered.len());
        kept.forgets += 1;
        kept.forgotten.push_back(session.to_owned());
        if kept.forgotten.len() > MAX_FORGOTTEN {
            kept.forgotten.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Whether a session was forgotten since a question was put; of what was forgotten too long ago to be known, it is assumed.
    fn has_forgotten(&self, session: &str, put: Put) -> bool {
        let since = self.forgets - put.0;
        since > self.forgotten.len() || self.forgotten.iter().rev().take(since).any(|forgotten| forgotten == session)
    }

    fn add(&mut self, session: Option<String>, approval: Approval) {
        self.number += 1;
        let of_session = self.sessions.entry(session).or_default();
        let is_same =
            |known: &&mut Answered| (&known.approval.directory, &known.approval.digest) == (&approval.directory, &approval.digest);
        if let Some(known) = of_session.iter_mut().find(is_same) {
            known.approval.permissions.extend(approval.permissions);
            known.approval.granted.extend(approval.granted);
            return;
        }
        of_session.push_back(Answered { number: self.number, approval });
        if of_session.len() > MAX_OF_SESSION {
            of_session.pop_front();
        } else {
            self.count += 1;
        }
    }

    /// Forgets the oldest answer of the session that has most; of several such sessions, of the one whose answer is the oldest.
    fn drop_one(&mut self) {
        let size =
            |(_, answered): &(&Option<String>, &VecDeque<Answered>)| (answered.len(), Reverse(answered.front().map(|first| first.number)));
        let Some(session) = self.sessions.iter().max_by_key(size).map(|(session, _)| session.clone()) else { return };
        if let Some(of_session) = self.sessions.get_mut(&session) {
            of_session.pop_front();
            self.count -= 1;
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
            granted: BTreeSet::new(),
            declared: BTreeSet::new(),
        }
    }

    fn keep(answers: &Answers, session: Option<&str>, digest: usize) {
        answers.keep(session, answers.put(), approval(digest));
    }

    fn count(answers: &Answers, session: Option<&str>) -> usize {
        answers.of(session, |_| true).len()
    }

    fn total(answers: &Answers) -> usize {
        answers.kept().count
    }

    #[test]
    fn one_session_pushes_out_its_own_answers_only() {
        let answers = Answers::default();
        keep(&answers, None, 0);
        keep(&answers, Some("quiet"), 0);
        for digest in 0..=MAX_ANSWERS {
            keep(&answers, Some("loud"), digest);
        }
        assert_eq!((count(&answers, None), count(&answers, Some("quiet")), count(&answers, Some("loud"))), (1, 1, MAX_OF_SESSION));
        assert_eq!(answers.of(Some("loud"), |_| true)[MAX_OF_SESSION - 1], approval(MAX_ANSWERS));
        assert_eq!(total(&answers), MAX_OF_SESSION + 2);
    }

    #[test]
    fn of_too_many_the_session_that_has_most_loses() {
        let answers = Answers::default();
        keep(&answers, Some("quiet"), 0);
        for session in 0..MAX_ANSWERS / MAX_OF_SESSION {
            for digest in 0..MAX_OF_SESSION {
                keep(&answers, Some(&session.to_string()), digest);
            }
        }
        assert_eq!((total(&answers), count(&answers, Some("quiet"))), (MAX_ANSWERS, 1));
        assert_eq!((count(&answers, Some("0")), count(&answers, Some("1"))), (MAX_OF_SESSION - 1, MAX_OF_SESSION));
        assert_eq!(answers.of(Some("0"), |_| true)[0], approval(1), "its oldest went");
        // The same content is no answer more.
        keep(&answers, Some("1"), 7);
        assert_eq!((total(&answers), count(&answers, Some("0"))), (MAX_ANSWERS, MAX_OF_SESSION - 1));
        // A session that ends leaves room for others.
        answers.forget("1");
        assert_eq!(total(&answers), MAX_ANSWERS - MAX_OF_SESSION);
    }

    #[test]
    fn sessions_with_one_answer_each_go_in_their_order() {
        let answers = Answers::default();
        for session in 0..MAX_ANSWERS + 2 {
            keep(&answers, Some(&session.to_string()), 0);
        }
        let kept = |session: usize| count(&answers, Some(&session.to_string()));
        assert_eq!((kept(0), kept(1), kept(2), kept(MAX_ANSWERS + 1)), (0, 0, 1, 1));
        assert_eq!(answers.kept().sessions.len(), MAX_ANSWERS);
    }

    #[test]
    fn an_answer_that_comes_after_the_end_of_its_session_is_not_kept() {
        let answers = Answers::default();
        let before = answers.put();
        answers.forget("one");
        answers.keep(Some("one"), before, approval(1));
        answers.keep(Some("two"), before, approval(1));
        answers.keep(None, before, approval(1));
        assert_eq!((count(&answers, Some("one")), count(&answers, Some("two")), count(&answers, None)), (0, 1, 1));
        // The name may be used again.
        keep(&answers, Some("one"), 1);
        assert_eq!(count(&answers, Some("one")), 1);
        for session in 0..=MAX_FORGOTTEN {
            answers.forget(&session.to_string());
        }
        answers.keep(Some("three"), before, approval(1));
        assert_eq!(count(&answers, Some("three")), 0);
        assert_eq!(answers.kept().forgotten.len(), MAX_FORGOTTEN);
    }
}
