//! The requests that wait for an answer.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::Notify;

/// The requests that wait for an answer.
pub(super) struct Open {
    ids: Mutex<HashSet<RequestId>>,
    most: usize,
    ended: Notify,
}

/// What a server says that is too busy.
const BUSY: ErrorCode = ErrorCode(-32_000);

impl Open {
    pub(super) fn new(most: usize) -> Self {
        Self { ids: Mutex::default(), most, ended: Notify::new() }
    }

    /// Notes that a request came.
    ///
    /// # Errors
    /// When one with its id waits already, or too many do: what the client is told.
    pub(super) fn begin(&self, id: &RequestId) -> Result<(), ErrorData> {
        let mut ids = self.ids();
        if ids.contains(id) {
            return Err(ErrorData::invalid_request("a request with this id is still being answered", None));
        }
        if ids.len() >= self.most {
            let message = format!("{} requests are being answered already; send it again when one of them is done", self.most);
            return Err(ErrorData::new(BUSY, message, None));
        }
        ids.insert(id.clone());
        Ok(())
    }

    /// Notes that a request was answered, or given up.
    pub(super) fn end(&self, id: &RequestId) {
        self.ids().remove(id);
        self.ended.notify_one();
    }

    /// Waits until another request may begin. For one who waits at a time.
    pub(super) async fn room(&self) {
        while self.ids().len() >= self.most {
            self.ended.notified().await;
        }
    }

    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.ids().contains(id)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_open_once_and_not_too_many_are() {
        let open = Open::new(2);
        let id = |number: i64| RequestId::Number(number);
        assert!(open.begin(&id(1)).is_ok());
        assert!(open.begin(&id(1)).is_err());
        assert!(open.begin(&RequestId::String("1".into())).is_ok());
        assert_eq!(open.begin(&id(3)).unwrap_err().code, BUSY);
        open.end(&id(1));
        assert!(!open.has(&id(1)));
        assert!(open.begin(&id(1)).is_ok());
    }
}
