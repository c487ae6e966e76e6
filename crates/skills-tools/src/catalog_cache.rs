//! When the disk is looked at for skills.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use skills_runtime::{Catalog, SkillRuntime};

/// So long what a look found counts while somebody watches. Systems do not report everything: edits
/// through another hard link, what other machines do, what becomes of a directory above.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Looks at the disk for skills whenever a call needs them; while somebody watches, only after an
/// event, and once in a second.
pub(crate) struct CatalogCache {
    runtime: SkillRuntime,
    clock: Clock,
    watchers: Mutex<WatcherSet>,
    /// The last whole look while somebody watched.
    last_scan: Mutex<Option<Generation>>,
    /// How often the tools themselves may have changed skills.
    write_count: AtomicU64,
}

/// Says what time it is.
type Clock = Box<dyn Fn() -> Instant + Send + Sync>;

/// Says how often a watch has reported something.
pub(crate) type EventCounter = Box<dyn Fn() -> u64 + Send + Sync>;

/// Those who watch, each by a number of its own.
#[derive(Default)]
struct WatcherSet {
    watchers: Vec<(u64, EventCounter)>,
    /// How often somebody began or ended.
    epoch: u64,
}

/// The beginning of a look, and what was reported until then.
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

    /// The skills that there are.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        if !self.has_watchers() {
            return self.runtime.refresh();
        }
        let asked = (self.clock)();
        // One looks for all who ask meanwhile.
        let mut last = self
            .last_scan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.started > asked || self.is_current(last)) {
            return self.runtime.catalog();
        }
        let sight = self.generation();
        let catalog = self.runtime.refresh();
        *last = Some(sight);
        catalog
    }

    /// Looks whether anybody watches or not, because the tools themselves changed something: no
    /// later call finds what was there before.
    pub(crate) fn refresh(&self) -> Arc<Catalog> {
        self.write_count.fetch_add(1, Ordering::SeqCst);
        self.runtime.refresh()
    }

    pub(crate) fn has_watchers(&self) -> bool {
        !self.watchers().watchers.is_empty()
    }

    pub(crate) fn write_count(&self) -> u64 {
        self.write_count.load(Ordering::SeqCst)
    }

    /// To be taken before a look.
    pub(crate) fn generation(&self) -> Generation {
        let watches = self.watchers();
        Generation {
            started: (self.clock)(),
            event_count: watches.event_count(),
            epoch: watches.epoch,
        }
    }

    /// Says whether what a look found still counts: somebody has watched since it began, nothing
    /// was reported, and it is not too long ago.
    pub(crate) fn is_current(&self, sight: Generation) -> bool {
        let watches = self.watchers();
        let is_recent = (self.clock)().saturating_duration_since(sight.started) < MAX_AGE;
        is_recent
            && !watches.watchers.is_empty()
            && watches.epoch == sight.epoch
            && watches.event_count() == sight.event_count
    }

    /// Relies on one more watch, and returns its number.
    #[cfg(any(test, feature = "watch"))]
    pub(crate) fn register(&self, reported: EventCounter) -> u64 {
        let mut watches = self.watchers();
        watches.epoch += 1;
        let number = watches.epoch;
        watches.watchers.push((number, reported));
        number
    }

    #[cfg(any(test, feature = "watch"))]
    pub(crate) fn unregister(&self, number: u64) {
        let mut watches = self.watchers();
        watches.epoch += 1;
        watches.watchers.retain(|(watch, _)| *watch != number);
    }

    fn watchers(&self) -> MutexGuard<'_, WatcherSet> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatcherSet {
    /// No count falls, so that the sum is the same when all are.
    fn event_count(&self) -> u64 {
        self.watchers.iter().map(|(_, reported)| reported()).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use skills_runtime::{Root, Scope};
    use tempfile::TempDir;

    use super::*;

    /// Skills in a directory, looked for at a time that is said.
    pub(crate) struct Fixture {
        directory: TempDir,
        pub(crate) looks: Arc<CatalogCache>,
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
                looks: Arc::new(CatalogCache::with_clock(runtime, Box::new(clock))),
                milliseconds,
                events: Arc::default(),
            }
        }

        pub(crate) fn runtime(&self) -> SkillRuntime {
            self.looks.runtime.clone()
        }

        /// A skill with a script.
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

        pub(crate) fn pass(&self, milliseconds: u64) {
            self.milliseconds.fetch_add(milliseconds, Ordering::SeqCst);
        }

        pub(crate) fn happen(&self) {
            self.events.fetch_add(1, Ordering::SeqCst);
        }

        pub(crate) fn watch(&self) -> u64 {
            let events = Arc::clone(&self.events);
            self.looks
                .register(Box::new(move || events.load(Ordering::SeqCst)))
        }

        fn skills(&self) -> usize {
            self.looks.catalog().entries().len()
        }
    }

    #[test]
    fn without_a_watch_each_call_looks() {
        let hill = Fixture::new();
        for number in 1..4 {
            hill.skill(&format!("s{number}"));
            assert_eq!(hill.skills(), number);
        }
    }

    #[test]
    fn what_no_event_tells_is_seen_within_a_second() {
        let hill = Fixture::new();
        hill.skill("a");
        hill.watch();
        assert_eq!(hill.skills(), 1);
        hill.skill("b");
        for _ in 0..2_000 {
            assert_eq!(hill.skills(), 1);
        }
        hill.pass(999);
        assert_eq!(hill.skills(), 1);
        hill.pass(1);
        assert_eq!(hill.skills(), 2);
        hill.skill("c");
        hill.pass(999);
        assert_eq!(
            hill.skills(),
            2,
            "the look that found two counts as the last"
        );
        hill.pass(1);
        assert_eq!(hill.skills(), 3);
    }

    #[test]
    fn after_an_event_each_call_looks_once() {
        let hill = Fixture::new();
        hill.watch();
        assert_eq!(hill.skills(), 0);
        hill.skill("a");
        hill.happen();
        assert_eq!(hill.skills(), 1);
        hill.skill("b");
        assert_eq!(hill.skills(), 1);
        hill.happen();
        assert_eq!(hill.skills(), 2);
    }

    #[test]
    fn no_look_counts_that_another_watch_began_with() {
        let hill = Fixture::new();
        let first = hill.watch();
        assert_eq!(hill.skills(), 0);
        hill.skill("a");
        let second = hill.watch();
        assert_eq!(hill.skills(), 1);
        hill.looks.unregister(first);
        hill.skill("b");
        assert_eq!(hill.skills(), 2);
        hill.skill("c");
        assert_eq!(hill.skills(), 2, "the other is left");
        hill.looks.unregister(second);
        assert_eq!(hill.skills(), 3);
    }
}
