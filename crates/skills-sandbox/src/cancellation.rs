//! A cancellation token whose run still returns its output.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Stops runs from another task. Clones share one state; a cancelled token stays cancelled.
///
/// A run that is stopped with a token still returns a [`RunOutput`](crate::RunOutput) with
/// everything that the program wrote until then. Dropping the future of a run stops it as well, but
/// loses the output.
///
/// ```
/// use skills_sandbox::CancellationToken;
///
/// let token = CancellationToken::new();
/// let of_run = token.clone();
/// assert!(!of_run.is_cancelled());
/// token.cancel();
/// assert!(of_run.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancellationToken(Arc<Mutex<State>>);

/// The signal that asks a program to end before it is killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopSignal {
    /// `SIGHUP`: the terminal was closed.
    Hangup,
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    #[default]
    Terminate,
}

impl StopSignal {
    /// Returns the number of the signal, which is the same on all systems that have it.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Hangup => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    signal: StopSignal,
    /// When programs are stopped that were asked to end; at once by default.
    deadline: Option<Instant>,
    next_id: u64,
    wakers: Vec<(u64, Waker)>,
}

impl CancellationToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels every run that has this token, and rejects every later run before it starts.
    /// Cancelling twice has no further effect.
    pub fn cancel(&self) {
        self.cancel_after(Duration::ZERO);
    }

    /// Cancels like [`cancel_with`](Self::cancel_with), and asks programs to end by
    /// [`StopSignal::Terminate`].
    pub fn cancel_after(&self, grace: Duration) {
        self.cancel_with(StopSignal::Terminate, grace);
    }

    /// Cancels like [`cancel`](Self::cancel), but asks programs to end first, by this signal where
    /// there are signals, and stops them once `grace` has passed. Programs in containers and
    /// WebAssembly are stopped at once. Another call can only shorten the grace; its signal is not
    /// sent.
    pub fn cancel_with(&self, signal: StopSignal, grace: Duration) {
        let deadline = (!grace.is_zero())
            .then(|| Instant::now().checked_add(grace))
            .flatten();
        let mut state = self.lock_state();
        state.deadline = if state.is_cancelled {
            state.deadline.min(deadline)
        } else {
            state.signal = signal;
            deadline
        };
        state.is_cancelled = true;
        let waiting = std::mem::take(&mut state.wakers);
        // A woken task may lock the state at once, so the lock is released first.
        drop(state);
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Returns true if the token was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.lock_state().is_cancelled
    }

    /// Returns the signal that asks programs to end: that of the first call that cancelled the
    /// token.
    #[must_use]
    pub fn signal(&self) -> StopSignal {
        self.lock_state().signal
    }

    /// Returns how long programs may still go on after they were asked to end; zero before the token is
    /// cancelled.
    #[must_use]
    pub fn grace(&self) -> Duration {
        let deadline = self.lock_state().deadline;
        deadline.map_or(Duration::ZERO, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        })
    }

    /// Waits until the token is cancelled, which may never happen. Cancel safe.
    pub async fn cancelled(&self) {
        self.wait(|state| state.is_cancelled).await;
    }

    /// Waits until the token is cancelled with a shorter grace than is left now, which may never happen.
    /// Cancel safe.
    pub async fn grace_shortened(&self) {
        let known = self.lock_state().deadline;
        self.wait(|state| state.is_cancelled && state.deadline < known)
            .await;
    }

    async fn wait(&self, is_over: impl Fn(&State) -> bool + Unpin) {
        WaitForCancellation {
            cancellation: self,
            is_over,
            id: None,
        }
        .await;
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a run is cancelled, which never happens without a token. Cancel safe.
pub async fn wait_cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// A registered waiter; dropping it unregisters it.
struct WaitForCancellation<'a, F> {
    cancellation: &'a CancellationToken,
    is_over: F,
    id: Option<u64>,
}

impl<F: Fn(&State) -> bool + Unpin> Future for WaitForCancellation<'_, F> {
    type Output = ();

    // The flag is read and the waker stored under one lock, so that no cancellation is lost in
    // between.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.cancellation.lock_state();
        if (self.is_over)(&state) {
            return Poll::Ready(());
        }
        let number = self.id.unwrap_or_else(|| {
            state.next_id += 1;
            state.next_id
        });
        match state.wakers.iter_mut().find(|(known, _)| *known == number) {
            // A future can move to another task, so only the latest waker counts.
            Some((_, waker)) => waker.clone_from(context.waker()),
            None => state.wakers.push((number, context.waker().clone())),
        }
        drop(state);
        self.id = Some(number);
        Poll::Pending
    }
}

impl<F> Drop for WaitForCancellation<'_, F> {
    fn drop(&mut self) {
        // A token can outlive many runs, so their wakers must not remain in it.
        if let Some(number) = self.id {
            self.cancellation
                .lock_state()
                .wakers
                .retain(|(known, _)| *known != number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn current_and_later_waiters_are_notified() {
        let cancellation = CancellationToken::new();
        let waiting: Vec<_> = (0..3)
            .map(|_| cancellation.clone())
            .map(|one| tokio::spawn(async move { one.cancelled().await }))
            .collect();
        tokio::task::yield_now().await;
        assert!(!cancellation.is_cancelled());
        cancellation.cancel();
        for waiting in waiting {
            waiting.await.unwrap();
        }
        cancellation.cancelled().await;
        assert!(cancellation.is_cancelled());
    }

    #[tokio::test]
    async fn a_further_cancellation_can_only_shorten_the_grace() {
        let seconds = Duration::from_secs;
        let cancellation = CancellationToken::new();
        assert_eq!(cancellation.grace(), Duration::ZERO);
        cancellation.cancel_after(seconds(60));
        cancellation.cancelled().await;
        let of_run = cancellation.clone();
        let shortened = tokio::spawn(async move { of_run.grace_shortened().await });
        tokio::task::yield_now().await;
        cancellation.cancel_after(seconds(90));
        tokio::task::yield_now().await;
        assert!(!shortened.is_finished() && cancellation.grace() > seconds(50));
        cancellation.cancel_after(seconds(30));
        shortened.await.unwrap();
        assert!(cancellation.grace() <= seconds(30));
        let of_run = cancellation.clone();
        let shortened = tokio::spawn(async move { of_run.grace_shortened().await });
        tokio::task::yield_now().await;
        cancellation.cancel();
        shortened.await.unwrap();
        assert_eq!(cancellation.grace(), Duration::ZERO);
    }

    #[test]
    fn the_first_signal_is_the_one_that_is_sent() {
        let cancellation = CancellationToken::new();
        cancellation.cancel_with(StopSignal::Hangup, Duration::from_secs(60));
        cancellation.cancel_with(StopSignal::Interrupt, Duration::from_secs(30));
        cancellation.cancel();
        assert_eq!(cancellation.signal(), StopSignal::Hangup);
    }

    #[tokio::test]
    async fn a_dropped_waiter_is_unregistered() {
        let cancellation = CancellationToken::new();
        for _ in 0..10 {
            tokio::select! {
                biased;
                () = cancellation.cancelled() => panic!("the token was not cancelled"),
                () = std::future::ready(()) => {}
            }
        }
        assert_eq!(cancellation.lock_state().wakers.len(), 0);
    }
}
