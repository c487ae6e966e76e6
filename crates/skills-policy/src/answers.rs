//! What was answered for a session.

use std::sync::{Mutex, PoisonError};

use crate::Approval;

/// The most contents of which answers are remembered, of all sessions together; the oldest is forgotten.
const MAX_ANSWERS: usize = 1_000;

/// What was answered for sessions. An answer counts in its own session and in no other.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Vec<Answered>>);

#[derive(Debug)]
struct Answered {
    /// Nothing for the host's own.
    session: Option<String>,
    approval: Approval,
}

impl Answers {
    /// Finds what was answered in a session.
    pub(crate) fn of(&self, session: Option<&str>, is_wanted: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_session = answered.iter().filter(|answered| answered.session.as_deref() == session).map(|answered| &answered.approval);
        of_session.filter(|approval| is_wanted(approval)).cloned().collect()
    }

    /// Remembers an answer: one entry for each content in each session, and an end to how many.
    pub(crate) fn keep(&self, session: Option<&str>, approval: Approval) {
        let mut answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &Answered| {
            let known = (&known.session.as_deref(), &known.approval.directory, &known.approval.digest);
            known == (&session, &approval.directory, &approval.digest)
        };
        match answered.iter_mut().find(|known| is_same(known)) {
            Some(known) => {
                known.approval.permissions.extend(approval.permissions);
                known.approval.granted.extend(approval.granted);
            }
            None => answered.push(Answered { session: session.map(str::to_owned), approval }),
        }
        if answered.len() > MAX_ANSWERS {
            answered.remove(0);
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &str) {
        let mut answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answered.retain(|answered| answered.session.as_deref() != Some(session));
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

    #[test]
    fn there_is_one_bound_over_all_sessions() {
        let answers = Answers::default();
        answers.keep(None, approval(0));
        for number in 0..MAX_ANSWERS {
            answers.keep(Some(&number.to_string()), approval(number));
        }
        assert_eq!(answers.0.lock().unwrap().len(), MAX_ANSWERS);
        assert_eq!(answers.of(None, |_| true), []);
        assert_eq!(answers.of(Some("7"), |_| true), [approval(7)]);
        answers.keep(Some("7"), approval(7));
        assert_eq!(answers.0.lock().unwrap().len(), MAX_ANSWERS);
    }
}
