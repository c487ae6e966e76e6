//! Watches roots and reports when skills change.
//!
//! An event of the system only triggers a scan; what changed is found by comparing catalogs. So
//! lost, duplicate and misleading events do no harm, and where the system reports no events, scans
//! at intervals have the same result.

mod event_source;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Catalog, Discovery, Generations, Root, WatcherRegistration};
use event_source::{EventSource, WatchState};

/// How long a watch loop waits for the next scan while all events are reported.
const EVENT_DRIVEN_INTERVAL: Duration = Duration::from_secs(30);
/// How long a watch loop waits for the next scan if some events are not reported.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The options of a [`RootWatcher`]: how long it waits before and between scans.
///
/// Shorter intervals report changes sooner and cost more scans; a scan without changes costs one
/// `stat` per file. The defaults suit an interactive program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// The debounce interval: a scan runs once no event was reported for this long. Default 200 ms.
    /// If events continue, a scan runs after ten intervals.
    pub debounce: Duration,
    /// The interval of scans without an event. Default (`None`): 30 s while the system reports all
    /// events, otherwise 2 s.
    pub poll_interval: Option<Duration>,
    /// Whether to scan at intervals only, without events of the system. Default false.
    pub force_polling: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            debounce: Duration::from_millis(200),
            poll_interval: None,
            force_polling: false,
        }
    }
}

/// A new catalog, whose active skills, inactive skills or skipped paths differ from the one before.
///
/// Changes are reported one after the other, each against the catalog of the previous report, so a
/// receiver that applies all of them never misses one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CatalogChange {
    /// The new catalog.
    pub catalog: Arc<Catalog>,
}

/// Watches the roots of a configuration, on a thread of its own, until it is dropped.
///
/// Roots that do not exist yet are watched through their nearest existing parent. Dropping the
/// watcher waits for its thread, unless the thread itself drops it. If the callback panics, the
/// thread ends and no further scans run.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::time::Duration;
///
/// use skills_discovery::{RootWatcher, Discovery, Root, Scope, WatchOptions};
///
/// # let directory = tempfile::tempdir()?;
/// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
/// let catalog = Arc::new(discovery.scan());
/// let mut options = WatchOptions::default();
/// options.debounce = Duration::from_millis(20);
/// options.force_polling = true;
/// options.poll_interval = Some(Duration::from_millis(20));
/// let (sender, changes) = mpsc::channel();
/// let on_scan = move |change| sender.send(change).unwrap_or_default();
/// let _watcher =
///     RootWatcher::spawn_with_scans(discovery, catalog, options, Arc::default(), on_scan)?;
/// std::fs::create_dir(directory.path().join("pdf"))?;
/// std::fs::write(
///     directory.path().join("pdf/SKILL.md"),
///     "---\nname: pdf\ndescription: Reads PDF files.\n---\n",
/// )?;
/// while changes.recv()?.is_none_or(|change| change.catalog.entries().is_empty()) {}
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping the watcher stops it"]
pub struct RootWatcher {
    stop: Option<Sender<Signal>>,
    thread: Option<JoinHandle<()>>,
    is_event_driven: Arc<AtomicBool>,
}

/// What the event source, or the owner of the watcher, sends to the thread.
enum Signal {
    /// Something below a watched directory changed.
    Changed,
    /// These files or directories were removed.
    Removed(Vec<PathBuf>),
    /// The system has lost events.
    Rescan,
    /// Something cannot be watched.
    Failed,
    /// The watcher was dropped.
    Stop,
}

impl RootWatcher {
    /// Starts a watcher that calls `on_scan` after each scan, on its own thread: a first time once
    /// the watches are set up, then after events below the roots, and at intervals. It gets the
    /// change of the catalog, if there is one; files that a catalog is not built from, such as
    /// scripts, may have changed without. `catalog` is the catalog that the caller has; changes
    /// since that scan are reported as well.
    ///
    /// Each event of the system ends the current one of `generations`, before the scan that it
    /// triggers. The watcher is registered there as long as the system reports all changes.
    ///
    /// # Errors
    /// Fails if the system does not start the thread.
    pub fn spawn_with_scans(
        discovery: Discovery,
        catalog: Arc<Catalog>,
        options: WatchOptions,
        generations: Arc<Generations>,
        on_scan: impl FnMut(Option<CatalogChange>) + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let events = if options.force_polling {
            None
        } else {
            EventSource::new(sender.clone(), Arc::clone(&generations))
        };
        let is_event_driven = Arc::new(AtomicBool::new(events.is_some()));
        let mut state = WatchLoop {
            event_flag: EventDrivenFlag(Arc::clone(&is_event_driven)),
            discovery,
            catalog,
            options,
            events,
            generations,
            registration: None,
            on_scan,
        };
        let thread = skills_threads::spawn("skills-watch", move || state.run(&receiver))?;
        Ok(Self {
            stop: Some(sender),
            thread: Some(thread),
            is_event_driven,
        })
    }

    /// Returns true if the system reports all changes below the roots. If not, changes are found by
    /// scans at intervals; or not at all, if the thread has ended because the callback panicked.
    #[must_use]
    pub fn is_event_driven(&self) -> bool {
        self.is_event_driven.load(Ordering::Relaxed)
    }
}

impl Drop for RootWatcher {
    fn drop(&mut self) {
        // Sending fails if the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(Signal::Stop));
        // A callback may own the last reference to the watcher, and a thread cannot join itself.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// The state of the thread of a watcher.
struct WatchLoop<F> {
    /// The first field, so that it is dropped before the callback and what that owns.
    event_flag: EventDrivenFlag,
    discovery: Discovery,
    catalog: Arc<Catalog>,
    options: WatchOptions,
    events: Option<EventSource>,
    generations: Arc<Generations>,
    /// Present while the system reports all changes.
    registration: Option<WatcherRegistration>,
    on_scan: F,
}

/// Whether the system reports all changes. Becomes false when the thread ends, also by a panic.
struct EventDrivenFlag(Arc<AtomicBool>);

impl Drop for EventDrivenFlag {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<F: FnMut(Option<CatalogChange>)> WatchLoop<F> {
    fn run(&mut self, signals: &Receiver<Signal>) {
        self.update_watches();
        // Finds what changed between the caller's scan and the setup of the watches.
        let mut timeout = self.scan(ScanMode::Incremental);
        loop {
            let signal = match signals.recv_timeout(timeout) {
                Ok(signal) => Some(signal),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let was_event = signal.is_some();
            let Some(mode) = signal.map_or(Some(ScanMode::Incremental), |signal| {
                self.debounce(signal, signals)
            }) else {
                return;
            };
            timeout = self.scan(mode);
            if was_event {
                // A new directory may be filled before it is watched, so another scan follows soon.
                timeout = timeout.min(self.follow_up_interval());
            }
        }
    }

    /// Returns how soon a scan follows one after which events may have been missed.
    fn follow_up_interval(&self) -> Duration {
        self.options.debounce * 5
    }

    /// Handles a signal and returns how to scan; `None` if the watcher was dropped.
    fn handle_signal(&mut self, signal: Signal) -> Option<ScanMode> {
        match (signal, &mut self.events) {
            (Signal::Stop, _) => return None,
            (Signal::Changed, _) => return Some(ScanMode::Incremental),
            (Signal::Removed(paths), events) => {
                if let Some(events) = events {
                    events.remove_watched(|watched| paths.iter().any(|path| path == watched));
                }
                return Some(ScanMode::Incremental);
            }
            // The lost events may include the removal of a watched directory.
            (Signal::Rescan, Some(events)) => events.remove_watched(|_| true),
            (Signal::Failed, Some(events)) => events.has_failed = true,
            (Signal::Rescan | Signal::Failed, None) => {}
        }
        Some(ScanMode::Full)
    }

    /// Waits until there are no more signals for one debounce interval, at most ten intervals, and
    /// returns how to scan; `None` if the watcher was dropped.
    fn debounce(&mut self, first: Signal, signals: &Receiver<Signal>) -> Option<ScanMode> {
        let mut mode = self.handle_signal(first)?;
        let latest = Instant::now() + self.options.debounce * 10;
        // A full scan after lost events does not wait: until then nothing is known to be current.
        while mode == ScanMode::Incremental {
            let left = latest.saturating_duration_since(Instant::now());
            match signals.recv_timeout(self.options.debounce.min(left)) {
                Ok(signal) => mode = mode.max(self.handle_signal(signal)?),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if left.is_zero() {
                break;
            }
        }
        // The scan starts later, so it also covers all signals that are queued now.
        while let Ok(signal) = signals.try_recv() {
            mode = mode.max(self.handle_signal(signal)?);
        }
        Some(mode)
    }

    /// Scans, calls the callback, and returns how long to wait for the next scan.
    fn scan(&mut self, mode: ScanMode) -> Duration {
        let was_event_driven = self.event_flag.0.load(Ordering::Relaxed);
        let catalog = match mode {
            ScanMode::Incremental => self.discovery.rescan(&self.catalog),
            ScanMode::Full => Some(self.discovery.scan()),
        };
        let change = catalog.and_then(|catalog| self.replace_catalog(catalog));
        let watches = self.update_watches();
        // Directories that are watched only from now on may have changed since the scan began.
        let reports_all_changes = was_event_driven && watches == WatchState::Unchanged;
        if reports_all_changes != self.registration.is_some() {
            self.registration = reports_all_changes.then(|| self.generations.register_watcher());
        }
        (self.on_scan)(change);
        let default_interval = if watches == WatchState::Incomplete {
            POLL_INTERVAL
        } else {
            EVENT_DRIVEN_INTERVAL
        };
        let interval = self.options.poll_interval.unwrap_or(default_interval);
        if watches == WatchState::Extended {
            interval.min(self.follow_up_interval())
        } else {
            interval
        }
    }

    /// Replaces the catalog, and returns the change if there is one.
    fn replace_catalog(&mut self, catalog: Catalog) -> Option<CatalogChange> {
        let catalog = Arc::new(catalog);
        let is_same = self.catalog.is_same(&catalog);
        // Also without a change the new catalog is kept: its stamps may be settled now, which makes
        // the next rescan cheaper.
        self.catalog = Arc::clone(&catalog);
        (!is_same).then_some(CatalogChange { catalog })
    }

    /// Watches the roots and the targets of all symlinks that the last scan followed.
    fn update_watches(&mut self) -> WatchState {
        let Some(events) = &mut self.events else {
            return WatchState::Incomplete;
        };
        let roots = self.discovery.roots().iter().map(Root::path);
        let targets = self
            .catalog
            .symlinks()
            .iter()
            .map(|(_, target)| target.as_path());
        let watches = events.watch_paths(roots.chain(targets));
        self.event_flag
            .0
            .store(watches != WatchState::Incomplete, Ordering::Relaxed);
        watches
    }
}

/// How to scan. The order is that of thoroughness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScanMode {
    /// Reads only files with a changed stamp.
    Incremental,
    /// Reads all files.
    Full,
}
