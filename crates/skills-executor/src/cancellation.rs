//! Waits that end when a run is cancelled.

use skills_sandbox::CancellationToken;

use crate::error::{Repr, RuntimeError};

/// Awaits a future, unless the run is cancelled.
pub(crate) async fn unless_cancelled<T>(
    cancellation: Option<&CancellationToken>,
    wait: impl Future<Output = T>,
) -> Result<T, RuntimeError> {
    let Some(cancellation) = cancellation else {
        return Ok(wait.await);
    };
    // Biased, so that a run that was cancelled before this wait never starts.
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(Repr::Cancelled.into()),
        waited = wait => Ok(waited),
    }
}
