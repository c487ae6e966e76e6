//! Watches roots and reports when skills change.
//!
//! An event of the system only triggers a scan; what changed is found by comparing catalogs. So
//! lost, duplicate and misleading events do no harm, and where the system reports no events, scans
//! at intervals have the same result.

mod event_source;
mod restart_delay;
mod signal;
mod watch_problem;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::generation::Lifetime;
use crate::{Catalog, Discovery, Generations, Root, WatcherRegistration};
use event_source::{EventSource, WatchState};
use restart_delay::RestartDelay;
use signal::Signal;
pub use watch_problem::WatchProblem;

/// How long a watch loop waits for the next scan while all events are reported.
const EVENT_DRIVEN_INTERVAL: Duration = Duration::from_secs(30);
/// How long a watch loop waits for the next scan if some events are not reported.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Calls compare the metadata of at most this many skills each second, to find changes that are not
/// reported. In larger catalogs only the watcher does.
const MAX_SKILLS_OF_CALLS: usize = 2_000;
/// The minimum interval of scans without an event, as a multiple of the time that one takes, for
/// each of its threads: so they use at most one percent of a processor.
const IDLE_FACTOR: u32 = 100;
/// The maximum interval of scans without an event.
const MAX_IDLE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// The minimum pause before a scan after an event, as a multiple of the time that the last one took.
const PAUSE_FACTOR: u32 = 9;
/// The maximum pause before a scan after an event, unless the debounce interval is longer.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The options of a [`RootWatcher`]: how long it waits before and between scans.
///
/// Shorter intervals report changes sooner and cost more scans; a scan without changes costs one
/// `stat` per file. The defaults suit an interactive program.
#[derive(Clone)]
#[non_exhaustive]
pub struct WatchOptions {
    /// The debounce interval: a scan runs once no event was reported for this long. Default 200 ms.
    /// If events continue, a scan runs after ten intervals. While changes continue, scans that take
    /// long follow each other more slowly, after at most ten seconds.
    pub debounce: Duration,
    /// The interval of scans without an event. Default (`None`): 30 s while the system reports all
    /// events, otherwise 2 s, and longer, up to five minutes, if scans would use more than one
    /// percent of a processor.
    pub poll_interval: Option<Duration>,
    /// Whether to scan at intervals only, without events of the system. Default false.
    pub force_polling: bool,
    /// Called once for each problem that keeps the system from reporting all changes: when the
    /// watcher starts, or later on its thread. Default (`None`): nothing is called.
    pub on_problem: Option<Arc<dyn Fn(WatchProblem) + Send + Sync>>,
}

impl fmt::Debug for WatchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchOptions")
            .field("debounce", &self.debounce)
            .field("poll_interval", &self.poll_interval)
            .field("force_polling", &self.force_polling)
            .finish_non_exhaustive()
    }
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            debounce: Duration::from_millis(200),
            poll_interval: None,
            force_polling: false,
            on_problem: None,
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
        let mut state = WatchLoop::new(
            discovery,
            catalog,
            options,
            sender.clone(),
            generations,
            on_scan,
        );
        state.start_events();
        let is_event_driven = Arc::clone(&state.event_flag.0);
        is_event_driven.store(state.events.is_some(), Ordering::Relaxed);
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
    /// Where event sources send what they learn.
    signals: Sender<Signal>,
    events: Option<EventSource>,
    /// The number of the last event source.
    source: u64,
    restart: RestartDelay,
    /// The problems that were reported.
    reported: HashSet<WatchProblem>,
    generations: Arc<Generations>,
    /// Present while the system reports all changes.
    registration: Option<WatcherRegistration>,
    /// How long the last scan took, with its callback.
    scan_time: Duration,
    /// How long the last scan without a change took, with its callback.
    idle_scan_time: Duration,
    /// When the last scan ended.
    latest_scan: Option<Instant>,
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
    fn new(
        discovery: Discovery,
        catalog: Arc<Catalog>,
        options: WatchOptions,
        signals: Sender<Signal>,
        generations: Arc<Generations>,
        on_scan: F,
    ) -> Self {
        Self {
            event_flag: EventDrivenFlag(Arc::default()),
            discovery,
            catalog,
            options,
            signals,
            events: None,
            source: 0,
            restart: RestartDelay::default(),
            reported: HashSet::new(),
            generations,
            registration: None,
            scan_time: Duration::ZERO,
            idle_scan_time: Duration::ZERO,
            latest_scan: None,
            on_scan,
        }
    }

    fn run(&mut self, signals: &Receiver<Signal>) {
        self.update_watches();
        // Finds what changed between the caller's scan and the setup of the watches.
        let mut timeout = self.scan();
        loop {
            let signal = match signals.recv_timeout(timeout) {
                Ok(signal) => Some(signal),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let was_event = signal.is_some();
            let next = signal.map_or(ControlFlow::Continue(()), |signal| {
                self.debounce(signal, signals)
            });
            if next.is_break() {
                return;
            }
            if !was_event {
                // The scan looks for changes that were not reported, and so must all who cache.
                self.generations.record_change();
            }
            timeout = self.scan();
            if was_event {
                // A new directory may be filled before it is watched, so another scan follows soon.
                timeout = timeout.min(self.follow_up_interval());
            }
        }
    }

    /// Returns how soon a scan follows one after which events may have been missed.
    fn follow_up_interval(&self) -> Duration {
        (self.options.debounce * 5).max(self.pause())
    }

    /// Returns how long no scan follows the last one: a program that changes files constantly must
    /// not keep a processor busy.
    fn pause(&self) -> Duration {
        (self.scan_time * PAUSE_FACTOR).min(MAX_PAUSE)
    }

    /// Handles a signal; breaks if the watcher was dropped.
    fn handle_signal(&mut self, signal: Signal) -> ControlFlow<()> {
        match signal {
            Signal::Stop => return ControlFlow::Break(()),
            Signal::Changed => {}
            Signal::Lost { source, problem } => {
                if self.source == source {
                    self.end_events(problem);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Waits until there are no more signals for one debounce interval, at most ten intervals, but
    /// at least for the pause after the last scan. Breaks if the watcher was dropped.
    fn debounce(&mut self, first: Signal, signals: &Receiver<Signal>) -> ControlFlow<()> {
        self.handle_signal(first)?;
        let now = Instant::now();
        let earliest = self.latest_scan.map_or(now, |scan| scan + self.pause());
        let latest = (now + self.options.debounce * 10).max(earliest);
        loop {
            let now = Instant::now();
            let left = latest.saturating_duration_since(now);
            let pause = earliest.saturating_duration_since(now);
            match signals.recv_timeout(self.options.debounce.min(left).max(pause)) {
                Ok(signal) => self.handle_signal(signal)?,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(()),
            }
            if left.is_zero() {
                break;
            }
        }
        // The scan starts later, so it also covers all signals that are queued now.
        while let Ok(signal) = signals.try_recv() {
            self.handle_signal(signal)?;
        }
        ControlFlow::Continue(())
    }

    /// Scans, calls the callback, and returns how long to wait for the next scan.
    fn scan(&mut self) -> Duration {
        let start = Instant::now();
        let was_event_driven = self.event_flag.0.load(Ordering::Relaxed);
        let catalog = self.discovery.rescan(&self.catalog);
        let change = catalog.and_then(|catalog| self.replace_catalog(catalog));
        let is_changed = change.is_some();
        let watches = self.update_watches();
        // Directories that are watched only from now on may have changed since the scan began.
        let reports_all_changes = was_event_driven && watches == WatchState::Unchanged;
        self.set_lifetime();
        if reports_all_changes != self.registration.is_some() {
            self.registration = reports_all_changes.then(|| self.generations.register_watcher());
        }
        (self.on_scan)(change);
        let end = Instant::now();
        self.latest_scan = Some(end);
        self.scan_time = end.saturating_duration_since(start);
        if !is_changed {
            self.idle_scan_time = self.scan_time;
        }
        let interval = self.idle_interval(watches);
        if watches == WatchState::Extended {
            interval.min(self.follow_up_interval())
        } else {
            interval
        }
    }

    /// Sets how long what calls have read counts as current.
    fn set_lifetime(&self) {
        let is_large = self.catalog.all_entries().count() > MAX_SKILLS_OF_CALLS;
        self.generations.set_lifetime(if is_large {
            Lifetime::UntilNextScan
        } else {
            Lifetime::OneSecond
        });
    }

    /// Returns how long to wait for the next scan without an event.
    fn idle_interval(&self, watches: WatchState) -> Duration {
        if let Some(interval) = self.options.poll_interval {
            return interval;
        }
        let threads = u32::try_from(self.discovery.threads.get()).unwrap_or(u32::MAX);
        let affordable = self
            .idle_scan_time
            .saturating_mul(threads.saturating_mul(IDLE_FACTOR));
        let shortest = if watches == WatchState::Incomplete {
            POLL_INTERVAL
        } else {
            EVENT_DRIVEN_INTERVAL
        };
        affordable.clamp(shortest, MAX_IDLE_INTERVAL)
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
        if self.events.is_none() {
            self.start_events();
        }
        let watches = match &mut self.events {
            None => WatchState::Incomplete,
            Some(events) => {
                let roots = self.discovery.roots().iter().map(Root::path);
                let symlinks = self.catalog.symlinks().iter();
                let targets = symlinks.map(|(_, target)| target.as_path());
                let watches = events.watch_paths(roots.chain(targets));
                if watches == Some(WatchState::Incomplete) {
                    self.report(WatchProblem::SomeDirectories);
                }
                watches.unwrap_or(WatchState::Incomplete)
            }
        };
        self.event_flag
            .0
            .store(watches != WatchState::Incomplete, Ordering::Relaxed);
        watches
    }

    /// Starts an event source, unless the last one was lost recently or the options forbid it.
    fn start_events(&mut self) {
        if self.options.force_polling || !self.restart.may_start(Instant::now()) {
            return;
        }
        self.source += 1;
        let generations = Arc::clone(&self.generations);
        match EventSource::new(self.signals.clone(), generations, self.source) {
            Ok(events) => self.events = Some(events),
            Err(_) => self.end_events(WatchProblem::NoEvents),
        }
    }

    /// Ends the event source because of a problem.
    fn end_events(&mut self, problem: WatchProblem) {
        self.events = None;
        // Until the next scan nothing is known to be current.
        self.registration = None;
        self.event_flag.0.store(false, Ordering::Relaxed);
        let delay = self.restart.record_loss(Instant::now());
        let is_lasting = !delay.is_zero() || problem != WatchProblem::TooManyChanges;
        if is_lasting {
            self.report(problem);
        }
    }

    /// Reports a problem, unless it was reported before.
    fn report(&mut self, problem: WatchProblem) {
        if self.reported.insert(problem)
            && let Some(report) = &self.options.on_problem
        {
            report(problem);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use super::*;
    use crate::Scope;

    /// Only a failing test waits this long.
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// The comparison takes longer than a search.
    #[test]
    fn calls_do_not_compare_the_files_of_a_large_catalog_each_second() {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.unwrap();
        let mut limits = crate::ScanLimits::default();
        (limits.max_directories, limits.max_entries) = (100_000, 100_000);
        let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]).limits(limits);
        let generations = Arc::<Generations>::default();
        let mut watching = WatchLoop::new(
            discovery.clone(),
            Arc::new(discovery.scan()),
            WatchOptions::default(),
            channel().0,
            Arc::clone(&generations),
            |_: Option<CatalogChange>| (),
        );
        for (skills, lifetime) in [
            (0..MAX_SKILLS_OF_CALLS, Lifetime::OneSecond),
            (
                MAX_SKILLS_OF_CALLS..MAX_SKILLS_OF_CALLS + 1,
                Lifetime::UntilNextScan,
            ),
        ] {
            for number in skills {
                let skill = directory.path().join(format!("skill-{number}"));
                std::fs::create_dir(&skill).unwrap();
                let text = format!("---\nname: skill-{number}\ndescription: d\n---\n");
                std::fs::write(skill.join("SKILL.md"), text).unwrap();
            }
            watching.scan();
            assert_eq!(generations.lifetime(), lifetime);
        }
        std::fs::remove_dir_all(directory.path().join("skill-0")).unwrap();
        watching.scan();
        assert_eq!(generations.lifetime(), Lifetime::OneSecond);
    }

    /// A large change of a small tree loses events once, which no operator needs to know.
    #[test]
    fn lost_events_are_reported_once_and_only_if_they_are_lost_repeatedly() {
        if skills_test_support::skip_without_file_events() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (report, problems) = channel();
        let options = WatchOptions {
            debounce: Duration::from_millis(1),
            poll_interval: Some(Duration::from_millis(20)),
            on_problem: Some(Arc::new(move |problem| report.send(problem).unwrap())),
            ..WatchOptions::default()
        };
        let generations = Arc::<Generations>::default();
        let (signals, receiver) = channel();
        let (sender, scans) = channel();
        let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
        let catalog = Arc::new(discovery.scan());
        let mut watching = WatchLoop::new(
            discovery,
            catalog,
            options,
            signals.clone(),
            Arc::clone(&generations),
            move |change: Option<CatalogChange>| sender.send(change.is_some()).unwrap_or_default(),
        );
        let thread = std::thread::Builder::new()
            .spawn(move || watching.run(&receiver))
            .unwrap();
        let until_registered = || {
            while generations.current().is_none() {
                scans.recv_timeout(TIMEOUT).unwrap();
            }
            generations.change_count()
        };
        let lose = |source| {
            let problem = WatchProblem::TooManyChanges;
            signals.send(Signal::Lost { source, problem }).unwrap();
        };
        let before = until_registered();
        lose(1);
        while generations.change_count() == before {
            scans.recv_timeout(TIMEOUT).unwrap();
        }
        until_registered();
        assert!(problems.try_recv().is_err(), "it is watched again");
        lose(2);
        assert_eq!(
            problems.recv_timeout(TIMEOUT),
            Ok(WatchProblem::TooManyChanges)
        );
        // Meanwhile changes are found by scans.
        std::fs::create_dir(directory.path().join("a")).unwrap();
        let text = "---\nname: a\ndescription: d\n---\n";
        std::fs::write(directory.path().join("a/SKILL.md"), text).unwrap();
        while !scans.recv_timeout(TIMEOUT).unwrap() {}
        for source in 1..6 {
            lose(source);
        }
        signals.send(Signal::Stop).unwrap();
        thread.join().unwrap();
        assert!(problems.try_recv().is_err(), "it was reported");
    }
}
