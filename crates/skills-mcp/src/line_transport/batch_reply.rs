//! The reply to a batch.

use std::sync::{Mutex, PoisonError};

use rmcp::model::{RequestId, ServerJsonRpcMessage};

/// Collects the responses to a batch, which are sent as an array when all are known.
///
/// Each request that is not answered yet shares it, and the transport while it reads the batch. The
/// last one sends it.
#[derive(Debug, Default)]
pub(super) struct BatchReply(Mutex<Responses>);

/// Responses in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// The elements of the array, separated by commas.
    elements: Vec<u8>,
    /// The requests that are answered.
    pub(super) ids: Vec<RequestId>,
}

impl BatchReply {
    /// Adds a response, or an error without a request.
    ///
    /// # Errors
    /// Fails if it cannot be serialized.
    pub(super) fn push(
        &self,
        message: &ServerJsonRpcMessage,
        id: Option<RequestId>,
    ) -> serde_json::Result<()> {
        let element = serde_json::to_vec(message)?;
        let mut responses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !responses.elements.is_empty() {
            responses.elements.push(b',');
        }
        responses.elements.extend(element);
        responses.ids.extend(id);
        Ok(())
    }

    /// Returns the responses; `None` if there are none, because the batch has no requests or all
    /// were cancelled.
    pub(super) fn into_responses(self) -> Option<Responses> {
        let responses = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!responses.elements.is_empty()).then_some(responses)
    }
}

impl Responses {
    /// Returns the array as a line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        [b"[", self.elements.as_slice(), b"]\n"].concat()
    }
}
