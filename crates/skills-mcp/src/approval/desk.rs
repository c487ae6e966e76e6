//! Where the questions of one call arrive.

use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ElicitResult;
use rmcp::service::Peer;
use skills_tools::runtime::policy::{Answering, AskError, Question};
use skills_tools::runtime::{Answer, Approver, Cancellation};

use super::asked::Asked;
use super::{Ask, Offers};

/// Where the questions of one call arrive.
pub(crate) struct Desk {
    way: Way,
    offers: Offers,
    /// Whether the client has given the call up.
    cancellation: Cancellation,
    state: Mutex<State>,
}

/// How questions reach a user.
pub(crate) enum Way {
    /// By a request to the client, whose answer is awaited.
    Request(Box<Peer<RoleServer>>),
    /// By the result of the call, which the client repeats with the answer. The answer that came
    /// with this call, and the question that it is to.
    Result(Option<(String, ElicitResult)>),
    /// Not at all: the client cannot.
    None,
}

#[derive(Default)]
struct State {
    /// What the client has to be asked before the call can be answered.
    open: Option<Ask>,
    /// What nobody could be asked.
    unasked: Option<Question>,
    is_waiting: bool,
}

impl Desk {
    pub(crate) fn new(way: Way, offers: Offers, cancellation: Cancellation) -> Self {
        Self {
            way,
            offers,
            cancellation,
            state: Mutex::default(),
        }
    }

    /// Takes the question that the client has to be asked.
    pub(crate) fn open(&self) -> Option<Ask> {
        self.state().open.take()
    }

    /// Takes the question that nobody could be asked.
    pub(crate) fn unasked(&self) -> Option<Question> {
        self.state().unasked.take()
    }

    /// Says whether an answer is awaited just now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state().is_waiting
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn request(
        &self,
        peer: &Peer<RoleServer>,
        ask: &Ask,
    ) -> Result<Option<Answer>, AskError> {
        let _waiting = Waiting::at(self);
        let asked = Asked::ask(peer, ask).await?;
        tokio::select! {
            () = self.cancellation.cancelled() => Ok(None),
            result = asked.answer() => Ok(ask.answered(&result?)),
        }
    }

    /// Takes the answer that came with the call, if it is to this very question; else the client is
    /// asked by the result.
    fn result(
        &self,
        given: Option<&(String, ElicitResult)>,
        ask: Ask,
    ) -> Result<Option<Answer>, AskError> {
        match given.filter(|(fingerprint, _)| fingerprint == ask.fingerprint()) {
            Some((_, result)) => Ok(ask.answered(result)),
            None => {
                self.state().open.get_or_insert(ask);
                Err("the client was asked, and calls again with the answer".into())
            }
        }
    }
}

impl Approver for Desk {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        Box::pin(async move {
            match &self.way {
                Way::Request(peer) => self.request(peer, &Ask::of(question, self.offers)?).await,
                Way::Result(given) => self.result(given.as_ref(), Ask::of(question, self.offers)?),
                Way::None => {
                    self.state().unasked.get_or_insert_with(|| question.clone());
                    Err("this client cannot ask its user".into())
                }
            }
        })
    }
}

/// An answer is awaited as long as this lives.
struct Waiting<'a>(&'a Desk);

impl<'a> Waiting<'a> {
    fn at(desk: &'a Desk) -> Self {
        desk.state().is_waiting = true;
        Self(desk)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().is_waiting = false;
    }
}
