//! The requests that wait for an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The requests that wait for an answer, or are still worked on though nobody waits any more.
pub(super) struct Open {
    requests: Mutex<HashMap<RequestId, State>>,
    most: usize,
    ended: Notify,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is worked on.
    Begun,
    /// It is worked on, and its answer is for nobody.
    GivenUp,
    /// Its answer is on its way.
    Done,
    /// Nobody works on it any more, and its answer is for nobody, but may still be about until
    /// then.
    Over(Instant),
}

/// Work on a request. Dropped before it is done, there will be no answer.
pub(super) struct Work {
    open: Arc<Open>,
    id: RequestId,
    is_done: bool,
}

/// How long the answer of a request that was given up may be about before the protocol's library
/// drops it. It knows answers by their ids alone: that of another request with this id would be
/// dropped instead.
const ABOUT: Duration = Duration::from_secs(1);
/// What a server says that is too busy.
const BUSY: ErrorCode = ErrorCode(-32_000);

impl Open {
    pub(super) fn new(most: usize) -> Self {
        Self {
            requests: Mutex::default(),
            most,
            ended: Notify::new(),
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
        if requests.len() >= self.most {
            let message = format!(
                "{} requests are being answered already; send it again when one of them is done",
                self.most
            );
            return Err(ErrorData::new(BUSY, message, None));
        }
        requests.insert(id.clone(), State::Begun);
        Ok(())
    }

    /// Notes that work on a request begins.
    pub(super) fn work(self: &Arc<Self>, id: &RequestId) -> Work {
        Work {
            open: Arc::clone(self),
            id: id.clone(),
            is_done: false,
        }
    }

    /// Notes that nobody waits for the answer any more, and says whether that can still be heeded:
    /// an answer that is on its way comes.
    pub(super) fn give_up(&self, id: &RequestId) -> bool {
        match self.requests().get_mut(id) {
            Some(state @ (State::Begun | State::GivenUp)) => {
                *state = State::GivenUp;
                true
            }
            _ => false,
        }
    }

    /// Notes that a request was answered, or never will be.
    pub(super) fn end(&self, id: &RequestId) {
        self.requests().remove(id);
        self.ended.notify_one();
    }

    /// Waits until another request may begin. For one who waits at a time.
    pub(super) async fn room(&self) {
        while let Some(over) = self.next_over() {
            tokio::select! {
                () = self.ended.notified() => {}
                () = sleep_until(over) => {}
            }
        }
    }

    /// When no place is left: the time at which one may come free though nothing ends.
    fn next_over(&self) -> Option<Instant> {
        let requests = self.requests();
        let over = requests.values().filter_map(|state| {
            if let State::Over(until) = state {
                Some(*until)
            } else {
                None
            }
        });
        (requests.len() >= self.most).then(|| over.min().unwrap_or_else(|| Instant::now() + ABOUT))
    }

    /// Says whether a request with this id will be answered.
    pub(super) fn is_awaited(&self, id: &RequestId) -> bool {
        matches!(self.requests().get(id), Some(State::Begun | State::Done))
    }

    #[cfg(test)]
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.requests().contains_key(id)
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, State>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        requests.retain(|_, state| !matches!(state, State::Over(until) if *until <= now));
        requests
    }
}

impl Work {
    /// Notes that there is an answer. The request ends when its turn to be written comes.
    pub(super) fn done(mut self) {
        if let Some(state) = self
            .open
            .requests()
            .get_mut(&self.id)
            .filter(|state| **state == State::Begun)
        {
            *state = State::Done;
            self.is_done = true;
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        if let Some(state) = self
            .open
            .requests()
            .get_mut(&self.id)
            .filter(|state| **state == State::GivenUp)
        {
            *state = State::Over(Instant::now() + ABOUT);
        } else {
            self.open.end(&self.id);
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
        let open = Open::new(2);
        assert!(open.begin(&id(1)).is_ok());
        assert!(open.begin(&id(1)).is_err());
        assert!(open.begin(&RequestId::String("1".into())).is_ok());
        assert_eq!(open.begin(&id(3)).unwrap_err().code, BUSY);
        open.end(&id(1));
        assert!(!open.has(&id(1)));
        assert!(open.begin(&id(1)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_up_takes_its_place_until_its_answer_is_dropped() {
        let open = Arc::new(Open::new(1));
        for is_done in [true, false] {
            open.begin(&id(1)).unwrap();
            let work = open.work(&id(1));
            assert!(open.give_up(&id(1)) && open.has(&id(1)));
            if is_done {
                tokio::time::sleep(2 * ABOUT).await;
                assert!(open.has(&id(1)), "it is worked on");
                work.done();
            } else {
                drop(work);
            }
            let before = Instant::now();
            assert!(
                !open.is_awaited(&id(1))
                    && open.has(&id(1))
                    && !open.give_up(&id(1))
                    && open.begin(&id(2)).is_err()
            );
            open.room().await;
            assert!(before.elapsed() >= ABOUT);
            assert!(!open.has(&id(1)));
        }
    }

    #[test]
    fn work_ends_with_an_answer_or_without() {
        let open = Arc::new(Open::new(2));
        open.begin(&id(2)).unwrap();
        open.work(&id(2)).done();
        assert!(!open.give_up(&id(2)), "its answer is on its way");
        assert!(open.has(&id(2)));
        open.end(&id(2));

        open.begin(&id(3)).unwrap();
        drop(open.work(&id(3)));
        assert!(!open.has(&id(3)), "there will be no answer");
        assert!(!open.give_up(&id(4)), "nobody began it");
    }
}
