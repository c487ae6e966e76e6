//! The approver of one call.

use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ElicitResult;
use rmcp::service::Peer;
use skills_tools::runtime::policy::{ApprovalFuture, ApprovalRequest, BoxError};
use skills_tools::runtime::{ApprovalResponse, Approver, CancellationToken};

use super::pending::PendingElicitation;
use super::{AllowedAnswers, Elicitation};

/// Approver that prompts the user of the client during one call.
pub(crate) struct ElicitationApprover {
    channel: ElicitationChannel,
    allowed_answers: AllowedAnswers,
    /// Cancelled when the client cancels the call.
    cancellation: CancellationToken,
    state: Mutex<ApproverState>,
}

/// How approval prompts reach the user.
pub(crate) enum ElicitationChannel {
    /// As a request to the client, whose response is awaited.
    Request(Box<Peer<RoleServer>>),
    /// As the result of the call, which the client retries with the response. Contains the response
    /// that came with this call, with the digest of its prompt.
    Result(Option<(String, ElicitResult)>),
    /// Not at all: the client does not support elicitation.
    None,
}

#[derive(Default)]
struct ApproverState {
    /// The prompt that the client must show before the call can be completed.
    pending: Option<Elicitation>,
    /// The request that could not be prompted for.
    unanswerable: Option<ApprovalRequest>,
    is_waiting: bool,
}

impl ElicitationApprover {
    pub(crate) fn new(
        channel: ElicitationChannel,
        allowed_answers: AllowedAnswers,
        cancellation: CancellationToken,
    ) -> Self {
        Self {
            channel,
            allowed_answers,
            cancellation,
            state: Mutex::default(),
        }
    }

    /// Takes the prompt that the client must show.
    pub(crate) fn take_pending(&self) -> Option<Elicitation> {
        self.state().pending.take()
    }

    /// Takes the request that could not be prompted for.
    pub(crate) fn take_unanswerable(&self) -> Option<ApprovalRequest> {
        self.state().unanswerable.take()
    }

    /// Returns whether a response is awaited at the moment.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state().is_waiting
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ApproverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_by_request(
        &self,
        peer: &Peer<RoleServer>,
        elicitation: &Elicitation,
    ) -> Result<Option<ApprovalResponse>, BoxError> {
        // Progress notifications say that the call waits for the user, so that clients do not time
        // out silently.
        let _waiting = WaitingGuard::start(self);
        let pending = PendingElicitation::send(peer, elicitation).await?;
        tokio::select! {
            // Dropping the pending prompt withdraws it from the client.
            () = self.cancellation.cancelled() => Ok(None),
            result = pending.response() => Ok(elicitation.parse_answer(&result?)),
        }
    }

    /// Returns the response that came with the call if it belongs to this prompt. Otherwise the
    /// prompt becomes the result of the call.
    fn ask_by_result(
        &self,
        response: Option<&(String, ElicitResult)>,
        elicitation: Elicitation,
    ) -> Result<Option<ApprovalResponse>, BoxError> {
        // The digest must match: content or permissions may have changed since the user answered.
        match response.filter(|(digest, _)| digest == elicitation.question_digest()) {
            Some((_, result)) => Ok(elicitation.parse_answer(result)),
            None => {
                // The first prompt only: the call ends with it, and later ones are asked for by the
                // retry.
                self.state().pending.get_or_insert(elicitation);
                Err("approval is pending; the client retries with the response".into())
            }
        }
    }
}

impl Approver for ElicitationApprover {
    fn request_approval<'a>(&'a self, question: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        Box::pin(async move {
            match &self.channel {
                ElicitationChannel::Request(peer) => {
                    self.ask_by_request(
                        peer,
                        &Elicitation::try_new(question, self.allowed_answers)?,
                    )
                    .await
                }
                ElicitationChannel::Result(response) => self.ask_by_result(
                    response.as_ref(),
                    Elicitation::try_new(question, self.allowed_answers)?,
                ),
                ElicitationChannel::None => {
                    self.state()
                        .unanswerable
                        .get_or_insert_with(|| question.clone());
                    Err("the client does not support elicitation".into())
                }
            }
        })
    }
}

/// Marks the approver as waiting until it is dropped.
struct WaitingGuard<'a>(&'a ElicitationApprover);

impl<'a> WaitingGuard<'a> {
    fn start(approver: &'a ElicitationApprover) -> Self {
        approver.state().is_waiting = true;
        Self(approver)
    }
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.state().is_waiting = false;
    }
}
