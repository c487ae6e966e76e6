//! Limit of concurrent calls per principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use skills_threads::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Principal;

/// Limits the number of concurrent calls per principal.
pub(crate) struct CallLimiter {
    max: usize,
    /// The free permits of principals with running calls.
    permits: Mutex<HashMap<Principal, Arc<Semaphore>>>,
}

impl CallLimiter {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max: max.min(Semaphore::MAX_PERMITS),
            permits: Mutex::default(),
        }
    }

    /// Acquires a permit for a call; dropping it releases the permit. Returns `None` if the
    /// principal is at its limit.
    pub(crate) fn try_acquire(&self, principal: &Principal) -> Option<OwnedSemaphorePermit> {
        let mut permits = lock(&self.permits);
        // Removed without calls, so that the map does not grow with every principal that ever
        // called.
        permits.retain(|_, free| free.available_permits() < self.max);
        let own = permits
            .entry(principal.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(self.max)));
        Arc::clone(own).try_acquire_owned().ok()
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_limit() {
        let limiter = CallLimiter::new(2);
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let first = limiter.try_acquire(&alice);
        let second = limiter.try_acquire(&alice);
        assert!(first.is_some() && second.is_some());
        assert!(limiter.try_acquire(&alice).is_none());
        assert!(limiter.try_acquire(&bob).is_some());
        drop(first);
        assert!(limiter.try_acquire(&alice).is_some());
        drop(second);
        drop(limiter.try_acquire(&bob));
        assert_eq!(
            limiter.permits.lock().unwrap().len(),
            1,
            "principals without calls are removed by the next call"
        );
    }
}
