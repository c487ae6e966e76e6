//! An approval prompt as a request to the client.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle};
use skills_tools::runtime::policy::BoxError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long a response is awaited.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(290);

/// Sends a prompt and returns the response. Dropped before that, it withdraws the prompt from the
/// client.
///
/// # Errors
/// Fails if the client disconnects, does not respond in time, or sends an invalid response.
pub(super) async fn elicit(
    peer: &Peer<RoleServer>,
    form: ElicitRequestParams,
) -> Result<ElicitResult, BoxError> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let RequestHandle { rx, id, .. } = peer
        .send_cancellable_request(request, PeerRequestOptions::no_options())
        .await?;
    let peer = peer.clone();
    let dropped = CancellationToken::new();
    let _guard = dropped.clone().drop_guard();
    // In a task of its own, which outlives this future.
    let response = tokio::spawn(async move {
        let error = tokio::select! {
            response = rx => return response.map_err(|_| "the client disconnected"),
            () = sleep(RESPONSE_TIMEOUT) => "no response within 290 s",
            () = dropped.cancelled() => "the call was cancelled",
        };
        let reason = "the call was cancelled".to_owned();
        let withdrawn = CancelledNotificationParam::new(Some(id), Some(reason));
        // A disconnected client need not be notified.
        let _ = peer.notify_cancelled(withdrawn).await;
        Err(error)
    });
    match response.await?? {
        Ok(ClientResult::ElicitResult(result)) => Ok(result),
        Ok(_) => Err("the client sent an invalid response".into()),
        Err(error) => Err(format!("the client rejected the prompt: {error}").into()),
    }
}
