//! Watches directories with inotify.
//!
//! One thread owns the inotify instance. It adds and removes watches and reads events, so that the
//! queue of the kernel is emptied meanwhile. Once events are lost it closes the instance, which ends
//! all watches without an event for each, and stops.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use super::watch_tree::WatchTree;
use super::watched::{Depth, WatchState};
use crate::watch::WatchProblem;
use crate::watch::signal::Reporter;

/// How long events are collected after one was read. A program that changes files constantly costs
/// a limited number of reports.
const READ_PAUSE: Duration = Duration::from_millis(2);

/// Watches a set of directories until it reports that it is lost.
pub(super) struct DirectoryWatcher {
    /// `None` while it is dropped.
    requests: Option<Sender<WatchRequest>>,
    /// Wakes the thread after a request was sent, or dropped.
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

struct WatchRequest {
    directories: Vec<(PathBuf, Depth)>,
    state: Sender<WatchState>,
}

impl DirectoryWatcher {
    pub(super) fn new(reporter: Reporter) -> io::Result<Self> {
        let tree = WatchTree::new()?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (requests, receiver) = channel();
        let mut watching = WatchThread {
            tree,
            wake: Arc::clone(&wake),
            requests: receiver,
        };
        let run = move || {
            if let Err(problem) = watching.run(&reporter) {
                // Before the report, so that the next instance does not count in addition.
                drop(watching);
                reporter.lost(problem);
            }
        };
        Ok(Self {
            requests: Some(requests),
            wake,
            thread: Some(skills_threads::spawn("skills-events", run)?),
        })
    }

    /// Watches exactly these directories. `None` if the watcher is lost, which it reports.
    pub(super) fn watch(&mut self, directories: Vec<(PathBuf, Depth)>) -> Option<WatchState> {
        let (state, result) = channel();
        let request = WatchRequest { directories, state };
        let sent = self
            .requests
            .as_ref()
            .is_some_and(|requests| requests.send(request).is_ok());
        if sent {
            self.wake();
        }
        result.recv().ok()
    }

    fn wake(&self) {
        // Fails only if the thread is awake already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for DirectoryWatcher {
    fn drop(&mut self) {
        self.requests = None;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct WatchThread {
    tree: WatchTree,
    wake: Arc<OwnedFd>,
    requests: Receiver<WatchRequest>,
}

impl WatchThread {
    /// Handles requests and events until the watcher is dropped.
    ///
    /// # Errors
    /// Fails if events were lost, or if there are too many directories.
    fn run(&mut self, reporter: &Reporter) -> Result<(), WatchProblem> {
        loop {
            self.wait()?;
            loop {
                match self.requests.try_recv() {
                    Ok(request) => {
                        let state = self.tree.watch(&request.directories)?;
                        // The receiver waits for it.
                        let _ = request.state.send(state);
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            if self.tree.read_changes()? {
                reporter.changed();
                std::thread::sleep(READ_PAUSE);
            }
        }
    }

    /// Waits for an event or a request.
    ///
    /// # Errors
    /// Fails if the system cannot wait.
    fn wait(&self) -> Result<(), WatchProblem> {
        if self.tree.has_waiting_events() {
            return Ok(());
        }
        let mut ready = [
            PollFd::from_borrowed_fd(self.tree.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN),
        ];
        loop {
            match poll(&mut ready, None) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(_) => return Err(WatchProblem::NoEvents),
            }
        }
        let mut count = [0; 8];
        // Fails if only an event has arrived.
        let _ = rustix::io::read(&self.wake, &mut count);
        Ok(())
    }
}
