//! Requests in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The requests that await a response, or are still running after a cancellation.
pub(super) struct InFlight {
    requests: Mutex<HashMap<RequestId, RequestState>>,
    max: usize,
    request_ended: Notify,
}

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    /// It is running.
    Running,
    /// It is running, and its response will be dropped.
    Cancelled,
    /// Its response is being written.
    Answered,
    /// It was cancelled and has finished. The id stays reserved until then, since rmcp drops late
    /// responses by id.
    Draining(Instant),
}

/// Guard of a running request. Dropped before completion, the request has no response.
pub(super) struct RequestGuard {
    in_flight: Arc<InFlight>,
    id: RequestId,
    is_answered: bool,
}

/// How long the response of a cancelled request may be delayed before rmcp drops it. rmcp
/// identifies responses by id only: the response of another request with this id would be dropped
/// instead.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// JSON-RPC error code of an overloaded server.
const BUSY_CODE: ErrorCode = ErrorCode(-32_000);

impl InFlight {
    pub(super) fn new(max: usize) -> Self {
        Self {
            requests: Mutex::default(),
            max,
            request_ended: Notify::new(),
        }
    }

    /// Registers a request.
    ///
    /// # Errors
    /// If its id is in use, or there are too many requests: the error for the client.
    pub(super) fn begin(&self, id: &RequestId) -> Result<(), ErrorData> {
        let mut requests = self.requests();
        // Two requests with one id could not be told apart by their responses.
        if requests.contains_key(id) {
            return Err(ErrorData::invalid_request("duplicate request id", None));
        }
        if requests.len() >= self.max {
            let message = format!(
                "too many concurrent requests (limit {}); retry later",
                self.max
            );
            return Err(ErrorData::new(BUSY_CODE, message, None));
        }
        requests.insert(id.clone(), RequestState::Running);
        Ok(())
    }

    /// Marks a request as running.
    pub(super) fn start_work(self: &Arc<Self>, id: &RequestId) -> RequestGuard {
        RequestGuard {
            in_flight: Arc::clone(self),
            id: id.clone(),
            is_answered: false,
        }
    }

    /// Cancels a request. Returns `false` if it is too late: a response that is being written is
    /// still sent.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        match self.requests().get_mut(id) {
            Some(state @ (RequestState::Running | RequestState::Cancelled)) => {
                *state = RequestState::Cancelled;
                true
            }
            _ => false,
        }
    }

    /// Removes a request that was answered, or never will be.
    pub(super) fn end(&self, id: &RequestId) {
        self.requests().remove(id);
        self.request_ended.notify_one();
    }

    /// Waits for a free slot. Supports one waiting task at a time.
    pub(super) async fn slot(&self) {
        // A loop, since another request may have taken the slot in the meantime.
        while let Some(expiry) = self.next_expiry() {
            tokio::select! {
                () = self.request_ended.notified() => {}
                () = sleep_until(expiry) => {}
            }
        }
    }

    /// Returns when the next slot may become free without an event, if all are taken.
    fn next_expiry(&self) -> Option<Instant> {
        let requests = self.requests();
        let expiry = requests.values().filter_map(|state| {
            if let RequestState::Draining(until) = state {
                Some(*until)
            } else {
                None
            }
        });
        (requests.len() >= self.max).then(|| {
            expiry
                .min()
                .unwrap_or_else(|| Instant::now() + CANCEL_GRACE)
        })
    }

    /// Returns whether a request with this id will be answered.
    pub(super) fn is_awaited(&self, id: &RequestId) -> bool {
        matches!(
            self.requests().get(id),
            Some(RequestState::Running | RequestState::Answered)
        )
    }

    #[cfg(test)]
    pub(super) fn contains(&self, id: &RequestId) -> bool {
        self.requests().contains_key(id)
    }

    // Expired entries are removed on access, so no timer is needed.
    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, RequestState>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        requests
            .retain(|_, state| !matches!(state, RequestState::Draining(until) if *until <= now));
        requests
    }
}

impl RequestGuard {
    /// Marks the request as answered. It is removed when the response is written.
    pub(super) fn complete(mut self) {
        if let Some(state) = self
            .in_flight
            .requests()
            .get_mut(&self.id)
            .filter(|state| **state == RequestState::Running)
        {
            *state = RequestState::Answered;
            self.is_answered = true;
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        if let Some(state) = self
            .in_flight
            .requests()
            .get_mut(&self.id)
            .filter(|state| **state == RequestState::Cancelled)
        {
            *state = RequestState::Draining(Instant::now() + CANCEL_GRACE);
        } else {
            self.in_flight.end(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn ids_are_unique_and_their_number_is_limited() {
        let open = InFlight::new(2);
        assert!(open.begin(&id(1)).is_ok());
        assert!(open.begin(&id(1)).is_err());
        assert!(open.begin(&RequestId::String("1".into())).is_ok());
        assert_eq!(open.begin(&id(3)).unwrap_err().code, BUSY_CODE);
        open.end(&id(1));
        assert!(!open.contains(&id(1)));
        assert!(open.begin(&id(1)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_request_keeps_its_slot_until_its_response_is_dropped() {
        let open = Arc::new(InFlight::new(1));
        for is_done in [true, false] {
            open.begin(&id(1)).unwrap();
            let work = open.start_work(&id(1));
            assert!(open.cancel(&id(1)) && open.contains(&id(1)));
            if is_done {
                tokio::time::sleep(2 * CANCEL_GRACE).await;
                assert!(open.contains(&id(1)), "it is worked on");
                work.complete();
            } else {
                drop(work);
            }
            let before = Instant::now();
            assert!(
                !open.is_awaited(&id(1))
                    && open.contains(&id(1))
                    && !open.cancel(&id(1))
                    && open.begin(&id(2)).is_err()
            );
            open.slot().await;
            assert!(before.elapsed() >= CANCEL_GRACE);
            assert!(!open.contains(&id(1)));
        }
    }

    #[test]
    fn running_requests_end_with_or_without_a_response() {
        let open = Arc::new(InFlight::new(2));
        open.begin(&id(2)).unwrap();
        open.start_work(&id(2)).complete();
        assert!(!open.cancel(&id(2)), "its answer is on its way");
        assert!(open.contains(&id(2)));
        open.end(&id(2));

        open.begin(&id(3)).unwrap();
        drop(open.start_work(&id(3)));
        assert!(!open.contains(&id(3)), "it will not be answered");
        assert!(!open.cancel(&id(4)), "it was not started");
    }
}
