//! A question that a client shows to its user.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitResult, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use skills_tools::runtime::policy::BoxError;
use tokio::sync::oneshot::Receiver;

use super::Elicitation;

/// How long a client is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(290);

/// A question that a client shows to its user. Dropped without an answer, it tells the client to
/// take it away.
pub(super) struct PendingElicitation {
    response: Option<Receiver<Result<ClientResult, ServiceError>>>,
    peer: Peer<RoleServer>,
    id: RequestId,
    is_pending: bool,
}

impl PendingElicitation {
    /// Asks.
    ///
    /// # Errors
    /// When the client cannot be reached.
    pub(super) async fn send(peer: &Peer<RoleServer>, ask: &Elicitation) -> Result<Self, BoxError> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(ask.form_params()?));
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

    /// Awaits the answer.
    ///
    /// # Errors
    /// When the client has gone, does not answer in time, or answers something else.
    pub(super) async fn response(mut self) -> Result<ElicitResult, BoxError> {
        let Some(answer) = self.response.take() else {
            return Err("the question was answered before".into());
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, answer)
            .await
            .map_err(|_| "the client gave no answer in time")?;
        self.is_pending = false;
        match answer.map_err(|_| "the client has gone")? {
            Ok(ClientResult::ElicitResult(result)) => Ok(result),
            Ok(_) => Err("the client answered something else".into()),
            Err(error) => Err(format!("the client gave no answer: {error}").into()),
        }
    }
}

impl Drop for PendingElicitation {
    fn drop(&mut self) {
        let Some(executor) = tokio::runtime::Handle::try_current()
            .ok()
            .filter(|_| self.is_pending)
        else {
            return;
        };
        let reason = "nobody waits for the answer any more".to_owned();
        let (peer, cancelled) = (
            self.peer.clone(),
            CancelledNotificationParam::new(Some(self.id.clone()), Some(reason)),
        );
        // One that has gone needs not be told.
        executor.spawn(async move { peer.notify_cancelled(cancelled).await });
    }
}
