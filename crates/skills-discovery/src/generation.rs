//! Generations: whether what was read from the disk is still current.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a generation lasts without a reported change, unless the watcher says otherwise.
/// Watchers miss some changes: edits through another hard link, changes by other machines, renames
/// of parent directories.
const DEFAULT_MAX_AGE: Duration = Duration::from_secs(1);

/// A period in which no change of the watched files was reported.
///
/// A cache stores the generation that was current *before* it read the files, and is valid as long
/// as [`Generations::current`] returns the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generation(u64);

/// Issues generations: the one answer to whether cached knowledge about skills is current.
///
/// A new generation begins with each reported change, when a watcher starts or stops, and after one
/// second, since watchers miss some changes. While no watcher is registered there is no current
/// generation, and nothing counts as current. `RootWatcher` (feature `watch`) registers itself and
/// reports the events of the system; a host with a watcher of its own can do the same. With more
/// than 2,000 skills a generation of `RootWatcher` lasts until its next scan: comparing the metadata
/// of so many files takes longer than a call. Counters are shared with [`Arc`] and can be used from
/// all threads.
///
/// ```
/// use std::sync::Arc;
/// use skills_discovery::Generations;
///
/// let generations = Arc::new(Generations::default());
/// assert!(generations.current().is_none());
///
/// let watcher = generations.register_watcher();
/// let before = generations.current();
/// assert!(before.is_some());
/// generations.record_change();
/// assert_ne!(generations.current(), before);
///
/// drop(watcher);
/// assert!(generations.current().is_none());
/// ```
pub struct Generations {
    change_count: AtomicU64,
    watcher_count: AtomicUsize,
    max_age: Mutex<Duration>,
    latest: Mutex<Option<IssuedGeneration>>,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
}

/// The latest generation, and what it was issued for.
#[derive(Clone, Copy)]
struct IssuedGeneration {
    number: u64,
    change_count: u64,
    issued_at: Instant,
}

/// How long a generation lasts without a reported change.
#[cfg(feature = "watch")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    OneSecond,
    UntilNextScan,
}

/// Keeps a watcher registered until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it unregisters the watcher"]
pub struct WatcherRegistration(Arc<Generations>);

impl Default for Generations {
    fn default() -> Self {
        Self::with_clock(Instant::now)
    }
}

impl Generations {
    fn with_clock(clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self {
            change_count: AtomicU64::default(),
            watcher_count: AtomicUsize::default(),
            max_age: Mutex::new(DEFAULT_MAX_AGE),
            latest: Mutex::default(),
            clock: Box::new(clock),
        }
    }

    /// Returns the current generation; `None` while no watcher is registered.
    #[must_use]
    pub fn current(&self) -> Option<Generation> {
        if self.watcher_count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let now = (self.clock)();
        let max_age = *self.max_age.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let change_count = self.change_count.load(Ordering::SeqCst);
        let is_current = |latest: &IssuedGeneration| {
            // `saturating`: another thread may have read the clock later.
            latest.change_count == change_count
                && now.saturating_duration_since(latest.issued_at) < max_age
        };
        if let Some(latest) = latest.filter(is_current) {
            return Some(Generation(latest.number));
        }
        let number = latest.map_or(0, |latest| latest.number + 1);
        *latest = Some(IssuedGeneration {
            number,
            change_count,
            issued_at: now,
        });
        Some(Generation(number))
    }

    /// Ends the current generation, because files have changed or may have.
    pub fn record_change(&self) {
        self.change_count.fetch_add(1, Ordering::SeqCst);
    }

    /// Sets how long a generation lasts: one second, or until the watcher scans again.
    #[cfg(feature = "watch")]
    pub(crate) fn set_lifetime(&self, lifetime: Lifetime) {
        let max_age = match lifetime {
            Lifetime::OneSecond => DEFAULT_MAX_AGE,
            Lifetime::UntilNextScan => Duration::MAX,
        };
        *self.max_age.lock().unwrap_or_else(PoisonError::into_inner) = max_age;
    }

    #[cfg(all(test, feature = "watch"))]
    pub(crate) fn lifetime(&self) -> Lifetime {
        match *self.max_age.lock().unwrap_or_else(PoisonError::into_inner) {
            DEFAULT_MAX_AGE => Lifetime::OneSecond,
            _ => Lifetime::UntilNextScan,
        }
    }

    #[cfg(all(test, feature = "watch"))]
    pub(crate) fn change_count(&self) -> u64 {
        self.change_count.load(Ordering::SeqCst)
    }

    /// Registers a watcher that reports all changes from now on with
    /// [`record_change`](Self::record_change).
    pub fn register_watcher(self: &Arc<Self>) -> WatcherRegistration {
        // What was read before was not watched.
        self.record_change();
        self.watcher_count.fetch_add(1, Ordering::SeqCst);
        WatcherRegistration(Arc::clone(self))
    }
}

impl Drop for WatcherRegistration {
    fn drop(&mut self) {
        self.0.watcher_count.fetch_sub(1, Ordering::SeqCst);
        // Another watcher may stay registered, without knowing of the changes that this one saw.
        self.0.record_change();
    }
}

impl std::fmt::Debug for Generations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generations")
            .field("change_count", &self.change_count)
            .field("watcher_count", &self.watcher_count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generations with a clock that the test sets, in milliseconds.
    fn with_clock() -> (Arc<Generations>, Arc<AtomicU64>) {
        let (start, milliseconds) = (Instant::now(), Arc::<AtomicU64>::default());
        let time = Arc::clone(&milliseconds);
        let clock = move || start + Duration::from_millis(time.load(Ordering::SeqCst));
        (Arc::new(Generations::with_clock(clock)), milliseconds)
    }

    #[test]
    fn a_generation_ends_after_a_second() {
        let (generations, time) = with_clock();
        let _watcher = generations.register_watcher();
        let first = generations.current();
        time.store(999, Ordering::SeqCst);
        assert_eq!(generations.current(), first);
        time.store(1_000, Ordering::SeqCst);
        let second = generations.current();
        assert!(second.is_some() && second != first);
        time.store(1_999, Ordering::SeqCst);
        assert_eq!(
            generations.current(),
            second,
            "its second began when it was issued"
        );
        time.store(0, Ordering::SeqCst);
        assert_eq!(
            generations.current(),
            second,
            "a clock that went back ends nothing"
        );
    }

    #[cfg(feature = "watch")]
    #[test]
    fn a_generation_can_last_until_the_next_scan() {
        let (generations, time) = with_clock();
        let _watcher = generations.register_watcher();
        generations.set_lifetime(Lifetime::UntilNextScan);
        let first = generations.current();
        time.store(1_000_000, Ordering::SeqCst);
        assert_eq!(generations.current(), first);
        generations.record_change();
        assert_ne!(generations.current(), first);
        generations.set_lifetime(Lifetime::OneSecond);
        let second = generations.current();
        time.store(1_001_000, Ordering::SeqCst);
        assert_ne!(generations.current(), second);
    }

    #[test]
    fn a_generation_ends_with_each_change_and_each_watcher() {
        let (generations, _) = with_clock();
        let first_watcher = generations.register_watcher();
        let mut previous = generations.current();
        let mut check_new = |what: &str| {
            let now = generations.current();
            assert!(now.is_some() && now != previous, "{what}");
            assert_eq!(generations.current(), now, "{what}");
            previous = now;
        };
        generations.record_change();
        check_new("a change");
        let second_watcher = generations.register_watcher();
        check_new("a second watcher");
        drop(first_watcher);
        check_new("one watcher fewer");
        drop(second_watcher);
        assert_eq!(generations.current(), None);
        let _third_watcher = generations.register_watcher();
        check_new("a watcher after a time without");
    }
}
