//! The caller of a tool: session, cancellation and approver.

use std::fmt;
use std::sync::Arc;

use skills_runtime::{Approver, CancellationToken};

/// Identifies the caller of a tool and how the call can be cancelled or approved.
///
/// By default, each call is a session of its own, nothing cancels it, and the approver of the
/// runtime answers approval requests. All settings are optional; the context is cheap to clone and
/// can be reused for several calls.
#[derive(Clone, Default)]
#[must_use]
pub struct CallContext {
    pub(crate) session: Option<String>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// Sets the session that the call belongs to.
    ///
    /// Calls of one session share the private working directory of script tools and the approvals
    /// given for the session, until [`end_session`](crate::ToolSet::end_session). At most 256
    /// session directories exist; the least recently used one is removed. Without a session, each
    /// call has its own directory, and approvals are those of the host application itself. A server
    /// with several users must use a separate session id for each of them.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets a token that stops the call. The result then has the code `cancelled`, and output that
    /// the program wrote before it was stopped is part of it.
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Sets the approver of this call, which replaces the approver of the runtime. The call waits
    /// for its answer at most as long as the approval timeout of the runtime.
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
