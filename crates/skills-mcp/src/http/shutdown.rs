//! Shutdown of the server.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::rejection::Rejection;

/// The phases of a shutdown.
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
}

/// Layer that rejects requests during a shutdown.
pub(super) async fn check(
    State(draining): State<CancellationToken>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    if draining.is_cancelled() {
        return Err(Rejection::ShuttingDown);
    }
    Ok(next.run(request).await)
}
