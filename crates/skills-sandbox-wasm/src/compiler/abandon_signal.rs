//! Signals a compiling thread that its result is no longer needed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Why no run waits for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbandonCause {
    /// The deadline of the last waiting run expired. A compilation that has started continues, so
    /// that the next run finds its result.
    Deadline,
    /// The last waiting run was cancelled or dropped.
    Cancelled,
    /// The deadline expired before, and a run that waits needs the permit.
    Evicted,
}

/// Set when no run waits for a component any more, and reset when another one does.
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
    Stopped,
    TimedOut,
}

impl AbandonSignal {
    /// Abandons the work; the first cause wins.
    pub(crate) fn set(&self, cause: AbandonCause) {
        self.lock().cause.get_or_insert(cause);
        self.changed.notify_all();
    }

    /// Continues work that was abandoned at a deadline, since another run waits for it.
    pub(crate) fn resume(&self) {
        let mut state = self.lock();
        if state.cause == Some(AbandonCause::Deadline) {
            state.cause = None;
        }
    }

    /// Stops work that was abandoned at a deadline. Does nothing if a run waits for it.
    pub(crate) fn evict(&self) {
        let mut state = self.lock();
        if state.cause == Some(AbandonCause::Deadline) {
            state.cause = Some(AbandonCause::Evicted);
            self.changed.notify_all();
        }
    }

    pub(crate) fn cause(&self) -> Option<AbandonCause> {
        self.lock().cause
    }

    /// Reports that the child has replied, or closed its output.
    pub(super) fn finish(&self) {
        self.lock().is_finished = true;
        self.changed.notify_all();
    }

    /// Waits for the reply, at most for `time`. A deadline does not end the wait.
    pub(super) fn wait(&self, time: Duration) -> WaitResult {
        let started = Instant::now();
        let mut state = self.lock();
        loop {
            // Checked first: a reply that has arrived is used even if it is not needed any more.
            if state.is_finished {
                return WaitResult::Finished;
            }
            if matches!(
                state.cause,
                Some(AbandonCause::Cancelled | AbandonCause::Evicted)
            ) {
                return WaitResult::Stopped;
            }
            // Waiting may end without a notification, so the time is measured.
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
