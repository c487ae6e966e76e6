//! An approval prompt that a client is showing.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitResult, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use skills_tools::runtime::policy::BoxError;
use tokio::sync::oneshot::Receiver;

use super::Elicitation;

/// How long a response is awaited.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(290);

/// An approval prompt that a client is showing. Dropped without a response, it cancels the prompt.
pub(super) struct PendingElicitation {
    response: Option<Receiver<Result<ClientResult, ServiceError>>>,
    peer: Peer<RoleServer>,
    id: RequestId,
    is_pending: bool,
}

impl PendingElicitation {
    /// Sends the prompt.
    ///
    /// # Errors
    /// If the client cannot be reached.
    pub(super) async fn send(
        peer: &Peer<RoleServer>,
        elicitation: &Elicitation,
    ) -> Result<Self, BoxError> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(elicitation.form_params()?));
        let RequestHandle { rx, id, .. } = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        Ok(Self {
            response: Some(rx),
            peer: peer.clone(),
            id,
            is_pending: true,
        })
    }

    /// Awaits the response.
    ///
    /// # Errors
    /// If the client disconnects, does not respond in time, or sends an invalid response.
    pub(super) async fn response(mut self) -> Result<ElicitResult, BoxError> {
        let Some(answer) = self.response.take() else {
            return Err("the prompt was already answered".into());
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, answer)
            .await
            .map_err(|_| "no answer within 290 s")?;
        // Any response ends the prompt on the client, so dropping this need not cancel it.
        self.is_pending = false;
        match answer.map_err(|_| "the client disconnected")? {
            Ok(ClientResult::ElicitResult(result)) => Ok(result),
            Ok(_) => Err("the client sent an invalid response".into()),
            Err(error) => Err(format!("the client rejected the prompt: {error}").into()),
        }
    }
}

impl Drop for PendingElicitation {
    fn drop(&mut self) {
        // Outside of a runtime nothing can be sent; the client notices when the connection closes.
        let Some(runtime) = tokio::runtime::Handle::try_current()
            .ok()
            .filter(|_| self.is_pending)
        else {
            return;
        };
        let reason = "the answer is no longer awaited".to_owned();
        let (peer, cancelled) = (
            self.peer.clone(),
            CancelledNotificationParam::new(Some(self.id.clone()), Some(reason)),
        );
        // A disconnected client need not be notified.
        runtime.spawn(async move { peer.notify_cancelled(cancelled).await });
    }
}
