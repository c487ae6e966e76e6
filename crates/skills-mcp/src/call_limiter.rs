//! Limit of concurrent calls per principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Principal;

/// Limits the number of concurrent calls per principal.
pub(crate) struct CallLimiter {
    max: usize,
    running: Arc<Mutex<HashMap<Principal, usize>>>,
}

/// A permit for one call, released on drop.
pub(crate) struct CallPermit {
    principal: Principal,
    running: Arc<Mutex<HashMap<Principal, usize>>>,
}

impl CallLimiter {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            running: Arc::default(),
        }
    }

    /// Acquires a permit. Returns `None` if the principal is at its limit.
    pub(crate) fn try_acquire(&self, principal: &Principal) -> Option<CallPermit> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(principal.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(CallPermit {
            principal: principal.clone(),
            running: Arc::clone(&self.running),
        })
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.principal) {
            *count -= 1;
            // Removed at zero, so that the map does not grow with every principal that ever called.
            if *count == 0 {
                running.remove(&self.principal);
            }
        }
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
        assert!(
            limiter.running.lock().unwrap().is_empty(),
            "principals without calls are removed"
        );
    }
}
