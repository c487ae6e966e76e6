//! Whose turn it is to be asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as Turn;

use crate::ExecutionOptions;

/// One question at a time for each who answers. Who does not answer keeps nobody else waiting.
#[derive(Default)]
pub(crate) struct ApprovalQueue {
    host: Arc<Turn<()>>,
    sessions: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

impl ApprovalQueue {
    /// Returns the turns of whoever is asked for a run: the host, those of the session, or somebody
    /// of whom nothing is known but this run.
    pub(crate) fn lock_for(&self, options: &ExecutionOptions) -> Arc<Turn<()>> {
        match (&options.approver, &options.session) {
            (None, _) => Arc::clone(&self.host),
            (Some(_), None) => Arc::default(),
            (Some(_), Some(session)) => self.session_lock(session),
        }
    }

    fn session_lock(&self, session: &str) -> Arc<Turn<()>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = sessions.get(session).and_then(Weak::upgrade) {
            return turns;
        }
        sessions.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::default();
        sessions.insert(session.to_owned(), Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::ApprovalResponse;

    use super::*;

    #[test]
    fn who_is_asked_has_one_turn_at_a_time() {
        let asking = ApprovalQueue::default();
        let options = |approver: bool, session: Option<&str>| {
            let approval = approver.then(|| Arc::new(ApprovalResponse::Deny) as _);
            asking.lock_for(&ExecutionOptions {
                approver: approval,
                session: session.map(str::to_owned),
                ..ExecutionOptions::default()
            })
        };
        assert!(
            Arc::ptr_eq(&options(false, None), &options(false, Some("a"))),
            "the host answers for all sessions"
        );
        let first = options(true, Some("a"));
        assert!(Arc::ptr_eq(&first, &options(true, Some("a"))));
        assert!(!Arc::ptr_eq(&first, &options(true, Some("b"))));
        assert!(
            !Arc::ptr_eq(&options(true, None), &options(true, None)),
            "who has no session waits for nobody"
        );
        drop(first);
        options(true, Some("c"));
        assert!(
            asking.sessions.lock().unwrap().len() <= 1,
            "sessions of which no question is open are forgotten"
        );
    }
}
