//! Requests in flight.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use skills_threads::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// JSON-RPC error code of an overloaded server.
const BUSY_CODE: ErrorCode = ErrorCode(-32_000);

/// The requests that await a response, or are still running after a cancellation.
pub(super) struct InFlight {
    requests: Mutex<HashMap<RequestId, Request>>,
    permits: Arc<Semaphore>,
    max: usize,
    /// Cancels all requests, which are still answered.
    stop: CancellationToken,
}

/// A request, which holds a permit until it is removed.
struct Request {
    state: RequestState,
    cancellation: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    /// It is running.
    Running,
    /// The client cancelled it. It is running, and its response will be dropped.
    Cancelled,
    /// Its response is being written.
    Answered,
}

impl InFlight {
    pub(super) fn new(max: usize, stop: CancellationToken) -> Self {
        Self {
            requests: Mutex::default(),
            permits: Arc::new(Semaphore::new(max)),
            max,
            stop,
        }
    }

    /// Waits for a free permit.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Registers a request with its permit.
    ///
    /// # Errors
    /// Fails if its id is in use, or there was no permit: the error for the client.
    pub(super) fn begin(
        &self,
        id: &RequestId,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<(), ErrorData> {
        let mut requests = lock(&self.requests);
        let Entry::Vacant(entry) = requests.entry(id.clone()) else {
            // Two requests with one id could not be told apart by their responses.
            return Err(ErrorData::invalid_request("duplicate request id", None));
        };
        let permit = permit.ok_or_else(|| {
            let max = self.max;
            let message = format!("too many concurrent requests (limit {max}); retry later");
            ErrorData::new(BUSY_CODE, message, None)
        })?;
        entry.insert(Request {
            state: RequestState::Running,
            cancellation: self.stop.child_token(),
            _permit: permit,
        });
        Ok(())
    }

    /// Returns the token that is cancelled with a request.
    pub(super) fn cancellation(&self, id: &RequestId) -> CancellationToken {
        let requests = lock(&self.requests);
        let request = requests.get(id);
        request.map_or_else(CancellationToken::new, |request| {
            request.cancellation.clone()
        })
    }

    /// Cancels a request, unless it is too late: a response that is being written is still sent.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(request) = lock(&self.requests).get_mut(id)
            && request.state == RequestState::Running
        {
            request.state = RequestState::Cancelled;
            request.cancellation.cancel();
        }
    }

    /// Marks a request as answered, or removes it if it was cancelled. Returns whether its response
    /// is sent.
    pub(super) fn answer(&self, id: &RequestId) -> bool {
        let mut requests = lock(&self.requests);
        let Entry::Occupied(mut request) = requests.entry(id.clone()) else {
            return true;
        };
        let is_wanted = request.get().state != RequestState::Cancelled;
        if is_wanted {
            request.get_mut().state = RequestState::Answered;
        } else {
            request.remove();
        }
        is_wanted
    }

    /// Removes a request whose response is written.
    pub(super) fn end(&self, id: &RequestId) {
        lock(&self.requests).remove(id);
    }

    /// Returns true if a request with this id will be answered.
    pub(super) fn is_awaited(&self, id: &RequestId) -> bool {
        let requests = lock(&self.requests);
        let request = requests.get(id);
        request.is_some_and(|request| request.state != RequestState::Cancelled)
    }

    #[cfg(test)]
    pub(super) fn contains(&self, id: &RequestId) -> bool {
        lock(&self.requests).contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    async fn begin(in_flight: &InFlight, id: &RequestId) -> Result<(), ErrorCode> {
        let permit = timeout(std::time::Duration::ZERO, in_flight.permit()).await;
        let begun = in_flight.begin(id, permit.ok().flatten());
        begun.map_err(|error| error.code)
    }

    #[tokio::test]
    async fn ids_are_unique_and_their_number_is_limited() {
        let open = InFlight::new(2, CancellationToken::new());
        assert_eq!(begin(&open, &id(1)).await, Ok(()));
        assert_eq!(
            begin(&open, &id(1)).await,
            Err(ErrorCode::INVALID_REQUEST),
            "it is in use"
        );
        assert_eq!(
            begin(&open, &RequestId::String("1".into())).await,
            Ok(()),
            "a string is another id"
        );
        assert_eq!(begin(&open, &id(3)).await, Err(BUSY_CODE));
        open.end(&id(1));
        assert!(!open.contains(&id(1)));
        assert_eq!(begin(&open, &id(1)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_cancelled_request_keeps_its_permit_until_its_response_is_dropped() {
        let open = InFlight::new(1, CancellationToken::new());
        begin(&open, &id(1)).await.unwrap();
        let cancellation = open.cancellation(&id(1));
        open.cancel(&id(1));
        assert!(cancellation.is_cancelled());
        assert!(open.contains(&id(1)) && !open.is_awaited(&id(1)));
        assert_eq!(begin(&open, &id(2)).await, Err(BUSY_CODE));
        assert!(!open.answer(&id(1)), "its response is dropped");
        assert_eq!(begin(&open, &id(1)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_response_that_is_being_written_is_not_cancelled() {
        let open = InFlight::new(1, CancellationToken::new());
        begin(&open, &id(1)).await.unwrap();
        assert!(open.answer(&id(1)));
        open.cancel(&id(1));
        assert!(open.is_awaited(&id(1)));
        open.cancel(&id(2));
        assert!(!open.contains(&id(2)), "it was not started");
    }

    #[tokio::test]
    async fn stopped_requests_are_answered() {
        let stop = CancellationToken::new();
        let open = InFlight::new(1, stop.clone());
        begin(&open, &id(1)).await.unwrap();
        stop.cancel();
        assert!(open.cancellation(&id(1)).is_cancelled());
        assert!(open.answer(&id(1)));
    }
}
