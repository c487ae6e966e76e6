//! Who calls, and what may stop the call.

use std::fmt;
use std::sync::Arc;

use skills_runtime::{Approver, CancellationToken};

/// Who calls, and what may stop the call.
///
/// Defaults: a conversation of one call, nobody who cancels, whom the runtime asks.
#[derive(Clone, Default)]
#[must_use]
pub struct CallContext {
    pub(crate) session: Option<String>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// Says which conversation the call belongs to. Calls of one session share the private working
    /// directory of script tools and what somebody answers for the session. Without one each call
    /// has a directory of its own, and answers are those of the host itself. Whoever serves several
    /// people gives each their own.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Lets `cancellation` stop the call; what a program wrote until then is in the outcome.
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Chooses who is asked, instead of whom the runtime asks.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
