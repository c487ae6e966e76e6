//! Asking the user behind a client for leave.
//!
//! ```text
//! policy has a question --> Desk --> older revisions: `elicitation/create`, awaited
//!                            |----> 2026-07-28: the call ends with the question and sealed state; the client calls again with the answer
//!                            `----> a client that cannot be asked: denied, with the command that allows it beforehand
//! ```
//!
//! It is one question in all of them, and one set of answers.

mod approver;
mod form;
mod hint;
mod pending;

pub(crate) use approver::{ElicitationApprover, ElicitationChannel};
pub(crate) use form::{AllowedAnswers, Elicitation};
pub(crate) use hint::allow_hint;

/// What a question is called in `inputRequests`.
pub(crate) const PERMISSION_KEY: &str = "permission";
