//! What a client hears while a call is being answered.

use std::future::Future;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use skills_tools::runtime::CancellationToken;

use crate::elicitation::ElicitationApprover;

/// How long a call is quiet before its client hears that it is still being answered, and how often
/// it does then.
const INITIAL_DELAY: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_secs(2);

/// Awaits work for a call: tells the client how it goes, if the client wants to know, and stops the
/// work when the client gives up, or the server does.
pub(crate) async fn with_progress<T>(
    work: impl Future<Output = T>,
    desk: &ElicitationApprover,
    cancellation: &CancellationToken,
    cancel_calls: &tokio_util::sync::CancellationToken,
    context: &RequestContext<RoleServer>,
) -> T {
    tokio::pin!(work);
    let telling = report_progress(desk, context);
    tokio::pin!(telling);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = context.ct.cancelled() => cancellation.cancel(),
        () = cancel_calls.cancelled() => cancellation.cancel(),
        () = &mut telling => {}
    }
    // What was written until now is still collected, and programs are ended before anything is
    // answered.
    work.await
}

/// Tells the client how a call goes, for ever.
async fn report_progress(desk: &ElicitationApprover, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let begun = Instant::now();
    let mut steps = tokio::time::interval_at((begun + INITIAL_DELAY).into(), INTERVAL);
    steps.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut step = 0.0;
    loop {
        steps.tick().await;
        step += 1.0;
        let what = if desk.is_waiting() {
            "waiting for an answer"
        } else {
            "running"
        };
        let message = format!("{what}, {} s", begun.elapsed().as_secs());
        let progress = ProgressNotificationParam::new(token.clone(), step).with_message(message);
        if let Err(error) = context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "the client cannot be told how a call goes");
        }
    }
}
