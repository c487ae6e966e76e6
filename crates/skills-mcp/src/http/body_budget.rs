//! Memory budget for request bodies.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::rejection::Rejection;

/// Memory budget for the request bodies of a principal, which is part of a global budget.
///
/// Small bodies need no permit: their number is limited by the number of connections. Large bodies
/// can therefore not delay a response that a call waits for.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget {
    total: Arc<Semaphore>,
    principal: Arc<Semaphore>,
    principal_kibibytes: u32,
}

/// A part of the budget of the principal and of the total, released on drop.
pub(super) type BodyPermit = [OwnedSemaphorePermit; 2];

impl BodyBudget {
    /// Creates the budget for a number of principals. If there are several, each can use half of
    /// the total, so that none blocks all others.
    pub(super) fn new(principals: usize, max_body_bytes: usize) -> Self {
        // Twice the largest body, so that two principals can send one at the same time.
        let all = BUDGET_KIBIBYTES.max(to_kibibytes(max_body_bytes).saturating_mul(2));
        let own_kibibytes = if principals > 1 { all / 2 } else { all };
        Self {
            total: semaphore(all),
            principal: semaphore(own_kibibytes),
            principal_kibibytes: own_kibibytes,
        }
    }

    /// Returns the budget of another principal.
    pub(super) fn for_principal(&self) -> Self {
        Self {
            principal: semaphore(self.principal_kibibytes),
            ..self.clone()
        }
    }

    /// Acquires memory for a body; waits for a short time if none is available.
    pub(super) async fn acquire(&self, bytes: usize) -> Result<BodyPermit, Rejection> {
        // A body larger than the budget would wait forever; the body limit applies to it anyway.
        let kibibytes = to_kibibytes(bytes).min(self.principal_kibibytes);
        let permits = async {
            // The principal's own budget first: waiting for it takes nothing from others.
            let own = self.principal.clone().acquire_many_owned(kibibytes).await?;
            let all = self.total.clone().acquire_many_owned(kibibytes).await?;
            Ok::<_, AcquireError>([own, all])
        };
        let permits = tokio::time::timeout(ACQUIRE_TIMEOUT, permits).await;
        permits
            .ok()
            .and_then(Result::ok)
            .ok_or(Rejection::TooManyConcurrent)
    }
}

/// Maximum size of a body that needs no permit.
pub(super) const UNBUDGETED_BYTES: usize = 16 << 10;

const BUDGET_KIBIBYTES: u32 = 64 << 10;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

fn semaphore(kibibytes: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(
        (kibibytes as usize).min(Semaphore::MAX_PERMITS),
    ))
}

fn to_kibibytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    async fn has_budget(budget: &BodyBudget, bytes: usize) -> bool {
        matches!(
            tokio::time::timeout(Duration::ZERO, budget.acquire(bytes)).await,
            Ok(Ok(_))
        )
    }

    #[tokio::test]
    async fn bodies_wait_for_the_budget() {
        let budget = &BodyBudget::new(1, 4 * MIB);
        let mut taken = vec![];
        for _ in 0..16 {
            taken.push(budget.acquire(4 * MIB).await.unwrap());
        }
        assert!(!has_budget(budget, MIB).await);
        taken.pop();
        assert!(has_budget(budget, 4 * MIB).await);
    }

    #[tokio::test]
    async fn no_principal_can_use_the_whole_budget() {
        let one = &BodyBudget::new(3, 4 * MIB);
        let two = &one.for_principal();
        let _taken = one.acquire(32 * MIB).await.unwrap();
        assert!(!has_budget(one, MIB).await);
        assert!(has_budget(two, 32 * MIB).await);
    }

    #[tokio::test]
    async fn the_longest_body_fits_the_budget() {
        for max_body_bytes in [100 * MIB, usize::MAX] {
            assert!(has_budget(&BodyBudget::new(2, max_body_bytes), max_body_bytes).await);
        }
    }
}
