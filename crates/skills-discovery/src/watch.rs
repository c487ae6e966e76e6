//! Notices when skills change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::{Catalog, CatalogDiff, Discovery, FileStamp};

/// How a watcher waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// How long the files must be still before they are looked at. Default 200 ms. Changes that go
    /// on are looked at every ten times that.
    pub debounce: Duration,
    /// How often the files are looked at without an event. Default 30 s while the system reports
    /// all events, and 2 s where it cannot.
    pub poll_interval: Option<Duration>,
    /// Whether to do without the system's events.
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

/// A new catalogue, and what changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CatalogChange {
    /// The catalogue.
    pub catalog: Arc<Catalog>,
    /// What changed against the one before.
    pub diff: CatalogDiff,
}

/// What a look at the disk came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanEvent {
    /// The new catalogue, when it says something else than the one before. Files that no catalogue
    /// is made of, such as scripts, may have changed all the same.
    pub change: Option<CatalogChange>,
    /// Whether the system reports whatever happens from the beginning of this look on; else the
    /// next look shows it.
    pub is_event_driven: bool,
    /// Counts what the system reports to this watcher, before it is looked at.
    pub event_count: EventCount,
}

/// Counts what the system reports to a watcher. Clones count the same.
#[derive(Debug, Clone, Default)]
pub struct EventCount(Arc<AtomicU64>);

impl EventCount {
    /// Returns how many changes were reported since the watcher began; it says nothing of what the
    /// system does not see.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn increment(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Watches the roots until it is dropped.
///
/// An event only says that it is time to look: what changed is found by comparing the disk with the
/// catalogue, so lost, doubled and misleading events do no harm. Roots that do not exist yet are
/// watched through the nearest directory above them that does.
#[derive(Debug)]
pub struct CatalogWatcher {
    stop: Option<Sender<Signal>>,
    thread: Option<JoinHandle<()>>,
    is_event_driven: Arc<AtomicBool>,
}

enum Signal {
    /// Something happened.
    Changed,
    /// This is gone.
    Removed(Vec<PathBuf>),
    /// Events were lost.
    Rescan,
    /// Something could not be watched.
    Failed,
    Stop,
}

impl CatalogWatcher {
    /// Starts to watch and calls `changed` with each new catalogue, on a thread of its own. `known`
    /// is what the caller has.
    #[must_use]
    pub fn spawn(
        discovery: Discovery,
        known: Arc<Catalog>,
        options: WatchOptions,
        mut changed: impl FnMut(CatalogChange) + Send + 'static,
    ) -> Self {
        Self::spawn_with_scans(discovery, known, options, move |look| {
            look.change.into_iter().for_each(&mut changed)
        })
    }

    /// Starts to watch and calls `looked` after each look at the disk, on a thread of its own: once
    /// the watches stand, whenever something happened below the roots, and from time to time.
    /// `known` is what the caller has.
    #[must_use]
    pub fn spawn_with_scans(
        discovery: Discovery,
        known: Arc<Catalog>,
        options: WatchOptions,
        looked: impl FnMut(ScanEvent) + Send + 'static,
    ) -> Self {
        let (sender, receiver) = channel();
        let count = EventCount::default();
        let events = if options.force_polling {
            None
        } else {
            EventSource::new(sender.clone(), count.clone())
        };
        let reports_events = Arc::new(AtomicBool::new(events.is_some()));
        let reporting = EventDrivenFlag(Arc::clone(&reports_events));
        let mut state = WatchLoop {
            event_flag: reporting,
            discovery,
            catalog: known,
            options,
            events,
            event_count: count,
            on_scan: looked,
        };
        let thread = std::thread::spawn(move || state.run(&receiver));
        Self {
            stop: Some(sender),
            thread: Some(thread),
            is_event_driven: reports_events,
        }
    }

    /// Says whether the system reports events of all that is watched; else the files are looked at
    /// from time to time. Not once the thread has ended because `looked` panicked.
    #[must_use]
    pub fn is_event_driven(&self) -> bool {
        self.is_event_driven.load(Ordering::Relaxed)
    }
}

impl Drop for CatalogWatcher {
    fn drop(&mut self) {
        // A thread that is gone has nothing left to stop.
        let _ = self.stop.take().map(|stop| stop.send(Signal::Stop));
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

struct WatchLoop<F> {
    /// The first to go with the thread.
    event_flag: EventDrivenFlag,
    discovery: Discovery,
    catalog: Arc<Catalog>,
    options: WatchOptions,
    events: Option<EventSource>,
    event_count: EventCount,
    on_scan: F,
}

/// Whether the system reports events of all that is watched.
struct EventDrivenFlag(Arc<AtomicBool>);

impl Drop for EventDrivenFlag {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<F: FnMut(ScanEvent)> WatchLoop<F> {
    fn run(&mut self, signals: &Receiver<Signal>) {
        self.update_watches();
        // What changed before the watches stood.
        let mut wait = self.scan(ScanMode::Incremental);
        loop {
            let signal = match signals.recv_timeout(wait) {
                Ok(signal) => Some(signal),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let is_quiet = signal.is_none();
            let Some(way) = signal.map_or(Some(ScanMode::Incremental), |signal| {
                self.debounce(signal, signals)
            }) else {
                return;
            };
            wait = self.scan(way);
            if !is_quiet {
                // In a new directory much can happen before it is watched: a second look follows
                // the first.
                wait = wait.min(self.debounced_interval());
            }
        }
    }

    fn debounced_interval(&self) -> Duration {
        self.options.debounce * 5
    }

    /// Takes note of a signal and says how to look; nothing when it is time to stop.
    fn handle_signal(&mut self, signal: Signal) -> Option<ScanMode> {
        match (signal, &mut self.events) {
            (Signal::Stop, _) => return None,
            (Signal::Changed, _) => return Some(ScanMode::Incremental),
            (Signal::Removed(paths), events) => {
                events.iter_mut().for_each(|events| {
                    events.remove_watched(|watched| paths.iter().any(|path| path == watched))
                });
                return Some(ScanMode::Incremental);
            }
            // That a watch has ended may be among what was lost.
            (Signal::Rescan, events) => events
                .iter_mut()
                .for_each(|events| events.remove_watched(|_| true)),
            // From now on not everything is reported.
            (Signal::Failed, events) => events
                .iter_mut()
                .for_each(|events| events.has_failed = true),
        }
        Some(ScanMode::Full)
    }

    /// Waits until the files are still, ten times as long at most, when something happened to them;
    /// nothing when it is time to stop.
    fn debounce(&mut self, first: Signal, signals: &Receiver<Signal>) -> Option<ScanMode> {
        let mut way = self.handle_signal(first)?;
        let latest = Instant::now() + self.options.debounce * 10;
        while way == ScanMode::Incremental {
            let left = latest.saturating_duration_since(Instant::now());
            match signals.recv_timeout(self.options.debounce.min(left)) {
                Ok(signal) => way = way.max(self.handle_signal(signal)?),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if left.is_zero() {
                break;
            }
        }
        // What has come in by now will be seen by the look.
        while let Ok(signal) = signals.try_recv() {
            way = way.max(self.handle_signal(signal)?);
        }
        Some(way)
    }

    /// Looks, tells of it, and says how long to wait for the next.
    fn scan(&mut self, way: ScanMode) -> Duration {
        let was_whole = self.event_flag.0.load(Ordering::Relaxed);
        let catalog = match way {
            ScanMode::Incremental => self.discovery.rescan(&self.catalog),
            ScanMode::Full => Some(self.discovery.scan()),
        };
        let change = catalog.and_then(|catalog| self.replace_catalog(catalog));
        let watches = self.update_watches();
        // What is watched from now on may have changed since the look.
        let reports_events = was_whole && watches == WatchState::Unchanged;
        (self.on_scan)(ScanEvent {
            change,
            is_event_driven: reports_events,
            event_count: self.event_count.clone(),
        });
        let usual = self.options.poll_interval.unwrap_or(Duration::from_secs(
            if watches == WatchState::Incomplete {
                2
            } else {
                30
            },
        ));
        if watches == WatchState::Extended {
            usual.min(self.debounced_interval())
        } else {
            usual
        }
    }

    /// Takes a catalogue for the known one, and says how they differ.
    fn replace_catalog(&mut self, catalog: Catalog) -> Option<CatalogChange> {
        let catalog = Arc::new(catalog);
        let diff = CatalogDiff::between(&self.catalog, &catalog);
        let same_rest = inactive_and_skipped(&self.catalog) == inactive_and_skipped(&catalog);
        self.catalog = Arc::clone(&catalog);
        (!(diff.is_empty() && same_rest)).then_some(CatalogChange { catalog, diff })
    }

    /// Watches what the catalogue was made of.
    fn update_watches(&mut self) -> WatchState {
        let Some(events) = &mut self.events else {
            return WatchState::Incomplete;
        };
        let roots = self.discovery.roots().iter().map(crate::Root::path);
        let watches = events.watch_paths(roots.chain(self.catalog.scan_stamps().symlink_targets()));
        self.event_flag
            .0
            .store(watches != WatchState::Incomplete, Ordering::Relaxed);
        watches
    }
}

/// What watches there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchState {
    /// All, and before already.
    Unchanged,
    /// All, some of them new.
    Extended,
    /// Not all.
    Incomplete,
}

/// What a catalogue says beside the skills that are used.
fn inactive_and_skipped(catalog: &Catalog) -> Vec<(PathBuf, &'static str)> {
    let skipped = catalog
        .skipped()
        .iter()
        .map(|skipped| (skipped.path().to_owned(), skipped.reason().code()));
    let inactive = catalog
        .inactive()
        .iter()
        .map(|inactive| (inactive.entry().location(), inactive.reason().code()));
    skipped.chain(inactive).collect()
}

/// How to look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScanMode {
    /// At what looks different.
    Incremental,
    /// At everything.
    Full,
}

/// The system's events.
struct EventSource {
    watcher: RecommendedWatcher,
    /// What is watched, and which directory it was: one that was put in its place is another.
    watched: Vec<(PathBuf, Option<FileStamp>)>,
    /// Whether the system gave up somewhere.
    has_failed: bool,
}

impl EventSource {
    /// Starts to listen; nothing where the system cannot.
    fn new(sender: Sender<Signal>, count: EventCount) -> Option<Self> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let signal = match event {
                Ok(event) if event.need_rescan() => Signal::Rescan,
                // Reading is no change.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) if matches!(event.kind, EventKind::Remove(_)) => {
                    Signal::Removed(event.paths)
                }
                Ok(_) => Signal::Changed,
                Err(_) => Signal::Failed,
            };
            count.increment();
            // The watcher may be gone already.
            let _ = sender.send(signal);
        });
        watcher.ok().map(|watcher| Self {
            watcher,
            watched: Vec::new(),
            has_failed: false,
        })
    }

    /// Forgets what is watched: a watch ends with its directory, and one that is made again looks
    /// like the one before.
    fn remove_watched(&mut self, is_gone: impl Fn(&Path) -> bool) {
        let (gone, kept) = std::mem::take(&mut self.watched)
            .into_iter()
            .partition(|(watched, _)| is_gone(watched));
        self.watched = kept;
        let gone: Vec<(PathBuf, Option<FileStamp>)> = gone;
        for (path, _) in gone {
            // The system may have ended it already.
            let _ = self.watcher.unwatch(&path);
        }
    }

    /// Watches the directories of these paths that exist, each once and recursively; missing ones
    /// through the nearest one above.
    fn watch_paths<'a>(&mut self, paths: impl Iterator<Item = &'a Path>) -> WatchState {
        let mut wanted: Vec<(PathBuf, RecursiveMode)> =
            paths.filter_map(nearest_watchable).collect();
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        wanted.dedup_by(|later, earlier| {
            later.0 == earlier.0 && {
                prefer_recursive(earlier, later);
                true
            }
        });
        let mut kept: Vec<(PathBuf, RecursiveMode)> = Vec::new();
        for (path, mode) in wanted {
            let is_covered = kept
                .iter()
                .any(|(above, mode)| *mode == RecursiveMode::Recursive && path.starts_with(above));
            if !is_covered {
                kept.push((path, mode));
            }
        }
        let mut watches = if self.has_failed {
            WatchState::Incomplete
        } else {
            WatchState::Unchanged
        };
        for (path, mode) in kept {
            let now = FileStamp::from_path(&path);
            let known = self
                .watched
                .iter()
                .position(|(watched, _)| *watched == path);
            if let Some(index) = known {
                if self.watched[index]
                    .1
                    .zip(now)
                    .is_some_and(|(before, now)| before.is_same_file(&now))
                {
                    continue;
                }
                // A watch ends with its directory.
                let _ = self.watcher.unwatch(&path);
                self.watched.swap_remove(index);
            }
            match self.watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.push((path, now));
                    watches = if watches == WatchState::Incomplete {
                        watches
                    } else {
                        WatchState::Extended
                    };
                }
                Err(_) => watches = WatchState::Incomplete,
            }
        }
        watches
    }
}

fn prefer_recursive(earlier: &mut (PathBuf, RecursiveMode), later: &(PathBuf, RecursiveMode)) {
    if later.1 == RecursiveMode::Recursive {
        earlier.1 = RecursiveMode::Recursive;
    }
}

/// The directory to watch for a path: itself, or the nearest one above, whose own entries are
/// enough.
fn nearest_watchable(path: &Path) -> Option<(PathBuf, RecursiveMode)> {
    if path.is_dir() {
        return Some((path.canonicalize().ok()?, RecursiveMode::Recursive));
    }
    let above = path.ancestors().skip(1).find(|above| above.is_dir())?;
    Some((above.canonicalize().ok()?, RecursiveMode::NonRecursive))
}
