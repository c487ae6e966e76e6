//! Approval prompts through MCP elicitation.
//!
//! ```text
//! policy needs an approval --> ElicitationApprover
//!     |--> legacy: request `elicitation/create`, awaited
//!     |--> stateless: the call returns the prompt and signed state,
//!     |               and the client retries it with the answer
//!     `--> client without elicitation: denied, with a hint how to allow it
//! ```
//!
//! The prompt and the possible answers are the same in both lifecycles.

mod approver;
mod form;
mod hint;
mod request;

pub(crate) use approver::{ElicitationApprover, ElicitationChannel, Unresolved};
pub(crate) use form::{AllowedResponses, Elicitation};
pub(crate) use hint::{TrustCommand, default_trust_command};

/// Key of the approval prompt in `inputRequests`.
pub(crate) const PERMISSION_KEY: &str = "permission";
