//! The catalog of a library: when it is scanned, and what is cached of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use skills_discovery::{Catalog, Discovery, Generation, Generations};
use skills_prompt::{ImplicitIndex, MentionIndex};
use skills_threads::lock;

/// Scans the roots and keeps the result.
pub(crate) struct CatalogCache {
    pub(crate) discovery: Discovery,
    pub(crate) generations: Arc<Generations>,
    latest: RwLock<LatestSnapshot>,
    /// The number of scans that have started.
    next_scan_id: AtomicU64,
    /// Held by a caller that scans because the latest snapshot is outdated.
    scan_lock: Mutex<()>,
    /// Held during the first scan, which reads all skills.
    first_scan: Mutex<()>,
}

/// The result of the most recently started scan among those that finished.
#[derive(Default)]
struct LatestSnapshot {
    snapshot: Option<Arc<CatalogSnapshot>>,
    scan_id: u64,
    /// The generation when the scan started.
    generation: Option<Generation>,
}

pub(crate) struct ScanResult {
    pub(crate) snapshot: Arc<CatalogSnapshot>,
    /// Whether it differs from the one before. It does not if a later scan has finished already.
    pub(crate) is_new: bool,
}

/// A catalog with the indexes that are built from it on demand.
pub(crate) struct CatalogSnapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) mentions: OnceLock<Arc<MentionIndex>>,
    pub(crate) implicit: OnceLock<Arc<ImplicitIndex>>,
    #[cfg(feature = "search")]
    pub(crate) search: OnceLock<Arc<crate::skill_index::SkillIndex>>,
}

impl CatalogCache {
    pub(crate) fn new(discovery: Discovery) -> Self {
        Self {
            discovery,
            generations: Arc::default(),
            latest: RwLock::default(),
            next_scan_id: AtomicU64::default(),
            scan_lock: Mutex::default(),
            first_scan: Mutex::default(),
        }
    }

    /// Returns the last snapshot; `None` before the first scan.
    pub(crate) fn latest(&self) -> Option<Arc<CatalogSnapshot>> {
        // A snapshot is replaced as a whole, so it is valid even if another thread panicked.
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest.snapshot.clone()
    }

    /// Returns the last snapshot if it is of the current generation.
    fn latest_if_current(&self) -> Option<Arc<CatalogSnapshot>> {
        let generation = self.generations.current()?;
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest
            .snapshot
            .clone()
            .filter(|_| latest.generation == Some(generation))
    }

    /// Returns the last snapshot if it is current, and scans otherwise.
    pub(crate) fn current(&self) -> ScanResult {
        if self.generations.current().is_none() {
            return self.scan();
        }
        // Concurrent callers share one scan.
        let _lock = self
            .scan_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match self.latest_if_current() {
            Some(snapshot) => ScanResult {
                snapshot,
                is_new: false,
            },
            None => self.scan(),
        }
    }

    /// Scans the roots. An unchanged catalog stays the same object, and its indexes stay built.
    pub(crate) fn scan(&self) -> ScanResult {
        // A server is asked for skills while it starts to watch them: only one call reads all, and
        // the others what changed since.
        let is_first = self.latest().is_none();
        let first_scan = || lock(&self.first_scan);
        let _lock = is_first.then(first_scan);
        // Both taken before the scan starts: of two concurrent scans, the one that started later
        // has seen the later state, whichever finishes first; and a change during the scan makes
        // its result outdated.
        let scan_id = self.next_scan_id.fetch_add(1, Ordering::Relaxed) + 1;
        let generation = self.generations.current();
        let found = match self.latest() {
            Some(known) => match self.discovery.rescan(&known.catalog) {
                Some(catalog) => Arc::new(CatalogSnapshot::new(catalog)),
                None => known,
            },
            None => Arc::new(CatalogSnapshot::new(self.discovery.scan())),
        };
        self.publish(found, scan_id, generation)
    }

    /// Publishes the result of a scan, unless a scan that started later has already finished.
    fn publish(
        &self,
        found: Arc<CatalogSnapshot>,
        scan_id: u64,
        generation: Option<Generation>,
    ) -> ScanResult {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        let known = latest.snapshot.clone();
        if let Some(known) = known.clone().filter(|_| latest.scan_id > scan_id) {
            return ScanResult {
                snapshot: known,
                is_new: false,
            };
        }
        *latest = LatestSnapshot {
            snapshot: Some(Arc::clone(&found)),
            scan_id,
            generation,
        };
        ScanResult {
            is_new: known.is_none_or(|known| !Arc::ptr_eq(&known, &found)),
            snapshot: found,
        }
    }
}

impl CatalogSnapshot {
    fn new(catalog: Catalog) -> Self {
        Self {
            catalog: Arc::new(catalog),
            mentions: OnceLock::new(),
            implicit: OnceLock::new(),
            #[cfg(feature = "search")]
            search: OnceLock::new(),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::sync::Barrier;

    use skills_discovery::{Root, Scope};

    use super::*;

    #[test]
    fn concurrent_first_scans_read_the_skills_once() {
        const THREADS: usize = 4;
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        let text = "---\nname: a\ndescription: d\n---\n";
        std::fs::write(directory.path().join("a/SKILL.md"), text).unwrap();
        let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
        // Files that were just written count as changed.
        while discovery.rescan(&discovery.scan()).is_some() {}
        let cache = CatalogCache::new(discovery);
        let start = Barrier::new(THREADS);
        let scan = || {
            start.wait();
            cache.scan()
        };
        let results: Vec<ScanResult> = std::thread::scope(|scope| {
            let threads = skills_threads::spawn_scoped(scope, THREADS - 1, scan);
            let own = scan();
            let others = threads.into_iter().map(|thread| thread.join().unwrap());
            others.chain([own]).collect()
        });
        let new = results.iter().filter(|result| result.is_new).count();
        assert_eq!((results.len(), new), (THREADS, 1));
    }
}
