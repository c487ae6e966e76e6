//! Notices when skills change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::{Catalog, CatalogDiff, Discovery, Stamp};

/// How a watcher waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// How long the files must be still before they are looked at. Default 200 ms. Changes that go on are looked at every ten times that.
    pub quiet: Duration,
    /// How often the files are looked at without an event. Default 30 s while the system reports all events, and 2 s where it cannot.
    pub poll: Option<Duration>,
    /// Whether to do without the system's events.
    pub only_poll: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(200), poll: None, only_poll: false }
    }
}

/// A new catalogue, and what changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Change {
    /// The catalogue.
    pub catalog: Arc<Catalog>,
    /// What changed against the one before.
    pub diff: CatalogDiff,
}

/// What a look at the disk came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Look {
    /// The new catalogue, when it says something else than the one before. Files that no catalogue is made of, such as scripts, may have changed all the same.
    pub change: Option<Change>,
    /// Whether the system reports whatever happens from the beginning of this look on; else the next look shows it.
    pub reports_events: bool,
    /// Counts what the system reports to this watcher, before it is looked at.
    pub events: EventCount,
}

/// Counts what the system reports to a watcher. Clones count the same.
#[derive(Debug, Clone, Default)]
pub struct EventCount(Arc<AtomicU64>);

impl EventCount {
    /// Returns how many changes were reported since the watcher began; it says nothing of what the system does not see.
    #[must_use]
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Watches the roots until it is dropped.
///
/// An event only says that it is time to look: what changed is found by comparing the disk with the catalogue, so lost, doubled and
/// misleading events do no harm. Roots that do not exist yet are watched through the nearest directory above them that does.
#[derive(Debug)]
pub struct Watcher {
    stop: Option<Sender<Signal>>,
    thread: Option<JoinHandle<()>>,
    reports_events: Arc<AtomicBool>,
}

enum Signal {
    /// Something happened.
    Touched,
    /// This is gone.
    Removed(Vec<PathBuf>),
    /// Events were lost.
    Overflow,
    /// Something could not be watched.
    Failed,
    Stop,
}

impl Watcher {
    /// Starts to watch and calls `changed` with each new catalogue, on a thread of its own. `known` is what the caller has.
    #[must_use]
    pub fn start(
        discovery: Discovery,
        known: Arc<Catalog>,
        options: WatchOptions,
        mut changed: impl FnMut(Change) + Send + 'static,
    ) -> Self {
        Self::looking(discovery, known, options, move |look| look.change.into_iter().for_each(&mut changed))
    }

    /// Starts to watch and calls `looked` after each look at the disk, on a thread of its own: once the watches stand, whenever something happened below the
    /// roots, and from time to time. `known` is what the caller has.
    #[must_use]
    pub fn looking(discovery: Discovery, known: Arc<Catalog>, options: WatchOptions, looked: impl FnMut(Look) + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let count = EventCount::default();
        let events = if options.only_poll { None } else { Events::new(sender.clone(), count.clone()) };
        let reports_events = Arc::new(AtomicBool::new(events.is_some()));
        let reporting = Reporting(Arc::clone(&reports_events));
        let mut state = State { reporting, discovery, known, options, events, count, looked };
        let thread = std::thread::spawn(move || state.run(&receiver));
        Self { stop: Some(sender), thread: Some(thread), reports_events }
    }

    /// Says whether the system reports events of all that is watched; else the files are looked at from time to time. Not once the thread has ended
    /// because `looked` panicked.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.reports_events.load(Ordering::Relaxed)
    }
}

impl Drop for Watcher {
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

struct State<F> {
    /// The first to go with the thread.
    reporting: Reporting,
    discovery: Discovery,
    known: Arc<Catalog>,
    options: WatchOptions,
    events: Option<Events>,
    count: EventCount,
    looked: F,
}

/// Whether the system reports events of all that is watched.
struct Reporting(Arc<AtomicBool>);

impl Drop for Reporting {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<F: FnMut(Look)> State<F> {
    fn run(&mut self, signals: &Receiver<Signal>) {
        self.watch();
        // What changed before the watches stood.
        let mut wait = self.look(Way::Careful);
        loop {
            let signal = match signals.recv_timeout(wait) {
                Ok(signal) => Some(signal),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let is_quiet = signal.is_none();
            let Some(way) = signal.map_or(Some(Way::Careful), |signal| self.settle(signal, signals)) else { return };
            wait = self.look(way);
            if !is_quiet {
                // In a new directory much can happen before it is watched: a second look follows the first.
                wait = wait.min(self.soon());
            }
        }
    }

    fn soon(&self) -> Duration {
        self.options.quiet * 5
    }

    /// Takes note of a signal and says how to look; nothing when it is time to stop.
    fn note(&mut self, signal: Signal) -> Option<Way> {
        match (signal, &mut self.events) {
            (Signal::Stop, _) => return None,
            (Signal::Touched, _) => return Some(Way::Careful),
            (Signal::Removed(paths), events) => {
                events.iter_mut().for_each(|events| events.forget(|watched| paths.iter().any(|path| path == watched)));
                return Some(Way::Careful);
            }
            // That a watch has ended may be among what was lost.
            (Signal::Overflow, events) => events.iter_mut().for_each(|events| events.forget(|_| true)),
            // From now on not everything is reported.
            (Signal::Failed, events) => events.iter_mut().for_each(|events| events.has_failed = true),
        }
        Some(Way::Anew)
    }

    /// Waits until the files are still, ten times as long at most, when something happened to them; nothing when it is time to stop.
    fn settle(&mut self, first: Signal, signals: &Receiver<Signal>) -> Option<Way> {
        let mut way = self.note(first)?;
        let latest = Instant::now() + self.options.quiet * 10;
        while way == Way::Careful {
            let left = latest.saturating_duration_since(Instant::now());
            match signals.recv_timeout(self.options.quiet.min(left)) {
                Ok(signal) => way = way.max(self.note(signal)?),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if left.is_zero() {
                break;
            }
        }
        // What has come in by now will be seen by the look.
        while let Ok(signal) = signals.try_recv() {
            way = way.max(self.note(signal)?);
        }
        Some(way)
    }

    /// Looks, tells of it, and says how long to wait for the next.
    fn look(&mut self, way: Way) -> Duration {
        let was_whole = self.reporting.0.load(Ordering::Relaxed);
        let catalog = match way {
            Way::Careful => self.discovery.rescan(&self.known),
            Way::Anew => Some(self.discovery.scan()),
        };
        let change = catalog.and_then(|catalog| self.change(catalog));
        let watches = self.watch();
        // What is watched from now on may have changed since the look.
        let reports_events = was_whole && watches == Watches::Stood;
        (self.looked)(Look { change, reports_events, events: self.count.clone() });
        let usual = self.options.poll.unwrap_or(Duration::from_secs(if watches == Watches::Lack { 2 } else { 30 }));
        if watches == Watches::Added { usual.min(self.soon()) } else { usual }
    }

    /// Takes a catalogue for the known one, and says how they differ.
    fn change(&mut self, catalog: Catalog) -> Option<Change> {
        let catalog = Arc::new(catalog);
        let diff = CatalogDiff::between(&self.known, &catalog);
        let same_rest = rest(&self.known) == rest(&catalog);
        self.known = Arc::clone(&catalog);
        (!(diff.is_empty() && same_rest)).then_some(Change { catalog, diff })
    }

    /// Watches what the catalogue was made of.
    fn watch(&mut self) -> Watches {
        let Some(events) = &mut self.events else { return Watches::Lack };
        let roots = self.discovery.roots().iter().map(crate::Root::path);
        let watches = events.watch(roots.chain(self.known.fingerprint().targets()));
        self.reporting.0.store(watches != Watches::Lack, Ordering::Relaxed);
        watches
    }
}

/// What watches there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watches {
    /// All, and before already.
    Stood,
    /// All, some of them new.
    Added,
    /// Not all.
    Lack,
}

/// What a catalogue says beside the skills that are used.
fn rest(catalog: &Catalog) -> Vec<(PathBuf, &'static str)> {
    let skipped = catalog.skipped().iter().map(|skipped| (skipped.path().to_owned(), skipped.reason().code()));
    let inactive = catalog.inactive().iter().map(|inactive| (inactive.entry().location(), inactive.reason().code()));
    skipped.chain(inactive).collect()
}

/// How to look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// At what looks different.
    Careful,
    /// At everything.
    Anew,
}

/// The system's events.
struct Events {
    watcher: RecommendedWatcher,
    /// What is watched, and which directory it was: one that was put in its place is another.
    watched: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether the system gave up somewhere.
    has_failed: bool,
}

impl Events {
    /// Starts to listen; nothing where the system cannot.
    fn new(sender: Sender<Signal>, count: EventCount) -> Option<Self> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let signal = match event {
                Ok(event) if event.need_rescan() => Signal::Overflow,
                // Reading is no change.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) if matches!(event.kind, EventKind::Remove(_)) => Signal::Removed(event.paths),
                Ok(_) => Signal::Touched,
                Err(_) => Signal::Failed,
            };
            count.count();
            // The watcher may be gone already.
            let _ = sender.send(signal);
        });
        watcher.ok().map(|watcher| Self { watcher, watched: Vec::new(), has_failed: false })
    }

    /// Forgets what is watched: a watch ends with its directory, and one that is made again looks like the one before.
    fn forget(&mut self, is_gone: impl Fn(&Path) -> bool) {
        let (gone, kept) = std::mem::take(&mut self.watched).into_iter().partition(|(watched, _)| is_gone(watched));
        self.watched = kept;
        let gone: Vec<(PathBuf, Option<Stamp>)> = gone;
        for (path, _) in gone {
            // The system may have ended it already.
            let _ = self.watcher.unwatch(&path);
        }
    }

    /// Watches the directories of these paths that exist, each once and recursively; missing ones through the nearest one above.
    fn watch<'a>(&mut self, paths: impl Iterator<Item = &'a Path>) -> Watches {
        let mut wanted: Vec<(PathBuf, RecursiveMode)> = paths.filter_map(nearest).collect();
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        wanted.dedup_by(|later, earlier| {
            later.0 == earlier.0 && {
                keep_deeper(earlier, later);
                true
            }
        });
        let mut kept: Vec<(PathBuf, RecursiveMode)> = Vec::new();
        for (path, mode) in wanted {
            let is_covered = kept.iter().any(|(above, mode)| *mode == RecursiveMode::Recursive && path.starts_with(above));
            if !is_covered {
                kept.push((path, mode));
            }
        }
        let mut watches = if self.has_failed { Watches::Lack } else { Watches::Stood };
        for (path, mode) in kept {
            let now = Stamp::of_path(&path);
            let known = self.watched.iter().position(|(watched, _)| *watched == path);
            if let Some(index) = known {
                if self.watched[index].1.zip(now).is_some_and(|(before, now)| before.is_same_file(&now)) {
                    continue;
                }
                // A watch ends with its directory.
                let _ = self.watcher.unwatch(&path);
                self.watched.swap_remove(index);
            }
            match self.watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.push((path, now));
                    watches = if watches == Watches::Lack { watches } else { Watches::Added };
                }
                Err(_) => watches = Watches::Lack,
            }
        }
        watches
    }
}

fn keep_deeper(earlier: &mut (PathBuf, RecursiveMode), later: &(PathBuf, RecursiveMode)) {
    if later.1 == RecursiveMode::Recursive {
        earlier.1 = RecursiveMode::Recursive;
    }
}

/// The directory to watch for a path: itself, or the nearest one above, whose own entries are enough.
fn nearest(path: &Path) -> Option<(PathBuf, RecursiveMode)> {
    if path.is_dir() {
        return Some((path.canonicalize().ok()?, RecursiveMode::Recursive));
    }
    let above = path.ancestors().skip(1).find(|above| above.is_dir())?;
    Some((above.canonicalize().ok()?, RecursiveMode::NonRecursive))
}
