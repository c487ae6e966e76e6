//! How much memory the bodies of requests may take.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rejection::Rejection;

/// Room for the bodies of a principal's requests, which is part of the room for those of all.
///
/// Small bodies take none: the number of connections bounds them, and so an answer that a call
/// waits for is never kept out by long bodies.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget {
    total: Arc<Semaphore>,
    principal: Arc<Semaphore>,
    principal_kibibytes: u32,
}

/// Part of the room, which is given back when this is dropped.
#[derive(Debug)]
pub(super) struct BodyPermit {
    _total: OwnedSemaphorePermit,
    _principal: OwnedSemaphorePermit,
}

impl BodyBudget {
    /// Makes room for so many principals. Of several, each has half of all, so that none keeps out
    /// all others.
    pub(super) fn new(principals: usize, max_body_bytes: usize) -> Self {
        let all = BUDGET_KIBIBYTES.max(to_kibibytes(max_body_bytes).saturating_mul(2));
        let own_kibibytes = if principals > 1 { all / 2 } else { all };
        Self {
            total: semaphore(all),
            principal: semaphore(own_kibibytes),
            principal_kibibytes: own_kibibytes,
        }
    }

    /// Returns the room of another principal.
    pub(super) fn for_principal(&self) -> Self {
        Self {
            principal: semaphore(self.principal_kibibytes),
            ..self.clone()
        }
    }

    /// Takes room for a body, and waits a little until there is some.
    pub(super) async fn acquire(&self, bytes: usize) -> Result<BodyPermit, Rejection> {
        let kibibytes = to_kibibytes(bytes).min(self.principal_kibibytes);
        let taken = async {
            // Its own first: whoever waits for that takes nothing from others.
            let own = self.principal.clone().acquire_many_owned(kibibytes).await?;
            let all = self.total.clone().acquire_many_owned(kibibytes).await?;
            Ok::<_, tokio::sync::AcquireError>(BodyPermit {
                _total: all,
                _principal: own,
            })
        };
        tokio::time::timeout(ACQUIRE_TIMEOUT, taken)
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or(Rejection::TooManyConcurrent)
    }
}

/// Up to this length a body needs no room.
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

    async fn has_room(room: &BodyBudget, bytes: usize) -> bool {
        matches!(
            tokio::time::timeout(Duration::ZERO, room.acquire(bytes)).await,
            Ok(Ok(_))
        )
    }

    #[tokio::test]
    async fn bodies_wait_for_room() {
        let room = &BodyBudget::new(1, 4 * MIB);
        let mut taken = vec![];
        for _ in 0..16 {
            taken.push(room.acquire(4 * MIB).await.unwrap());
        }
        assert!(!has_room(room, MIB).await);
        taken.pop();
        assert!(has_room(room, 4 * MIB).await);
    }

    #[tokio::test]
    async fn no_principal_takes_all_of_it() {
        let one = &BodyBudget::new(3, 4 * MIB);
        let two = &one.for_principal();
        let _taken = one.acquire(32 * MIB).await.unwrap();
        assert!(!has_room(one, MIB).await);
        assert!(has_room(two, 32 * MIB).await);
    }

    #[tokio::test]
    async fn there_is_room_for_the_longest_body() {
        for max_body_bytes in [100 * MIB, usize::MAX] {
            assert!(has_room(&BodyBudget::new(2, max_body_bytes), max_body_bytes).await);
        }
    }
}
