//! What one principal may use up.

use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use super::refusal::Refusal;
use super::room::Room;
use crate::principal::Principal;

/// A principal and what is left of its limits.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) principal: Principal,
    rate: DefaultDirectRateLimiter,
    calls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// For the bodies of its requests.
    pub(super) room: Room,
}

impl Account {
    pub(super) fn new(principal: Principal, limits: &Limits, room: &Room) -> Self {
        let permits = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self {
            principal,
            rate: DefaultDirectRateLimiter::direct(Quota::per_second(limits.requests_per_second)),
            calls: permits(limits.concurrency),
            streams: permits(limits.streams),
            room: room.for_another(),
        }
    }

    /// Counts a request, unless too many came of late.
    pub(super) fn count(&self) -> Result<(), Refusal> {
        self.rate.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Refusal::Rate {
                seconds: wait.as_secs() + 1,
            }
        })
    }

    /// Takes one of the places for requests that are being answered, until the permit is dropped.
    ///
    /// A client may have the last byte of an answer a moment before its place is given back, so
    /// this waits that long.
    pub(super) async fn call(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let place = tokio::time::timeout(MOMENT, self.calls.clone().acquire_owned()).await;
        place.ok().and_then(Result::ok).ok_or(Refusal::Busy)
    }

    /// Takes one of the places for streams that are listened to, until the permit is dropped.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        self.streams
            .clone()
            .try_acquire_owned()
            .map_err(|_| Refusal::Busy)
    }
}

const MOMENT: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn account(limits: &Limits) -> Account {
        Account::new(
            Principal::local(),
            limits,
            &Room::new(1, limits.max_body_bytes),
        )
    }

    #[test]
    fn floods_are_stopped() {
        let account = account(&Limits {
            requests_per_second: NonZeroU32::MIN,
            ..Limits::default()
        });
        assert_eq!(account.count(), Ok(()));
        let refused = (0..1_000).find_map(|_| account.count().err());
        assert!(
            matches!(refused, Some(Refusal::Rate { seconds: 1 | 2 })),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn places_are_given_back() {
        let account = account(&Limits {
            concurrency: 1,
            streams: 1,
            ..Limits::default()
        });
        let call = account.call().await.unwrap();
        assert!(matches!(account.call().await, Err(Refusal::Busy)));
        assert!(
            account.stream().is_ok(),
            "streams do not take the places of calls"
        );
        drop(call);
        assert!(account.call().await.is_ok());
    }
}
