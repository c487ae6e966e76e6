//! A started run: its events, and how to stop it.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use skills_sandbox::{
    CancellationToken, EventReceiver, EventSender, OutputStream, RunEvent, Termination, run_events,
    wait_cancelled,
};
use tokio::task::JoinHandle;

use crate::artifacts::ExecutionArtifacts;
use crate::drive::{run_planned, run_skill};
use crate::error::{Repr, RuntimeError};
use crate::options::ExecutionOptions;
use crate::output_lines::Listener;
use crate::plan::Planned;
use crate::redacted_texts::redact_termination;
use crate::redaction::{RedactedStream, Redactor};
use crate::services::Services;

/// A run that [`Executor::start`](super::Executor::start) or
/// [`PlannedRun::start`](super::PlannedRun::start) started. Dropping it kills the program, the next
/// time that the runtime polls tasks.
///
/// Its output is complete, in contrast to that of the [result](ExecutionArtifacts), and comes while the
/// program runs. If it is not read, the program waits once 1 MiB is waiting, until its deadline. Programs
/// in containers and WebAssembly do not wait: more than 64 MiB of unread output exceed
/// their output limit.
#[must_use]
pub struct RunHandle {
    events: RedactedEvents,
    result: JoinHandle<Result<ExecutionArtifacts, RuntimeError>>,
    cancellation: CancellationToken,
}

impl RunHandle {
    pub(crate) fn start(services: Services, name: String, mut options: ExecutionOptions) -> Self {
        // Its own one: that of the caller can be that of other runs.
        let cancellation = CancellationToken::new();
        let of_caller = options.context.cancellation.replace(cancellation.clone());
        Self::spawn(of_caller, cancellation, async move |events| {
            run_skill(&services, &name, options, None, Some(events)).await
        })
    }

    pub(crate) fn start_planned(mut planned: Planned) -> Self {
        let cancellation = CancellationToken::new();
        let of_caller = planned.replace_cancellation(cancellation.clone());
        Self::spawn(of_caller, cancellation, async move |events| {
            run_planned(planned, Some(events)).await
        })
    }

    /// Spawns a run, which `cancellation` ends.
    fn spawn<R>(
        of_caller: Option<CancellationToken>,
        cancellation: CancellationToken,
        run: impl FnOnce(RunEvents) -> R,
    ) -> Self
    where
        R: Future<Output = Result<ExecutionArtifacts, RuntimeError>> + Send + 'static,
    {
        let (sender, events) = run_events();
        let redactor = Arc::<OnceLock<Redactor>>::default();
        let sender = RunEvents {
            sender,
            redactor: Arc::clone(&redactor),
        };
        let of_run = cancellation.clone();
        let run = run(sender);
        let result = tokio::spawn(async move {
            let mut run = std::pin::pin!(run);
            tokio::select! {
                result = &mut run => return result,
                () = forward(of_caller, of_run) => {}
            }
            run.await
        });
        Self {
            events: RedactedEvents::new(events, redactor),
            result,
            cancellation,
        }
    }

    /// Waits for the next event; `None` if there are no more, also if nothing ran. Values of secrets
    /// are redacted; of a value that may continue, the bytes are kept back until it is known. Cancel
    /// safe.
    pub async fn next_event(&mut self) -> Option<RunEvent> {
        self.events.next().await
    }

    /// Closes an output stream of the program, as the reader of a pipe does. The next write of the
    /// program fails.
    pub fn close_output(&mut self, stream: OutputStream) {
        self.events.redaction.closed[stream as usize] = true;
        self.events.events.close(stream);
    }

    /// Asks the program to end by `SIGTERM`, and stops it once `grace` has passed, at once if that
    /// is zero. Programs in containers and WebAssembly are stopped at once. A second call can
    /// shorten the grace.
    pub fn cancel(&self, grace: Duration) {
        self.cancellation.cancel_after(grace);
    }

    /// Waits for the end of the run. Events that were not received are dropped. Dropping the future ends
    /// the run.
    ///
    /// # Errors
    /// Same as [`Executor::execute`](super::Executor::execute).
    ///
    /// # Panics
    /// Panics if the run panicked.
    pub async fn outcome(mut self) -> Result<ExecutionArtifacts, RuntimeError> {
        while self.events.events.next().await.is_some() {}
        match (&mut self.result).await {
            Ok(result) => result,
            // The runtime was shut down.
            Err(error) if error.is_cancelled() => Err(Repr::Cancelled.into()),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.result.abort();
    }
}

/// Cancels a run when its caller does. Ends when nothing is left to forward.
async fn forward(of_caller: Option<CancellationToken>, of_run: CancellationToken) {
    wait_cancelled(of_caller.as_ref()).await;
    if let Some(of_caller) = of_caller {
        of_run.cancel_with(of_caller.signal(), of_caller.grace());
        while !of_caller.grace().is_zero() {
            of_caller.grace_shortened().await;
            of_run.cancel_after(of_caller.grace());
        }
    }
}

/// Where a run sends its events.
pub(crate) struct RunEvents {
    sender: EventSender,
    redactor: Arc<OnceLock<Redactor>>,
}

impl RunEvents {
    /// Returns the listener of a run. This redactor redacts its output.
    pub(crate) fn of_run(self, redactor: Redactor) -> Listener {
        // Set once: a run is planned once.
        let _ = self.redactor.set(redactor);
        Listener {
            sender: self.sender,
            takes_output: true,
        }
    }
}

/// The events of a run without values of secrets.
pub(crate) struct RedactedEvents {
    events: EventReceiver,
    redaction: Redaction,
}

impl RedactedEvents {
    /// Receives the events of a run. This redactor redacts its output.
    pub(crate) fn of_run(events: EventReceiver, redactor: Redactor) -> Self {
        Self::new(events, Arc::new(OnceLock::from(redactor)))
    }

    fn new(events: EventReceiver, redactor: Arc<OnceLock<Redactor>>) -> Self {
        Self {
            events,
            redaction: Redaction {
                redactor,
                streams: None,
                ready: VecDeque::new(),
                closed: [false; 2],
            },
        }
    }

    /// Waits for the next event; `None` if there are no more. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<RunEvent> {
        loop {
            if let Some(event) = self.redaction.ready.pop_front() {
                return Some(event);
            }
            let event = self.events.next().await?;
            self.redaction.push(event);
        }
    }
}

/// Redacts events before they leave the runtime.
struct Redaction {
    /// Known since before the first event.
    redactor: Arc<OnceLock<Redactor>>,
    /// Standard output and standard error.
    streams: Option<[RedactedStream; 2]>,
    ready: VecDeque<RunEvent>,
    /// The streams that the caller closed, which can end anywhere.
    closed: [bool; 2],
}

impl Redaction {
    fn push(&mut self, event: RunEvent) {
        let redactor = self.redactor.get().cloned().unwrap_or_default();
        match event {
            RunEvent::Output { stream, bytes } if !redactor.is_empty() => {
                let streams = self
                    .streams
                    .get_or_insert_with(|| [(); 2].map(|()| RedactedStream::new(redactor.clone())));
                let written = streams[stream as usize].push(&bytes);
                self.push_output(stream, written);
            }
            RunEvent::Notice(text) => {
                let text = redactor.redact_text(&text);
                self.ready.push_back(RunEvent::Notice(text));
            }
            RunEvent::Finished(mut termination) => {
                self.finish(&termination);
                // Traps and panics can quote data of the program.
                redact_termination(&mut termination, &redactor);
                self.ready.push_back(RunEvent::Finished(termination));
            }
            event => self.ready.push_back(event),
        }
    }

    /// Adds what was kept back.
    fn finish(&mut self, termination: &Termination) {
        // A program that was stopped may have been about to write the rest of a secret.
        let has_exited = matches!(termination, Termination::Exited { .. });
        for (pending, stream) in self
            .streams
            .take()
            .into_iter()
            .flatten()
            .zip([OutputStream::Stdout, OutputStream::Stderr])
        {
            let written = pending.end(has_exited && !self.closed[stream as usize]);
            self.push_output(stream, written);
        }
    }

    fn push_output(&mut self, stream: OutputStream, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let bytes = bytes.into();
            self.ready.push_back(RunEvent::Output { stream, bytes });
        }
    }
}
