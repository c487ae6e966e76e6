//! Shutdown of the server.

use tokio_util::sync::{CancellationToken, DropGuard};

use super::rejection::Rejection;

#[derive(Debug, Clone, Default)]
pub(super) struct ShutdownPhases {
    /// New requests are rejected.
    pub(super) draining: CancellationToken,
    /// Remaining subscriptions are closed.
    pub(super) subscriptions_closed: CancellationToken,
    /// Running requests are cancelled.
    pub(super) aborted: CancellationToken,
}

impl ShutdownPhases {
    /// Returns guards that complete all phases when they are dropped.
    pub(super) fn drop_guards(&self) -> [DropGuard; 3] {
        let phases = [&self.draining, &self.subscriptions_closed, &self.aborted];
        phases.map(|phase| phase.clone().drop_guard())
    }

    /// Rejects requests during a shutdown.
    pub(super) fn check(&self) -> Result<(), Rejection> {
        if self.draining.is_cancelled() {
            return Err(Rejection::ShuttingDown);
        }
        Ok(())
    }
}
