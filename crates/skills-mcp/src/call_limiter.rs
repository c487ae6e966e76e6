//! Limit of concurrent calls per principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skills_threads::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Principal;

/// How long a call beyond the limit waits.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Limits the number of concurrent calls per principal.
pub(crate) struct CallLimiter {
    max: usize,
    /// The free permits of principals with running or waiting calls.
    permits: Mutex<HashMap<Principal, Arc<Semaphore>>>,
}

impl CallLimiter {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max: max.min(Semaphore::MAX_PERMITS),
            permits: Mutex::default(),
        }
    }

    /// Acquires a permit for a call; dropping it releases the permit. A principal at its limit waits up
    /// to [`MAX_WAIT`], with as many calls as may run; `None` then, and for further calls. Cancel safe.
    pub(crate) async fn acquire(&self, principal: &Principal) -> Option<OwnedSemaphorePermit> {
        let own = self.of_principal(principal)?;
        if let Ok(permit) = Arc::clone(&own).try_acquire_owned() {
            return Some(permit);
        }
        let permit = tokio::time::timeout(MAX_WAIT, own.acquire_owned()).await;
        permit.ok()?.ok()
    }

    /// Returns the permits of a principal; `None` if too many of its calls wait already.
    fn of_principal(&self, principal: &Principal) -> Option<Arc<Semaphore>> {
        let mut permits = lock(&self.permits);
        // Removed without calls that run or wait, so that the map does not grow with every principal
        // that ever called.
        permits.retain(|_, own| Arc::strong_count(own) > 1);
        let own = permits
            .entry(principal.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(self.max)));
        let calls = Arc::strong_count(own) - 1;
        (calls < self.max.saturating_mul(2)).then(|| Arc::clone(own))
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn acquire(limiter: &CallLimiter, principal: &str) -> Option<OwnedSemaphorePermit> {
        limiter.acquire(&Principal::new(principal)).await
    }

    #[tokio::test(start_paused = true)]
    async fn each_principal_has_its_own_limit() {
        let limiter = CallLimiter::new(2);
        let first = acquire(&limiter, "alice").await;
        let second = acquire(&limiter, "alice").await;
        assert!(first.is_some() && second.is_some());
        assert!(acquire(&limiter, "alice").await.is_none());
        assert!(acquire(&limiter, "bob").await.is_some());
        drop(first);
        assert!(acquire(&limiter, "alice").await.is_some());
        drop(second);
        drop(acquire(&limiter, "bob").await);
        assert_eq!(
            limiter.permits.lock().unwrap().len(),
            1,
            "principals without calls are removed by the next call"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_beyond_the_limit_waits_two_seconds() {
        let limiter = Arc::new(CallLimiter::new(1));
        let running = acquire(&limiter, "alice").await.unwrap();
        let start = tokio::time::Instant::now();
        let waiting = {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move { acquire(&limiter, "alice").await })
        };
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        // No more wait than may run, and those are rejected at once.
        assert!(acquire(&limiter, "alice").await.is_none());
        assert_eq!(start.elapsed(), Duration::from_millis(1_900));
        drop(running);
        let permit = waiting.await.unwrap();
        assert!(permit.is_some(), "it gets the permit that was released");
        assert!(acquire(&limiter, "alice").await.is_none());
        assert_eq!(start.elapsed(), Duration::from_millis(3_900));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_leaves_nothing() {
        let limiter = CallLimiter::new(1);
        let running = acquire(&limiter, "alice").await;
        let wait = tokio::time::timeout(Duration::from_secs(1), acquire(&limiter, "alice"));
        assert!(wait.await.is_err());
        drop(running);
        assert!(acquire(&limiter, "alice").await.is_some());
    }
}
