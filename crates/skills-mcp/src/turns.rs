//! How many calls of one caller are answered at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Principal;

/// How many calls of one caller are answered at a time.
pub(crate) struct Turns {
    most: usize,
    running: Arc<Mutex<HashMap<Principal, usize>>>,
}

/// A call that is being answered; it counts as long as this lives.
pub(crate) struct Turn {
    principal: Principal,
    running: Arc<Mutex<HashMap<Principal, usize>>>,
}

impl Turns {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            running: Arc::default(),
        }
    }

    /// Begins a call; nothing when the caller has too many already.
    pub(crate) fn begin(&self, principal: &Principal) -> Option<Turn> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(principal.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Turn {
            principal: principal.clone(),
            running: Arc::clone(&self.running),
        })
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.principal) {
            *count -= 1;
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
    fn each_caller_has_turns_of_its_own() {
        let turns = Turns::new(2);
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let first = turns.begin(&alice);
        let second = turns.begin(&alice);
        assert!(first.is_some() && second.is_some());
        assert!(turns.begin(&alice).is_none());
        assert!(turns.begin(&bob).is_some());
        drop(first);
        assert!(turns.begin(&alice).is_some());
        drop(second);
        assert!(
            turns.running.lock().unwrap().is_empty(),
            "nobody is remembered who has no call"
        );
    }
}
