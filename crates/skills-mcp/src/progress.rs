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
use skills_tools::runtime::manifest::escape_invisible;

use crate::elicitation::ElicitationApprover;

/// Delay before the first progress notification of a call.
const INITIAL_DELAY: Duration = Duration::from_millis(500);
/// Time between further progress notifications.
const INTERVAL: Duration = Duration::from_secs(2);

/// Maximum length of the line of a program that a notification has, in characters.
const MAX_LINE_CHARS: usize = 200;

/// What a call does.
#[derive(Clone, Default)]
pub(crate) struct CallPhase(Arc<Mutex<Phase>>);

#[derive(Default)]
struct Phase {
    /// What it does apart from running a program.
    name: Option<String>,
    /// The last line that its program wrote.
    line: Option<String>,
}

impl CallPhase {
    /// Records the phases of a call, and the lines of its program if the client requested progress.
    pub(crate) fn record(
        &self,
        call: CallContext,
        context: &RequestContext<RoleServer>,
    ) -> CallContext {
        let phase = Arc::clone(&self.0);
        let call = call.progress(Arc::new(move |current| {
            lock(&phase).name = current.map(str::to_owned);
        }));
        if context.meta.get_progress_token().is_none() {
            return call;
        }
        let phase = Arc::clone(&self.0);
        call.output_lines(Arc::new(move |line| {
            lock(&phase).line = Some(shown_line(line));
        }))
    }

    /// Returns what a call does after `seconds`. A line of a program is the last part, so that it forges
    /// no other one.
    fn describe(&self, seconds: u64) -> String {
        let phase = lock(&self.0);
        match (&phase.name, &phase.line) {
            (Some(name), _) => format!("{name} ({seconds} s)"),
            (None, Some(line)) => format!("running ({seconds} s): {line}"),
            (None, None) => format!("running ({seconds} s)"),
        }
    }
}

/// Returns a line of a program with its control and invisible characters escaped, and truncated.
fn shown_line(line: &str) -> String {
    let line = escape_invisible(line);
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => line.into_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
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
    let status = |seconds: u64| {
        if approver.is_waiting() {
            format!("waiting for approval ({seconds} s)")
        } else {
            phase.describe(seconds)
        }
    };
    let reporting = report_progress(status, context);
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

/// Waits for a place of a call among those of its principal; sends progress notifications like
/// [`with_progress`]. `None` if the client cancels the call.
pub(crate) async fn while_waiting<T>(
    wait: impl Future<Output = T>,
    context: &RequestContext<RoleServer>,
) -> Option<T> {
    let status = |seconds: u64| format!("waiting for a free slot ({seconds} s)");
    tokio::select! {
        biased;
        done = wait => Some(done),
        () = context.ct.cancelled() => None,
        () = report_progress(status, context) => None,
    }
}

/// Sends progress notifications without end. `status` returns what happens after some seconds.
async fn report_progress(status: impl Fn(u64) -> String, context: &RequestContext<RoleServer>) {
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
        let message = status(started.elapsed().as_secs());
        let progress = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        if let Err(error) = context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "cannot send a progress notification");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_program_is_short_and_forges_nothing() {
        let phase = CallPhase::default();
        assert_eq!(phase.describe(1), "running (1 s)");
        lock(&phase.0).line = Some(shown_line("step 3\u{1b}[2J\u{202e}\r waiting for approval"));
        let shown = phase.describe(3);
        assert!(
            shown.starts_with("running (3 s): step 3\\u{1b}[2J"),
            "{shown}"
        );
        assert!(
            !shown.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{shown}"
        );
        lock(&phase.0).line = Some(shown_line(&"漢".repeat(10_000)));
        assert!(phase.describe(3).chars().count() < 230);
        lock(&phase.0).name = Some("installing packages".to_owned());
        assert_eq!(phase.describe(5), "installing packages (5 s)");
    }
}
