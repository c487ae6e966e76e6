//! The requests that wait for an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The requests that wait for an answer, or are still worked on though nobody waits any more.
pub(super) struct InFlight {
    requests: Mutex<HashMap<RequestId, RequestState>>,
    max: usize,
    request_ended: Notify,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    /// It is worked on.
    Running,
    /// It is worked on, and its answer is for nobody.
    Cancelled,
    /// Its answer is on its way.
    Answered,
    /// Nobody works on it any more, and its answer is for nobody, but may still be about until
    /// then.
    Draining(Instant),
}

/// Work on a request. Dropped before it is done, there will be no answer.
pub(super) struct RequestGuard {
    in_flight: Arc<InFlight>,
    id: RequestId,
    is_answered: bool,
}

/// How long the answer of a request that was given up may be about before the protocol's library
/// drops it. It knows answers by their ids alone: that of another request with this id would be
/// dropped instead.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// What a server says that is too busy.
const BUSY_CODE: ErrorCode = ErrorCode(-32_000);

impl InFlight {
    pub(super) fn new(most: usize) -> Self {
        Self {
            requests: Mutex::default(),
            max: most,
            request_ended: Notify::new(),
        }
    }

    /// Notes that a request came.
    ///
    /// # Errors
    /// When one with its id is open already, or too many are: what the client is told.
    pub(super) fn begin(&self, id: &RequestId) -> Result<(), ErrorData> {
        let mut requests = self.requests();
        if requests.contains_key(id) {
            return Err(ErrorData::invalid_request(
                "a request with this id is still being answered",
                None,
            ));
        }
        if requests.len() >= self.max {
            let message = format!(
                "{} requests are being answered already; send it again when one of them is done",
                self.max
            );
            return Err(ErrorData::new(BUSY_CODE, message, None));
        }
        requests.insert(id.clone(), RequestState::Running);
        Ok(())
    }

    /// Notes that work on a request begins.
    pub(super) fn start_work(self: &Arc<Self>, id: &RequestId) -> RequestGuard {
        RequestGuard {
            in_flight: Arc::clone(self),
            id: id.clone(),
            is_answered: false,
        }
    }

    /// Notes that nobody waits for the answer any more, and says whether that can still be heeded:
    /// an answer that is on its way comes.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        match self.requests().get_mut(id) {
            Some(state @ (RequestState::Running | RequestState::Cancelled)) => {
                *state = RequestState::Cancelled;
                true
            }
            _ => false,
        }
    }

    /// Notes that a request was answered, or never will be.
    pub(super) fn end(&self, id: &RequestId) {
        self.requests().remove(id);
        self.request_ended.notify_one();
    }

    /// Waits until another request may begin. For one who waits at a time.
    pub(super) async fn slot(&self) {
        while let Some(over) = self.next_expiry() {
            tokio::select! {
                () = self.request_ended.notified() => {}
                () = sleep_until(over) => {}
            }
        }
    }

    /// When no place is left: the time at which one may come free though nothing ends.
    fn next_expiry(&self) -> Option<Instant> {
        let requests = self.requests();
        let over = requests.values().filter_map(|state| {
            if let RequestState::Draining(until) = state {
                Some(*until)
            } else {
                None
            }
        });
        (requests.len() >= self.max)
            .then(|| over.min().unwrap_or_else(|| Instant::now() + CANCEL_GRACE))
    }

    /// Says whether a request with this id will be answered.
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

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, RequestState>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        requests
            .retain(|_, state| !matches!(state, RequestState::Draining(until) if *until <= now));
        requests
    }
}

impl RequestGuard {
    /// Notes that there is an answer. The request ends when its turn to be written comes.
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
    fn each_id_is_open_once_and_not_too_many_are() {
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
    async fn what_is_given_up_takes_its_place_until_its_answer_is_dropped() {
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
    fn work_ends_with_an_answer_or_without() {
        let open = Arc::new(InFlight::new(2));
        open.begin(&id(2)).unwrap();
        open.start_work(&id(2)).complete();
        assert!(!open.cancel(&id(2)), "its answer is on its way");
        assert!(open.contains(&id(2)));
        open.end(&id(2));

        open.begin(&id(3)).unwrap();
        drop(open.start_work(&id(3)));
        assert!(!open.contains(&id(3)), "there will be no answer");
        assert!(!open.cancel(&id(4)), "nobody began it");
    }
}
