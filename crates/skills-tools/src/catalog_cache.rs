//! Caches the catalog between calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use skills_runtime::{Catalog, SkillRuntime};

/// How long a cached scan stays valid while a watcher is active. Watchers miss some changes: edits
/// through another hard link, changes by other machines, renames of parent directories.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Scans for skills when a call needs the catalog. While a watcher is active, it scans only after
/// an event, or when the last scan is a second old.
pub(crate) struct CatalogCache {
    runtime: SkillRuntime,
    clock: Clock,
    watchers: Mutex<WatcherSet>,
    /// The last full scan while a watcher was active.
    last_scan: Mutex<Option<Generation>>,
    /// Number of writes of the tools themselves that may have changed skills.
    write_count: AtomicU64,
}

/// Returns the current time.
type Clock = Box<dyn Fn() -> Instant + Send + Sync>;

/// Returns the number of events that a watcher has reported.
pub(crate) type EventCounter = Box<dyn Fn() -> u64 + Send + Sync>;

/// The active watchers, by registration number.
#[derive(Default)]
struct WatcherSet {
    watchers: Vec<(u64, EventCounter)>,
    /// Incremented when a watcher is registered or unregistered.
    epoch: u64,
}

/// Validity token of a scan: its start time, and the events reported until then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Generation {
    started: Instant,
    event_count: u64,
    epoch: u64,
}

impl CatalogCache {
    pub(crate) fn new(runtime: SkillRuntime) -> Self {
        Self::with_clock(runtime, Box::new(Instant::now))
    }

    pub(crate) fn with_clock(runtime: SkillRuntime, clock: Clock) -> Self {
        Self {
            runtime,
            clock,
            watchers: Mutex::default(),
            last_scan: Mutex::default(),
            write_count: AtomicU64::new(0),
        }
    }

    /// Returns the current catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        if !self.has_watchers() {
            // Nothing reports changes without a watcher, so a cached catalog could still list a
            // disabled skill.
            return self.runtime.refresh();
        }
        let requested_at = (self.clock)();
        // Concurrent callers share one scan.
        let mut last = self
            .last_scan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.started > requested_at || self.is_current(last)) {
            return self.runtime.catalog();
        }
        // Taken before the scan: an event during the scan must make its result stale.
        let generation = self.generation();
        let catalog = self.runtime.refresh();
        *last = Some(generation);
        catalog
    }

    /// Scans unconditionally after a write of the tools themselves, so that later calls do not see
    /// the previous catalog.
    pub(crate) fn refresh(&self) -> Arc<Catalog> {
        // Incremented before the scan, so that an index that is being built from the old catalog is
        // not cached as current.
        self.write_count.fetch_add(1, Ordering::SeqCst);
        self.runtime.refresh()
    }

    pub(crate) fn has_watchers(&self) -> bool {
        !self.watchers().watchers.is_empty()
    }

    pub(crate) fn write_count(&self) -> u64 {
        self.write_count.load(Ordering::SeqCst)
    }

    /// Returns the token for a scan that starts now.
    pub(crate) fn generation(&self) -> Generation {
        let set = self.watchers();
        Generation {
            started: (self.clock)(),
            event_count: set.event_count(),
            epoch: set.epoch,
        }
    }

    /// Returns whether a scan is still valid: a watcher was active since it started, no event was
    /// reported, and it is not older than [`MAX_AGE`].
    pub(crate) fn is_current(&self, generation: Generation) -> bool {
        let set = self.watchers();
        // `saturating`: the clock was read by another thread and may be behind.
        let is_recent = (self.clock)().saturating_duration_since(generation.started) < MAX_AGE;
        is_recent
            && !set.watchers.is_empty()
            && set.epoch == generation.epoch
            && set.event_count() == generation.event_count
    }

    /// Registers a watcher, and returns its number.
    #[cfg(any(test, feature = "watch"))]
    pub(crate) fn register(&self, event_count: EventCounter) -> u64 {
        let mut set = self.watchers();
        // A new epoch makes earlier scans stale: events before the registration were not counted.
        set.epoch += 1;
        let id = set.epoch;
        set.watchers.push((id, event_count));
        id
    }

    #[cfg(any(test, feature = "watch"))]
    pub(crate) fn unregister(&self, id: u64) {
        let mut set = self.watchers();
        // The sum of the counters shrinks here and could later equal an older sum; the epoch
        // excludes that.
        set.epoch += 1;
        set.watchers.retain(|(known, _)| *known != id);
    }

    fn watchers(&self) -> MutexGuard<'_, WatcherSet> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatcherSet {
    /// Counters never decrease, so equal sums mean that all are unchanged.
    fn event_count(&self) -> u64 {
        self.watchers.iter().map(|(_, count)| count()).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use skills_runtime::{Root, Scope};
    use tempfile::TempDir;

    use super::*;

    /// A skill directory with a clock that the test controls.
    pub(crate) struct Fixture {
        directory: TempDir,
        pub(crate) cache: Arc<CatalogCache>,
        milliseconds: Arc<AtomicU64>,
        pub(crate) events: Arc<AtomicU64>,
    }

    impl Fixture {
        pub(crate) fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let runtime = SkillRuntime::builder()
                .root(Root::new(directory.path(), Scope::Custom))
                .build();
            let (start, milliseconds) = (Instant::now(), Arc::<AtomicU64>::default());
            let time = Arc::clone(&milliseconds);
            let clock = move || start + Duration::from_millis(time.load(Ordering::SeqCst));
            Self {
                directory,
                cache: Arc::new(CatalogCache::with_clock(runtime, Box::new(clock))),
                milliseconds,
                events: Arc::default(),
            }
        }

        pub(crate) fn runtime(&self) -> SkillRuntime {
            self.cache.runtime.clone()
        }

        /// Creates a skill with a script.
        #[expect(clippy::disallowed_methods, reason = "tests make their own files")]
        pub(crate) fn skill(&self, name: &str) {
            let directory = self.directory.path().join(name);
            std::fs::create_dir_all(directory.join("scripts")).unwrap();
            std::fs::write(directory.join("scripts/a.py"), "print(1)\n").unwrap();
            std::fs::write(
                directory.join("SKILL.md"),
                format!("---\nname: {name}\ndescription: d\n---\n"),
            )
            .unwrap();
        }

        pub(crate) fn file(&self, path: &str, content: &str) {
            let root = cap_std::fs::Dir::open_ambient_dir(
                self.directory.path(),
                cap_std::ambient_authority(),
            )
            .unwrap();
            root.write(path, content).unwrap();
        }

        pub(crate) fn path(&self) -> &std::path::Path {
            self.directory.path()
        }

        pub(crate) fn advance_clock(&self, milliseconds: u64) {
            self.milliseconds.fetch_add(milliseconds, Ordering::SeqCst);
        }

        pub(crate) fn report_event(&self) {
            self.events.fetch_add(1, Ordering::SeqCst);
        }

        pub(crate) fn register_watcher(&self) -> u64 {
            let events = Arc::clone(&self.events);
            self.cache
                .register(Box::new(move || events.load(Ordering::SeqCst)))
        }

        fn skill_count(&self) -> usize {
            self.cache.catalog().entries().len()
        }
    }

    #[test]
    fn without_a_watcher_each_call_scans() {
        let fixture = Fixture::new();
        for number in 1..4 {
            fixture.skill(&format!("s{number}"));
            assert_eq!(fixture.skill_count(), number);
        }
    }

    #[test]
    fn changes_without_events_are_seen_within_a_second() {
        let fixture = Fixture::new();
        fixture.skill("a");
        fixture.register_watcher();
        assert_eq!(fixture.skill_count(), 1);
        fixture.skill("b");
        for _ in 0..2_000 {
            assert_eq!(fixture.skill_count(), 1);
        }
        fixture.advance_clock(999);
        assert_eq!(fixture.skill_count(), 1);
        fixture.advance_clock(1);
        assert_eq!(fixture.skill_count(), 2);
        fixture.skill("c");
        fixture.advance_clock(999);
        assert_eq!(
            fixture.skill_count(),
            2,
            "the scan that found two is the last one"
        );
        fixture.advance_clock(1);
        assert_eq!(fixture.skill_count(), 3);
    }

    #[test]
    fn an_event_causes_one_scan() {
        let fixture = Fixture::new();
        fixture.register_watcher();
        assert_eq!(fixture.skill_count(), 0);
        fixture.skill("a");
        fixture.report_event();
        assert_eq!(fixture.skill_count(), 1);
        fixture.skill("b");
        assert_eq!(fixture.skill_count(), 1);
        fixture.report_event();
        assert_eq!(fixture.skill_count(), 2);
    }

    #[test]
    fn a_scan_from_before_a_watcher_change_is_stale() {
        let fixture = Fixture::new();
        let first = fixture.register_watcher();
        assert_eq!(fixture.skill_count(), 0);
        fixture.skill("a");
        let second = fixture.register_watcher();
        assert_eq!(fixture.skill_count(), 1);
        fixture.cache.unregister(first);
        fixture.skill("b");
        assert_eq!(fixture.skill_count(), 2);
        fixture.skill("c");
        assert_eq!(fixture.skill_count(), 2, "the other watcher is active");
        fixture.cache.unregister(second);
        assert_eq!(fixture.skill_count(), 3);
    }
}
