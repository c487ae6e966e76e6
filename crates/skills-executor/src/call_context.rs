//! The caller of a run: session, cancellation and approver.

use std::fmt;
use std::sync::Arc;

use skills_policy::Approver;
use skills_sandbox::CancellationToken;

/// Identifies the caller of a run or a tool, and how the call can be cancelled or approved.
///
/// By default, the session is that of the host application, nothing cancels the call, and the
/// approver of the runtime answers questions. The context is cheap to clone and can be
/// reused for several calls.
#[derive(Clone, Default)]
#[must_use]
pub struct CallContext {
    pub(crate) session: Option<String>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) client: Option<(String, String)>,
    pub(crate) principal: Option<String>,
    pub(crate) progress: Option<ProgressReporter>,
    pub(crate) output_lines: Option<OutputReporter>,
    pub(crate) max_text_bytes: Option<usize>,
}

/// Gets each phase of a long operation when it begins, as one phrase, and `None` when the last one
/// has ended, before anything else happens, such as a question.
pub type ProgressReporter = Arc<dyn Fn(Option<&str>) + Send + Sync>;

/// Gets lines that the program of a run writes, one at a time.
pub type OutputReporter = Arc<dyn Fn(&str) + Send + Sync>;

impl CallContext {
    /// Sets the session that the call belongs to.
    ///
    /// Approvals for a session apply only to it, until they are
    /// [cleared](crate::Executor::clear_session_approvals). Tools additionally keep a private
    /// directory for each session. A server with several users must use a separate session id for
    /// each of them.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets a token that stops the call. A run that is cancelled ends as
    /// [cancelled](skills_sandbox::Termination::Cancelled), with its output until then.
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Sets the approver, which replaces the approver of the runtime. The call waits for its answer
    /// at most as long as the approval timeout of the runtime.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets the approver, unless the call has one.
    pub fn default_approver(mut self, approver: Option<Arc<dyn Approver>>) -> Self {
        self.approver = self.approver.or(approver);
        self
    }

    /// Removes the approver of the call. That of the runtime, if there is one, is asked instead.
    pub fn without_approver(mut self) -> Self {
        self.approver = None;
        self
    }

    /// Sets the name and the version of the client program, as it calls itself. Only audit records
    /// contain them.
    pub fn client(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client = Some((name.into(), version.into()));
        self
    }

    /// Sets the authenticated identity of the caller. Only audit records contain it.
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets what gets the phases of a call that takes long, such as the setup of packages.
    pub fn progress(mut self, progress: ProgressReporter) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Sets what gets lines that the program writes while it runs, to show that it makes progress: the
    /// last complete one of each piece of output, of at most 4 KiB, without values of secrets. They may
    /// contain control characters. Not for runs with a [handle](crate::RunHandle), which have all output
    /// as events.
    ///
    /// Such lines are not output that a reader was given: a run that was refused something can run again
    /// after a question, and then writes them again.
    pub fn output_lines(mut self, reporter: OutputReporter) -> Self {
        self.output_lines = Some(reporter);
        self
    }

    /// Changes the lines that [`output_lines`](Self::output_lines) gets, if it is set.
    pub fn map_output_lines(
        mut self,
        map: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.output_lines = self
            .output_lines
            .map(|reporter| -> OutputReporter { Arc::new(move |line: &str| reporter(&map(line))) });
        self
    }

    /// Sets how many bytes of text the client shows. Tools that return texts in parts make no longer
    /// ones; runs do not depend on it. Default: no limit.
    pub fn max_text_bytes(mut self, max_text_bytes: usize) -> Self {
        self.max_text_bytes = Some(max_text_bytes);
        self
    }

    /// Returns true if the [token](Self::cancellation) of the call is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let token = self.cancellation.as_ref();
        token.is_some_and(CancellationToken::is_cancelled)
    }

    /// Returns how many bytes of text the client shows, if that is limited.
    #[must_use]
    pub fn text_limit(&self) -> Option<usize> {
        self.max_text_bytes
    }

    /// Returns the session, if one is set.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("session", &self.session)
            .field("client", &self.client)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}
