//! When the disk is looked at for skills.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use skills_runtime::{Catalog, SkillRuntime};

/// Looks at the disk for skills whenever a call needs them, unless somebody watches it all.
pub(crate) struct Looks {
    runtime: SkillRuntime,
    /// So many watches see whatever happens.
    watches: AtomicUsize,
    /// How often the tools themselves may have changed skills.
    writes: AtomicU64,
}

impl Looks {
    pub(crate) fn new(runtime: SkillRuntime) -> Self {
        Self { runtime, watches: AtomicUsize::new(0), writes: AtomicU64::new(0) }
    }

    /// The skills that there are.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        if self.is_watched() { self.runtime.catalog() } else { self.runtime.refresh() }
    }

    /// Looks whether anybody watches or not, because the tools themselves changed something: no later call finds what was there before.
    pub(crate) fn anew(&self) -> Arc<Catalog> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.runtime.refresh()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watches.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    #[cfg(feature = "watch")]
    pub(crate) fn watch_begins(&self) {
        self.watches.fetch_add(1, Ordering::SeqCst);
    }

    #[cfg(feature = "watch")]
    pub(crate) fn watch_ends(&self) {
        self.watches.fetch_sub(1, Ordering::SeqCst);
    }
}
