//! The record of a run in the usage ledger.

use skills_discovery::Entry;
use skills_ledger::{Digest, RunOutcome, SessionHash};
use skills_library::UsageRecorder;
use skills_sandbox::Termination;

use crate::{
    CallContext, ErrorKind, ExecutionArtifacts, ExecutionMode, ExecutionStatus, RuntimeError,
};

/// A run of a program of a skill, whose outcome is recorded once: by [`close`](Self::close), or on
/// drop if the run was cancelled. By default nothing is recorded.
#[derive(Default)]
pub(crate) struct RunUse(Option<PendingUse>);

struct PendingUse {
    recorder: UsageRecorder,
    entry: Entry,
    digest: Option<Digest>,
    session: Option<SessionHash>,
}

impl RunUse {
    /// Starts the record of a run. A command is not a program of its skill, and its exit code says
    /// nothing about it.
    pub(crate) fn new(
        recorder: &UsageRecorder,
        entry: &Entry,
        mode: &ExecutionMode,
        context: &CallContext,
    ) -> Self {
        let is_of_skill = !matches!(mode, ExecutionMode::Command { .. });
        Self((recorder.is_enabled() && is_of_skill).then(|| PendingUse {
            recorder: recorder.clone(),
            entry: entry.clone(),
            digest: None,
            session: context.session.as_deref().map(SessionHash::new),
        }))
    }

    /// Sets the content that is about to run.
    pub(crate) fn set_digest(&mut self, digest: &str) {
        if let Some(pending) = &mut self.0 {
            pending.digest = Digest::parse(digest);
        }
    }

    /// Records how the run ended.
    pub(crate) fn close(&mut self, result: &Result<ExecutionArtifacts, RuntimeError>) {
        self.record(match result {
            Ok(artifacts) => outcome(&artifacts.exit_status),
            Err(error) => match error.kind() {
                ErrorKind::MissingRequirements => RunOutcome::RequirementMissing,
                ErrorKind::Cancelled => RunOutcome::Cancelled,
                _ => RunOutcome::NotStarted,
            },
        });
    }

    fn record(&mut self, outcome: RunOutcome) {
        if let Some(PendingUse {
            recorder,
            entry,
            digest,
            session,
        }) = self.0.take()
        {
            recorder.record_run(entry, digest, outcome, session);
        }
    }
}

impl Drop for RunUse {
    fn drop(&mut self) {
        self.record(RunOutcome::Cancelled);
    }
}

fn outcome(status: &ExecutionStatus) -> RunOutcome {
    match status {
        ExecutionStatus::Success => RunOutcome::Succeeded,
        ExecutionStatus::Timeout { .. } => RunOutcome::TimedOut,
        ExecutionStatus::PermissionDenied { .. } => RunOutcome::Denied,
        ExecutionStatus::Failed { termination } => match termination {
            Termination::Cancelled => RunOutcome::Cancelled,
            Termination::MemoryLimit { .. }
            | Termination::OutputLimit { .. }
            | Termination::DiskLimit(_)
            | Termination::HandleLimit { .. } => RunOutcome::LimitExceeded,
            Termination::Unknown => RunOutcome::NotObserved,
            _ => RunOutcome::Failed,
        },
    }
}
