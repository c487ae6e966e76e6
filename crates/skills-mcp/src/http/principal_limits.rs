//! Limits per principal.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body_budget::BodyBudget;
use super::limits::HttpLimits;
use super::rejection::Rejection;
use crate::Principal;

#[derive(Debug)]
pub(super) struct PrincipalLimits {
    pub(super) principal: Principal,
    rate: DefaultDirectRateLimiter,
    calls: Arc<Semaphore>,
    /// Apart from calls, so that slow programs do not block lists and reads.
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// The memory budget of its request bodies.
    pub(super) body_budget: BodyBudget,
}

impl PrincipalLimits {
    pub(super) fn new(principal: Principal, limits: &HttpLimits, body_budget: &BodyBudget) -> Self {
        let permits = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self {
            principal,
            rate: DefaultDirectRateLimiter::direct(Quota::per_second(limits.requests_per_second)),
            calls: permits(limits.max_concurrent_requests),
            requests: permits(limits.max_concurrent_requests),
            streams: permits(limits.max_streams),
            body_budget: body_budget.for_principal(),
        }
    }

    /// Returns the limits of the principal of an authenticated request.
    pub(super) fn of(request: &Request) -> Result<&Self, Rejection> {
        let limits = request.extensions().get::<Arc<Self>>();
        limits.map(AsRef::as_ref).ok_or(Rejection::Internal)
    }

    /// Counts a request, or rejects it if the rate limit is exceeded.
    pub(super) fn check_rate(&self) -> Result<(), Rejection> {
        self.rate.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Rejection::RateLimited {
                // Rounded up: a client that retries exactly then must succeed.
                seconds: wait.as_secs() + 1,
            }
        })
    }

    /// Acquires a permit for a tool call, waiting up to [`QUEUE_TIMEOUT`]; dropping it releases the
    /// permit.
    pub(super) async fn acquire_call(&self) -> Result<OwnedSemaphorePermit, Rejection> {
        acquire(&self.calls).await
    }

    /// Acquires a permit for another request, waiting up to [`QUEUE_TIMEOUT`]; dropping it releases
    /// the permit.
    pub(super) async fn acquire_request(&self) -> Result<OwnedSemaphorePermit, Rejection> {
        acquire(&self.requests).await
    }

    /// Acquires a permit for a stream; dropping it releases the permit.
    pub(super) fn acquire_stream(&self) -> Result<OwnedSemaphorePermit, Rejection> {
        // Without waiting, since streams last long.
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| Rejection::TooManyConcurrent)
    }
}

/// How long a request waits for a permit before it is rejected. The number of waiting requests is
/// limited by the number of connections.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);

async fn acquire(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Rejection> {
    let permit = Arc::clone(semaphore).acquire_owned();
    let permit = tokio::time::timeout(QUEUE_TIMEOUT, permit).await;
    let permit = permit.ok().and_then(Result::ok);
    permit.ok_or(Rejection::TooManyConcurrent)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn account(limits: &HttpLimits) -> PrincipalLimits {
        PrincipalLimits::new(
            Principal::local(),
            limits,
            &BodyBudget::new(1, limits.max_request_body_bytes),
        )
    }

    #[test]
    fn the_request_rate_is_limited() {
        let account = account(&HttpLimits {
            requests_per_second: NonZeroU32::MIN,
            ..HttpLimits::default()
        });
        assert_eq!(account.check_rate(), Ok(()));
        let refused = (0..1_000).find_map(|_| account.check_rate().err());
        assert!(
            matches!(refused, Some(Rejection::RateLimited { seconds: 1 | 2 })),
            "{refused:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn permits_are_released() {
        let account = account(&HttpLimits {
            max_concurrent_requests: 1,
            max_streams: 1,
            ..HttpLimits::default()
        });
        let call = account.acquire_call().await.unwrap();
        assert!(matches!(
            account.acquire_call().await,
            Err(Rejection::TooManyConcurrent)
        ));
        assert!(
            account.acquire_request().await.is_ok(),
            "calls do not block requests"
        );
        assert!(
            account.acquire_stream().is_ok(),
            "calls do not block streams"
        );
        let release = async {
            tokio::time::sleep(QUEUE_TIMEOUT / 2).await;
            drop(call);
        };
        let (waiting, ()) = tokio::join!(account.acquire_call(), release);
        assert!(waiting.is_ok(), "a call waits for another one to end");
    }
}
