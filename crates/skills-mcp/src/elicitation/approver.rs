//! The approver of one call.

use std::sync::{Arc, OnceLock};

use rmcp::RoleServer;
use rmcp::model::ElicitResult;
use rmcp::service::Peer;
use skills_tools::runtime::Approver;
use skills_tools::runtime::policy::{AnswerFuture, Question};
use tokio::sync::Mutex;

use super::form::{AllowedResponses, Elicitation};
use super::hint::{TrustCommand, allow_hint};
use super::request::elicit;

/// Approver that prompts the user of the client during one call.
pub(crate) struct ElicitationApprover {
    channel: ElicitationChannel,
    allowed_responses: AllowedResponses,
    trust_command: Arc<TrustCommand>,
    /// The first question that was not answered.
    unresolved: OnceLock<Unresolved>,
    /// Locked while an answer is awaited.
    prompt: Mutex<()>,
}

/// How approval prompts reach the user.
pub(crate) enum ElicitationChannel {
    /// As a request to the client, whose response is awaited.
    Request(Box<Peer<RoleServer>>),
    /// As the result of the call, which the client retries with the response. Contains the response
    /// that came with this call, with the digest of its prompt.
    ///
    /// A retry runs the program from its start. So nothing is asked after an attempt that has effects, nor
    /// after one that ran with a response: the next retry would lack it.
    Result(Option<(String, ElicitResult)>),
    /// Not at all: the client does not support elicitation.
    None,
}

/// A request that the user could not answer during the call.
pub(crate) enum Unresolved {
    /// The prompt that the client must show before the call can be completed.
    Prompt(Elicitation),
    /// The client cannot show it: how the operator can allow it.
    Hint(String),
}

impl ElicitationApprover {
    pub(crate) fn new(
        channel: ElicitationChannel,
        allowed_responses: AllowedResponses,
        trust_command: Arc<TrustCommand>,
    ) -> Self {
        Self {
            channel,
            allowed_responses,
            trust_command,
            unresolved: OnceLock::new(),
            prompt: Mutex::default(),
        }
    }

    /// Returns the first request that was not answered. Later ones are asked for by the retry of
    /// the call.
    pub(crate) fn unresolved(&self) -> Option<&Unresolved> {
        self.unresolved.get()
    }

    /// Returns true if an answer is awaited at the moment.
    pub(crate) fn is_waiting(&self) -> bool {
        self.prompt.try_lock().is_err()
    }
}

impl Approver for ElicitationApprover {
    fn can_respond(&self) -> bool {
        !matches!(self.channel, ElicitationChannel::None)
    }

    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let elicitation = || Elicitation::try_new(question, self.allowed_responses);
            let (unresolved, error) = match &self.channel {
                ElicitationChannel::Request(peer) => {
                    let elicitation = elicitation()?;
                    // Progress notifications say that the call waits for the user, so that clients
                    // do not time out silently.
                    let _waiting = self.prompt.lock().await;
                    let result = elicit(peer, elicitation.form_params()?).await?;
                    return Ok(elicitation.parse_response(&result));
                }
                ElicitationChannel::Result(response) => {
                    let elicitation = elicitation()?;
                    // The digest must match: content or permissions may have changed since the user
                    // answered.
                    if let Some((digest, result)) = response
                        && *digest == elicitation.request_digest
                    {
                        return Ok(elicitation.parse_response(result));
                    }
                    if question.is_after_refusal()
                        && (response.is_some() || !question.done.is_none())
                    {
                        return Ok(None);
                    }
                    let error = "approval is pending; the client retries with the response";
                    (Unresolved::Prompt(elicitation), error)
                }
                ElicitationChannel::None => {
                    let error = "the client cannot ask its user";
                    (
                        Unresolved::Hint(allow_hint(question, &*self.trust_command)),
                        error,
                    )
                }
            };
            self.unresolved.get_or_init(|| unresolved);
            Err(error.into())
        })
    }
}
