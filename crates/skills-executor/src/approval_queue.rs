//! Serializes questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;

use crate::CallContext;

/// Serializes questions per approver; approvers do not block each other.
#[derive(Default)]
pub(crate) struct ApprovalQueue {
    host: Arc<AsyncMutex<()>>,
    // Weak: an entry is in use only while a request of its session is open.
    sessions: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

impl ApprovalQueue {
    /// Returns the lock of the approver of a run: that of the runtime, that of the session, or a
    /// new one if only this run is known.
    pub(crate) fn lock_for(&self, context: &CallContext) -> Arc<AsyncMutex<()>> {
        match (&context.approver, &context.session) {
            (None, _) => Arc::clone(&self.host),
            (Some(_), None) => Arc::default(),
            (Some(_), Some(session)) => self.session_lock(session),
        }
    }

    fn session_lock(&self, session: &str) -> Arc<AsyncMutex<()>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = sessions.get(session).and_then(Weak::upgrade) {
            return lock;
        }
        // Clients choose session names, so entries without an open request are removed.
        sessions.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        sessions.insert(session.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::Answer;

    use super::*;

    #[test]
    fn each_approver_gets_one_request_at_a_time() {
        let queue = ApprovalQueue::default();
        let options = |approver: bool, session: Option<&str>| {
            let approval = approver.then(|| Arc::new(Answer::Deny) as _);
            queue.lock_for(&CallContext {
                approver: approval,
                session: session.map(str::to_owned),
                ..CallContext::default()
            })
        };
        assert!(
            Arc::ptr_eq(&options(false, None), &options(false, Some("a"))),
            "the approver of the runtime answers for all sessions"
        );
        let first = options(true, Some("a"));
        assert!(Arc::ptr_eq(&first, &options(true, Some("a"))));
        assert!(!Arc::ptr_eq(&first, &options(true, Some("b"))));
        assert!(
            !Arc::ptr_eq(&options(true, None), &options(true, None)),
            "runs without a session do not wait for each other"
        );
        drop(first);
        options(true, Some("c"));
        assert!(
            queue.sessions.lock().unwrap().len() <= 1,
            "sessions without an open request are removed"
        );
    }
}
