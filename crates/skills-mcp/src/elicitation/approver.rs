//! Where the questions of one call arrive.

use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ElicitResult;
use rmcp::service::Peer;
use skills_tools::runtime::policy::{ApprovalFuture, ApprovalRequest, BoxError};
use skills_tools::runtime::{ApprovalResponse, Approver, CancellationToken};

use super::pending::PendingElicitation;
use super::{AllowedAnswers, Elicitation};

/// Where the questions of one call arrive.
pub(crate) struct ElicitationApprover {
    channel: ElicitationChannel,
    allowed_answers: AllowedAnswers,
    /// Whether the client has given the call up.
    cancellation: CancellationToken,
    state: Mutex<ApproverState>,
}

/// How questions reach a user.
pub(crate) enum ElicitationChannel {
    /// By a request to the client, whose answer is awaited.
    Request(Box<Peer<RoleServer>>),
    /// By the result of the call, which the client repeats with the answer. The answer that came
    /// with this call, and the question that it is to.
    Result(Option<(String, ElicitResult)>),
    /// Not at all: the client cannot.
    None,
}

#[derive(Default)]
struct ApproverState {
    /// What the client has to be asked before the call can be answered.
    pending: Option<Elicitation>,
    /// What nobody could be asked.
    unanswerable: Option<ApprovalRequest>,
    is_waiting: bool,
}

impl ElicitationApprover {
    pub(crate) fn new(
        way: ElicitationChannel,
        offers: AllowedAnswers,
        cancellation: CancellationToken,
    ) -> Self {
        Self {
            channel: way,
            allowed_answers: offers,
            cancellation,
            state: Mutex::default(),
        }
    }

    /// Takes the question that the client has to be asked.
    pub(crate) fn take_pending(&self) -> Option<Elicitation> {
        self.state().pending.take()
    }

    /// Takes the question that nobody could be asked.
    pub(crate) fn take_unanswerable(&self) -> Option<ApprovalRequest> {
        self.state().unanswerable.take()
    }

    /// Says whether an answer is awaited just now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state().is_waiting
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ApproverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_by_request(
        &self,
        peer: &Peer<RoleServer>,
        ask: &Elicitation,
    ) -> Result<Option<ApprovalResponse>, BoxError> {
        let _waiting = WaitingGuard::start(self);
        let asked = PendingElicitation::send(peer, ask).await?;
        tokio::select! {
            () = self.cancellation.cancelled() => Ok(None),
            result = asked.response() => Ok(ask.parse_answer(&result?)),
        }
    }

    /// Takes the answer that came with the call, if it is to this very question; else the client is
    /// asked by the result.
    fn ask_by_result(
        &self,
        given: Option<&(String, ElicitResult)>,
        ask: Elicitation,
    ) -> Result<Option<ApprovalResponse>, BoxError> {
        match given.filter(|(fingerprint, _)| fingerprint == ask.question_digest()) {
            Some((_, result)) => Ok(ask.parse_answer(result)),
            None => {
                self.state().pending.get_or_insert(ask);
                Err("the client was asked, and calls again with the answer".into())
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
                ElicitationChannel::Result(given) => self.ask_by_result(
                    given.as_ref(),
                    Elicitation::try_new(question, self.allowed_answers)?,
                ),
                ElicitationChannel::None => {
                    self.state()
                        .unanswerable
                        .get_or_insert_with(|| question.clone());
                    Err("this client cannot ask its user".into())
                }
            }
        })
    }
}

/// An answer is awaited as long as this lives.
struct WaitingGuard<'a>(&'a ElicitationApprover);

impl<'a> WaitingGuard<'a> {
    fn start(desk: &'a ElicitationApprover) -> Self {
        desk.state().is_waiting = true;
        Self(desk)
    }
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.state().is_waiting = false;
    }
}
