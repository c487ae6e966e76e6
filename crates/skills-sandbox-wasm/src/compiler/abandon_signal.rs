//! Tells the thread that compiles that the result is no longer wanted.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Why a result is no longer wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbandonCause {
    /// The deadline of the last waiting run passed.
    Deadline,
    /// The last waiting run was cancelled or dropped.
    Cancelled,
}

/// Set once, when the last run that waits for a component is gone.
#[derive(Debug, Default)]
pub(crate) struct AbandonSignal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    cause: Option<AbandonCause>,
    is_finished: bool,
}

/// How waiting for the child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitResult {
    Finished,
    Abandoned(AbandonCause),
    TimedOut,
}

impl AbandonSignal {
    /// Ends the work; the first cause stays.
    pub(crate) fn set(&self, cause: AbandonCause) {
        self.lock().cause.get_or_insert(cause);
        self.changed.notify_all();
    }

    pub(crate) fn cause(&self) -> Option<AbandonCause> {
        self.lock().cause
    }

    /// Reports that the child has answered, or closed its output.
    pub(super) fn finish(&self) {
        self.lock().is_finished = true;
        self.changed.notify_all();
    }

    /// Waits for the answer, but at most for `time`.
    pub(super) fn wait(&self, time: Duration) -> WaitResult {
        let started = Instant::now();
        let mut state = self.lock();
        loop {
            if state.is_finished {
                return WaitResult::Finished;
            }
            if let Some(cause) = state.cause {
                return WaitResult::Abandoned(cause);
            }
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return WaitResult::TimedOut;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
