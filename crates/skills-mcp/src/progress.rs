//! Progress notifications of calls.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use skills_threads::lock;
use skills_tools::CallContext;
use skills_tools::runtime::CancellationToken;

use crate::elicitation::ElicitationApprover;

/// Delay before the first progress notification of a call.
const INITIAL_DELAY: Duration = Duration::from_millis(500);
/// Time between further progress notifications.
const INTERVAL: Duration = Duration::from_secs(2);

/// What a call does, apart from running a program.
#[derive(Clone, Default)]
pub(crate) struct CallPhase(Arc<Mutex<Option<String>>>);

impl CallPhase {
    /// Records the phases of a call.
    pub(crate) fn record(&self, call: CallContext) -> CallContext {
        let phase = Arc::clone(&self.0);
        call.progress(Arc::new(move |current| {
            *lock(&phase) = current.map(str::to_owned);
        }))
    }
}

/// Runs a call: sends progress notifications if the client requested them, and cancels the call if
/// the client or the server cancels it.
pub(crate) async fn with_progress<T>(
    work: impl Future<Output = T>,
    approver: &ElicitationApprover,
    phase: &CallPhase,
    cancellation: &CancellationToken,
    cancel_calls: &tokio_util::sync::CancellationToken,
    context: &RequestContext<RoleServer>,
) -> T {
    tokio::pin!(work);
    let reporting = report_progress(approver, phase, context);
    tokio::pin!(reporting);
    tokio::select! {
        // A finished call returns its result even if it was cancelled at the same moment.
        biased;
        done = &mut work => return done,
        () = context.ct.cancelled() => cancellation.cancel(),
        () = cancel_calls.cancelled() => cancellation.cancel(),
        () = &mut reporting => {}
    }
    // Wait for the end, so that programs are stopped and their output is part of the result.
    work.await
}

/// Sends progress notifications without end.
async fn report_progress(
    approver: &ElicitationApprover,
    phase: &CallPhase,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let started = Instant::now();
    let mut ticks = tokio::time::interval_at((started + INITIAL_DELAY).into(), INTERVAL);
    // After a pause of the machine, one notification is enough.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut count = 0.0;
    loop {
        ticks.tick().await;
        count += 1.0;
        let status = if approver.is_waiting() {
            "waiting for approval".to_owned()
        } else {
            lock(&phase.0)
                .clone()
                .unwrap_or_else(|| "running".to_owned())
        };
        let message = format!("{status} ({} s)", started.elapsed().as_secs());
        let progress = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        if let Err(error) = context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "cannot send a progress notification");
        }
    }
}
