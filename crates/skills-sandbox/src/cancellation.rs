//! A way to stop a run and still be told what came of it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Stops runs from outside. Clones are one and the same; once cancelled it stays so.
///
/// A run that is stopped by it has an [`Outcome`](crate::Outcome) with all that was written until then, where a dropped future has none.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    waiting: Vec<Waker>,
}

impl Cancellation {
    /// Makes one that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels every run that has it, and every later one before it begins.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        let waiting = std::mem::take(&mut state.waiting);
        // Whoever is woken may ask at once.
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Says whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    /// Waits until it is cancelled, perhaps for ever.
    pub async fn cancelled(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.is_cancelled {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_that_wait_are_told_and_those_who_come_later_too() {
        let cancellation = Cancellation::new();
        let waiting: Vec<_> = (0..3).map(|_| cancellation.clone()).map(|one| tokio::spawn(async move { one.cancelled().await })).collect();
        tokio::task::yield_now().await;
        assert!(!cancellation.is_cancelled());
        cancellation.cancel();
        for waiting in waiting {
            waiting.await.unwrap();
        }
        cancellation.cancelled().await;
        assert!(cancellation.is_cancelled());
    }
}
