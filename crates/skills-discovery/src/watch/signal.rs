//! The signals that end the wait for the next scan.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::watch_problem::WatchProblem;
use crate::Generations;

/// What the event source, or the owner of the watcher, sends to the thread.
pub(super) enum Signal {
    /// Something below a watched directory changed.
    Changed,
    /// The event source with this number has ended.
    Lost { source: u64, problem: WatchProblem },
    /// The watcher was dropped.
    Stop,
}

/// Sends the changes that an event source observes to the thread of the watcher.
#[derive(Clone)]
pub(super) struct Reporter {
    sender: Sender<Signal>,
    generations: Arc<Generations>,
    source: u64,
}

impl Reporter {
    pub(super) fn new(sender: Sender<Signal>, generations: Arc<Generations>, source: u64) -> Self {
        Self {
            sender,
            generations,
            source,
        }
    }

    pub(super) fn changed(&self) {
        self.send(Signal::Changed);
    }

    /// Reports that the source has ended. Nothing may be reported after that.
    pub(super) fn lost(&self, problem: WatchProblem) {
        self.send(Signal::Lost {
            source: self.source,
            problem,
        });
    }

    fn send(&self, signal: Signal) {
        // Recorded before it is sent, so that nothing read before the event counts as current
        // during its scan.
        self.generations.record_change();
        // Sending fails if the thread has ended.
        let _ = self.sender.send(signal);
    }
}
